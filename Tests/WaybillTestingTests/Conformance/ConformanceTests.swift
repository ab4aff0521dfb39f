import TestSupport
import Testing
import WaybillCore
import WaybillCurl
import WaybillTesting

/// The contract of transports, checked with the real transport, the scripted one, and broken ones.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ConformanceTests {
    @Test(arguments: TransportConformance.checks)
    func `the transport conforms to the contract`(check: TransportConformance.Check) async throws {
        try await check.run(against: { CurlTransport() }, server: LoopbackConformanceServer(), timeout: .seconds(60))
    }

    @Test(arguments: TransportConformance.checks)
    func `exchanges by libcurl conform to the contract`(check: TransportConformance.Check) async throws {
        try await check.run(
            against: { ExchangeByLibcurl() }, server: LoopbackConformanceServer(), timeout: .seconds(60))
    }

    @Test(arguments: TransportConformance.checks)
    func `the scripted transport conforms to the contract`(check: TransportConformance.Check) async throws {
        let server = ScriptedConformanceServer()
        try await check.run(against: { server.makeTransport() }, server: server, timeout: .seconds(60))
    }

    /// The checks that a fault is tested with.
    enum Shown {
        /// All checks.
        case toEvery
        /// The checks that must fail: whether others observe events after the end depends on timing.
        case toExpected
        /// The checks that must fail, with a short timeout, because the fault makes each of them wait.
        case withShortTimeout
    }

    /// The checks that detect each fault.
    private static let findings: [(BrokenTransport.Fault, Shown, Set<String>)] = [
        (.endsTwice, .toExpected, ["an attempt ends exactly once, and no event follows"]),
        (.reportsAfterEnd, .toExpected, ["an attempt ends exactly once, and no event follows"]),
        (.connectsTwice, .toEvery, ["events are reported in order"]),
        (
            .swallowsCancel, .withShortTimeout,
            [
                "cancelling right after the start ends the attempt",
                "cancelling while the body is sent ends the attempt",
                "cancelling while the response is awaited ends the attempt", "a paused attempt can be cancelled",
            ]
        ),
        (.ignoresPause, .toEvery, ["a paused attempt reads no bytes until it is resumed"]),
        (
            .succeedsOnTruncatedResponse, .toEvery,
            ["an early 200 is not a success", "a truncated response is not a success"]
        ),
        (
            .claimsNotSent, .toEvery,
            [
                "cancelling while the response is awaited ends the attempt", "an early 200 is not a success",
                "a truncated response is not a success",
                "a connection closed during the body leaves the upload incomplete",
                "no outcome is more certain than its evidence",
            ]
        ),
        (.decreasesProgress, .toEvery, ["progress never decreases and never exceeds the body"]),
        (
            .countsTooMuch, .toEvery,
            ["progress never decreases and never exceeds the body", "no outcome is more certain than its evidence"]
        ),
        (.readsPastEnd, .toEvery, ["a body is not read after its end"]),
        (.leavesReaderOpen, .toEvery, ["a body's reader is closed once, before the end is reported"]),
        (.closesTwice, .toEvery, ["a body's reader is closed once, before the end is reported"]),
        (.neverWakes, .withShortTimeout, ["a body without available bytes is read again after it wakes the transport"]),
        (
            .losesByte, .toEvery,
            [
                "a body of known length arrives byte for byte", "a body of unknown length arrives byte for byte",
                "a body without available bytes is read again after it wakes the transport",
                "a paused attempt reads no bytes until it is resumed",
            ]
        ),
        (.dropsCause, .toEvery, ["a body that fails ends the attempt with its error as the cause"]),
        (.reportsUnknownForRejection, .toEvery, ["an early rejection is the response of the attempt"]),
    ]

    @Test(arguments: findings)
    func `a broken transport fails the checks for its fault`(
        fault: BrokenTransport.Fault, shown: Shown, expected: Set<String>
    ) async throws {
        let checks = TransportConformance.checks.filter { shown == .toEvery || expected.contains($0.name) }
        let started = Watched<[any TransferControl]>([])
        defer { for control in started.value { control.cancel() } }
        var failed: Set<String> = []
        for check in checks {
            let server = ScriptedConformanceServer()
            do {
                try await check.run(
                    against: { BrokenTransport(fault: fault, base: server.makeTransport(), started: started) },
                    server: server, timeout: shown == .withShortTimeout ? .milliseconds(50) : .seconds(60))
            } catch {
                #expect(error.code == .notConformant)
                #expect(error.message.hasPrefix("The check \"\(check.name)\" failed: "))
                failed.insert(check.name)
            }
        }
        #expect(failed == expected)
    }

    @Test func `every fault is tested, and every check has a unique name`() {
        #expect(Set(Self.findings.map(\.0)).count == BrokenTransport.Fault.allCases.count)
        #expect(Set(TransportConformance.checks.map(\.name)).count == TransportConformance.checks.count)
    }

    @Test func `a failure lists the reported events, and a failing server is distinguished`() async throws {
        let server = ScriptedConformanceServer()
        let check = try #require(TransportConformance.checks.first { $0.name.hasPrefix("an early rejection") })
        let error = await #expect(throws: TestingError.self) {
            try await check.run(
                against: {
                    BrokenTransport(
                        fault: .reportsUnknownForRejection, base: server.makeTransport(), started: Watched([]))
                }, server: server)
        }
        let message = try #require(error).message
        #expect(message.contains("expected a response"))
        #expect(message.contains("\n  connected\n  responseHead 413\n  ended: failure connectionLost"))

        let failure = await #expect(throws: TestingError.self) {
            try await check.run(against: { server.makeTransport() }, server: FailingServer())
        }
        #expect(failure?.code == .serverFailed)
        #expect(failure?.cause is FailingServer.Failure)
    }
}

/// A transport that leaves HTTP/1.1 to libcurl, as it does whenever a request has libcurl options.
private struct ExchangeByLibcurl: UploadTransport {
    private let base = CurlTransport()

    func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        var request = request
        request.options.curlOptions = [CurlOption("TCP_NODELAY", .number(1))]
        return base.start(request, sink: sink)
    }
}

private struct FailingServer: ConformanceServer {
    struct Failure: Error {}

    func url(for behaviour: ConformanceBehaviour) throws -> String { throw Failure() }
    func body(at url: String) throws -> [UInt8] { throw Failure() }
}
