import Glibc
public import Logging
public import Waybill

extension Outbox {
    /// The configuration with which a program opens an outbox.
    public struct Configuration: Sendable {
        // Dependencies.

        /// The logger, or `nil` to log nothing.
        public var logger: Logger?
        /// The provider of the credentials that items refer to by name.
        public var credentials: any NamedCredentials = CredentialTable { _ in nil }
        /// The types of uploads that the outbox supports besides forms and files.
        public var kinds: [any DurableUpload.Type] = []
        /// Called with each result after it was stored: at least once, in order. If it throws, it is called again, up
        /// to six times within about two seconds. After that, the result is skipped with an error in the log, and
        /// remains available only from ``Outbox/results(after:limit:)``. The closure cannot cause an upload to be sent
        /// twice.
        public var onResult: (@Sendable (OutboxResult) async throws -> Void)?

        // Options.

        /// The store that several machines share, for ``Outbox/init(configuration:)``; `nil` for an outbox in a directory.
        public var store: SharedOutboxStore?
        /// The maximum number of concurrent deliveries, at least 1. 8 by default.
        public var maximumConcurrentDeliveries = 8
        /// The maximum number of concurrent deliveries per lane. 5 by default.
        public var maximumConcurrentDeliveriesPerLane = 5
        /// The retry policy.
        public var retry = OutboxRetry()
        /// The retry budget of a lane. A lane that exhausts it pauses for a minute.
        public var retryBudget: RetryBudget? = .standard
        /// The time for which results are kept. 30 days by default.
        public var resultRetention: Duration = .seconds(30 * 86_400)

        // The command.

        /// Called when the worker can no longer use the shared store, with the error, and with `nil` when it can again.
        package var storeChanged: (@Sendable (OutboxError?) -> Void)?

        // Tests.

        /// The clock of the store, in milliseconds since 1970.
        package var now: @Sendable () -> Int64 = { WallClock.now() }
        /// The monotonic clock by which leases are renewed.
        package var leaseClock: any Clock<Duration> = ContinuousClock()
        /// The random number generator, with values in 0...1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }
        /// The file operations of the spool.
        package var spoolOperations = SpoolFileOperations()
        /// The durability of a commit.
        package var synchronous = SQLiteStore.Synchronous.full

        /// Creates a configuration with the default values.
        public init() {}
    }
}

/// The wall clock, which remains valid across restarts.
package enum WallClock {
    /// Returns the time in milliseconds since 1970.
    package static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
