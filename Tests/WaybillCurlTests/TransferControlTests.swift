import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// Cancelling, pausing, rates, and a body without available data.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct TransferControlTests {
    private let transport = CurlTransport()

    private func start(_ request: TransferRequest) -> (Recorder, any TransferControl) {
        let recorder = Recorder()
        return (recorder, transport.start(request, sink: recorder))
    }

    /// A cancel promises to close the socket within 200 ms. To measure the code and not the load of the machine, one
    /// attempt in five must meet it; waiting for any internal timer would fail all five.
    private func expectPromptly(_ attempt: () async throws -> Duration) async throws {
        let limit = Duration.milliseconds(200) * Slowness.factor
        var fastest = Duration.seconds(60)
        for _ in 0..<5 where fastest >= limit { fastest = min(fastest, try await attempt()) }
        #expect(fastest < limit)
    }

    /// Cancels and waits for the end, which must be a cancellation.
    private func cancel(_ recorder: Recorder, _ control: any TransferControl) async throws -> TransferError {
        control.cancel()
        let error = try await recorder.failure()
        #expect(error.code == .cancelled)
        return error
    }

    @Test func `cancelling during name resolution ends within 200 ms`() async throws {
        try await expectPromptly { () async throws -> Duration in
            let name = HangingHostName()
            let (recorder, control) = start(.post("http://\(name.host):80/", PatternBody(10)))
            await name.waitUntilLookupBegins()
            let asked = ContinuousClock.now
            #expect(try await cancel(recorder, control).outcome == .notSent)
            return try #require(recorder.endedAt) - asked
        }
    }

    @Test func `cancelling while connecting ends within 200 ms`() async throws {
        try await expectPromptly { () async throws -> Duration in
            let hole = try UnresponsivePort()
            let (recorder, control) = start(.post(hole.url(), PatternBody(10)))
            let asked = ContinuousClock.now
            #expect(try await cancel(recorder, control).outcome == .notSent)
            return try #require(recorder.endedAt) - asked
        }
    }

    @Test func `cancelling while sending closes the socket within 200 ms`() async throws {
        try await expectPromptly { () async throws -> Duration in
            let server = try LoopbackServer(.stall(afterBodyBytes: 100_000), receiveBuffer: .kibibytes(64))
            let (recorder, control) = start(.post(server.url(), PatternBody(32 << 20)))
            try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
            let asked = ContinuousClock.now
            let error = try await cancel(recorder, control)
            guard case .incomplete = error.outcome else { throw Recorder.Unexpected() }
            return try await server.peerEnd().at - asked
        }
    }

    @Test func `cancelling while awaiting the response closes the socket, with an unknown outcome`() async throws {
        try await expectPromptly { () async throws -> Duration in
            let server = try LoopbackServer(.neverRespond)
            let (recorder, control) = start(.post(server.url(), PatternBody(1_000)))
            await recorder.waitUntil { $0.contains { $0.isBodyAcknowledged } }
            let asked = ContinuousClock.now
            #expect(try await cancel(recorder, control).outcome == .unknown)
            return try await server.peerEnd().at - asked
        }
    }

    @Test func `cancelling while the body has no data ends within 200 ms`() async throws {
        try await expectPromptly { () async throws -> Duration in
            let server = try LoopbackServer(.neverRespond)
            let body = GatedBody(first: [1, 2, 3], then: [4])
            let (recorder, control) = start(.post(server.url(), body))
            try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) == 3 }
            let asked = ContinuousClock.now
            #expect(try await cancel(recorder, control).outcome == .incomplete(acknowledged: 3))
            #expect(body.isClosed)
            return try await server.peerEnd().at - asked
        }
    }

    @Test func `cancelling twice or after the end has no effect`() async throws {
        let server = try LoopbackServer()
        let (recorder, control) = start(.post(server.url(), PatternBody(10)))
        _ = try await recorder.response()
        control.cancel()
        control.cancel()
        let (second, _) = start(.post(server.url(), PatternBody(10)))
        _ = try await second.response()
        #expect(recorder.events.count { $0.end != nil } == 1)
    }

    @Test func `a body without data continues when it wakes the transfer`() async throws {
        let server = try LoopbackServer()
        let body = GatedBody(first: [1, 2, 3], then: [4, 5])
        let (recorder, _) = start(.post(server.url(), body))
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) == 3 }
        body.open()
        #expect(try await recorder.response().head.status == .ok)
        #expect(try await server.request(0).body == [1, 2, 3, 4, 5])
        #expect(body.isClosed)
    }

    @Test func `a paused transfer sends nothing until it is resumed`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 100_000, until: gate), receiveBuffer: .kibibytes(64))
        let (recorder, control) = start(.post(server.url(), PatternBody(32 << 20)) { $0.limits.stall = .seconds(50) })
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
        control.pause()
        // Commands run in order: once a transfer started later has ended, the pause has taken effect.
        let (other, _) = start(.post(try LoopbackServer().url(), nil))
        _ = await other.end()
        gate.open()
        await recorder.waitUntil { events in
            guard case .progress(let progress)? = events.last(where: { if case .progress = $0 { true } else { false } })
            else { return false }
            return progress.sent == progress.acknowledged && progress.sent >= 100_000
        }
        let sent = try #require(recorder.progress.last).sent
        #expect(sent < 32 << 20)
        control.resume()
        #expect(try await recorder.response().head.status == .ok)
        #expect(try await server.request(0).bodyBytesRead == 32 << 20)
    }

    @Test func `a transfer paused before it is connected sends no body until it is resumed`()
        async throws
    {
        let name = HangingHostName(isFound: true)
        let server = try LoopbackServer()
        let body = PatternBody(300_000)
        let (recorder, control) = start(.post("http://\(name.host):\(server.port)/", body))
        await name.waitUntilLookupBegins()
        control.pause()
        let other = try LoopbackServer()
        _ = await start(.post(other.url(), nil)).0.end()
        name.release()
        try await server.waitUntil { $0.connections.count == 1 }
        // Transfers that start and end meanwhile: enough time for a body that is not paused.
        for _ in 0..<3 { _ = await start(.post(other.url(), body)).0.end() }
        #expect(server.requests.allSatisfy { $0.bodyBytesRead == 0 })
        control.resume()
        #expect(try await recorder.response().head.status == .ok)
        #expect(try await server.request(0).body == body.bytes)
    }

    @Test func `a rate limit is met`() async throws {
        let server = try LoopbackServer()
        let clock = ContinuousClock()
        let began = clock.now
        let (recorder, _) = start(.post(server.url(), PatternBody(200_000)) { $0.rateLimit = .kilobytes(400) })
        _ = try await recorder.response()
        // Half a second at the rate, minus the first burst of at most 64 KiB.
        #expect(clock.now - began > .milliseconds(250))
    }
}

