public import WaybillCore

/// The contract of a transport, as checks for authors of transports.
///
/// Each ``Check`` tests one requirement of `UploadTransport` against a server with a chosen behavior, and
/// throws a ``TestingError`` with the reported events if the requirement is violated. The libcurl transport and
/// ``ScriptedTransport`` pass all checks.
///
/// ```swift
/// @Test(arguments: TransportConformance.checks)
/// func `my transport keeps the contract`(check: TransportConformance.Check) async throws {
///     try await check.run(against: { MyTransport() }, server: LocalServer())
/// }
/// ```
///
/// In XCTest, iterate over the checks:
///
/// ```swift
/// for check in TransportConformance.checks {
///     try await check.run(against: { MyTransport() }, server: LocalServer())
/// }
/// ```
///
/// Timeouts, TLS, proxies and HTTP framing are not checked here; the transport's own tests must cover them.
public enum TransportConformance {
    /// All checks.
    public static let checks: [Check] = endChecks + bodyChecks + controlChecks + accuracyChecks

    /// A check of one requirement.
    public struct Check: Sendable, CustomStringConvertible {
        /// The requirement, as a sentence.
        public let name: String
        let play: @Sendable (ConformanceContext) async throws(TestingError) -> Void

        init(_ name: String, _ play: @escaping @Sendable (ConformanceContext) async throws(TestingError) -> Void) {
            self.name = name
            self.play = play
        }

        /// The name of the check.
        public var description: String { name }

        /// Runs the check.
        ///
        /// - Parameters:
        ///   - makeTransport: Creates a transport; called at least once per check.
        ///   - server: The server that receives the requests.
        ///   - timeout: The time to wait for a required event before its absence counts as a failure. The default is
        ///     generous for the sake of busy machines; a conforming transport never waits that long.
        /// - Throws: ``TestingError/Code/notConformant``, or ``TestingError/Code/serverFailed`` if the server threw.
        public func run(
            against makeTransport: @escaping @Sendable () -> any UploadTransport, server: any ConformanceServer,
            timeout: Duration = .seconds(10)
        ) async throws(TestingError) {
            try await play(
                ConformanceContext(check: name, makeTransport: makeTransport, server: server, timeout: timeout))
        }
    }
}
