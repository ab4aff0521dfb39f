public import WaybillCore

/// What every transport owes to the session above it, as checks that anybody who writes one can run.
///
/// Each ``Check`` plays one promise of ``/Waybill/UploadTransport`` through against a server whose behaviour it chooses, and throws a
/// ``TestingError`` with the events that were reported when the promise is broken. The libcurl transport and
/// ``ScriptedTransport`` pass them all.
///
/// ```swift
/// @Test(arguments: TransportConformance.checks)
/// func `my transport keeps the contract`(check: TransportConformance.Check) async throws {
///     try await check.run(against: { MyTransport() }, server: LocalServer())
/// }
/// ```
///
/// In XCTest, loop over them:
///
/// ```swift
/// for check in TransportConformance.checks {
///     try await check.run(against: { MyTransport() }, server: LocalServer())
/// }
/// ```
///
/// Limits in time, TLS, proxies and the framing of HTTP are not checked here: they are the business of the transport's own
/// tests.
public enum TransportConformance {
    /// All checks.
    public static let checks: [Check] = endChecks + bodyChecks + steeringChecks + truthChecks

    /// One promise.
    public struct Check: Sendable, CustomStringConvertible {
        /// What is promised, as a sentence.
        public let name: String
        let play: @Sendable (ConformanceGround) async throws(TestingError) -> Void

        init(_ name: String, _ play: @escaping @Sendable (ConformanceGround) async throws(TestingError) -> Void) {
            self.name = name
            self.play = play
        }

        /// The name.
        public var description: String { name }

        /// Plays the promise through.
        ///
        /// - Parameters:
        ///   - makeTransport: Makes a transport; called once or more in a check.
        ///   - server: Where its requests go.
        ///   - patience: How long is waited for an event that is promised, before its absence counts as a failure.
        ///     Generous, as a busy machine is slow; nothing waits that long when the promise is kept.
        /// - Throws: ``TestingError/Code/notConformant``, or ``TestingError/Code/serverFailed`` when the server threw.
        public func run(
            against makeTransport: @escaping @Sendable () -> any UploadTransport, server: any ConformanceServer,
            patience: Duration = .seconds(10)
        ) async throws(TestingError) {
            try await play(
                ConformanceGround(check: name, makeTransport: makeTransport, server: server, patience: patience))
        }
    }
}
