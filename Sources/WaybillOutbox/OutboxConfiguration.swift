import Glibc
public import Logging
public import Waybill

extension Outbox {
    /// What a program says about an outbox when it opens it.
    public struct Configuration: Sendable {
        // Dependencies.

        /// Where to log, or `nil` to be silent.
        public var logger: Logger?
        /// Who knows the credentials that items name.
        public var credentials: any NamedCredentials = CredentialTable { _ in nil }
        /// The kinds of uploads, beside forms and files, that it may hold.
        public var kinds: [any DurableUpload.Type] = []
        /// Told of each end, after it was written down: at least once, in order. When it throws it is asked again, six times in
        /// all within some two seconds; then the result is passed over, with an error in the log, and is found only among
        /// ``Outbox/results(after:limit:)``. What it does never makes an upload go out twice.
        public var onResult: (@Sendable (OutboxResult) async throws -> Void)?

        // Options.

        /// The most deliveries at once, 1 or more. 8 by default.
        public var slots = 8
        /// The most deliveries at once in one lane. 5 by default.
        public var slotsPerLane = 5
        /// How it is tried again.
        public var retry = OutboxRetry()
        /// How many retries a lane gets beyond its successes, before it rests for a minute.
        public var retryBudget: RetryBudget? = .standard
        /// How long ends are kept. Thirty days by default.
        public var keepsResults: Duration = .seconds(30 * 86_400)

        // Tests.

        /// The time in milliseconds since 1970.
        package var now: @Sendable () -> Int64 = { WallClock.now() }
        /// Random numbers in 0...1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }
        /// The disk of staged files.
        package var spoolDisk = SpoolDisk()
        /// What a commit promises.
        package var synchronous = SQLiteStore.Synchronous.full

        /// The defaults.
        public init() {}
    }
}

/// The time that survives a restart.
enum WallClock {
    /// Milliseconds since 1970.
    static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