/// A body that returns its first bytes, then `.later` until it is opened.
final class GatedBody: UploadBody {
    let length: Int64?
    let isReplayable = true
    private let first: [UInt8]
    private let then: [UInt8]
    private struct State {
        var isOpen = false
        var isClosed = false
        var wake: (@Sendable () -> Void)?
    }
    private let state = Locked(State())

    init(first: [UInt8], then: [UInt8]) {
        self.first = first
        self.then = then
        length = Int64(first.count + then.count)
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    func open() {
        let wake = state.withLock { state in
            state.isOpen = true
            return state.wake
        }
        wake?()
    }

    func makeReader(wake: @escaping @Sendable () -> Void) -> any BodyReader {
        state.withLock { $0.wake = wake }
        return Reader(self)
    }

    private final class Reader: BodyReader {
        private let body: GatedBody
        private var step = 0

        init(_ body: GatedBody) { self.body = body }

        func read(into output: inout OutputRawSpan) -> BodyRead {
            let bytes: [UInt8]
            switch step {
            case 0: bytes = body.first
            case 1 where !body.state.withLock({ $0.isOpen }): return .later
            case 1: bytes = body.then
            default: return .end
            }
            step += 1
            for byte in bytes { output.append(byte) }
            return .bytes(bytes.count)
        }

        func close() { body.state.withLock { $0.isClosed = true } }
    }
}
