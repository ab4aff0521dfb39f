import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// HTTP/2 servers that end a stream early, or let it wait.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct HTTP2FaultTests {
    private func request(
        _ server: HTTP2Faults, _ body: (any UploadBody)?
    ) -> TransferRequest {
        TransferRequest.post(server.url(), body) {
            $0.httpVersion = .http2
            $0.tls.certificateAuthorities = server.authority
            $0.limits.stall = .seconds(1)
        }
    }

    private func end(of request: TransferRequest) async -> TransferEnd {
        let recorder = Recorder()
        _ = CurlTransport().start(request, sink: recorder)
        return await recorder.end()
    }

    @Test func `a response over HTTP2 is kept when the server ends the stream before the body has left`() async throws {
        let server = try await HTTP2Faults(.responseThenReset, status: 413)
        let response = try await end(of: request(server, PatternBody(3_000_000))).result.get()
        #expect(response.head.status.code == 413)
        #expect(String(decoding: response.body, as: UTF8.self) == "hello")
    }

    @Test func `an early 200 over HTTP2 whose stream ends is no success`() async throws {
        let server = try await HTTP2Faults(.responseThenReset)
        let end = await end(of: request(server, PatternBody(3_000_000)))
        guard case .failure(let error) = end.result else {
            Issue.record("\(end)")
            return
        }
        #expect(error.code == .bodyNotTaken && error.status == .ok)
        #expect(error.outcome != .notSent && error.outcome != .rejected)
    }

    /// libcurl 7.88 loses such a response.
    @Test(arguments: [HTTP2Faults.Fault.responseWithReset, .reset], [200, 413])
    func `over HTTP2 nothing counts as not sent once its head has left`(fault: HTTP2Faults.Fault, status: Int)
        async throws
    {
        let server = try await HTTP2Faults(fault, status: status)
        let end = await end(of: request(server, PatternBody(3_000_000)))
        if case .failure(let error) = end.result {
            #expect(error.outcome != .notSent, "\(error)")
        } else {
            #expect(fault == .responseWithReset && status == 413)
        }
        #expect(server.requests == 1)
    }

    /// A body that has nothing to give.
    private struct WaitingBody: UploadBody {
        let length: Int64? = 1_000
        let isReplayable = true
        func makeReader(wake: @escaping @Sendable () -> Void) -> any BodyReader { Reader() }

        private final class Reader: BodyReader {
            func read(into output: inout OutputRawSpan) -> BodyRead { .later }
            func close() {}
        }
    }

    @Test func `over HTTP2 a head that has left is not nothing, without a byte of the body, too`() async throws {
        let server = try await HTTP2Faults(.reset)
        let end = await end(of: request(server, WaitingBody()))
        guard case .failure(let error) = end.result else {
            Issue.record("\(end)")
            return
        }
        #expect(error.outcome == .incomplete(acknowledged: 0), "\(error)")
    }

    @Test func `a request without a body that HTTP2 resets has an unknown outcome`() async throws {
        let server = try await HTTP2Faults(.reset)
        let end = await end(of: request(server, nil))
        guard case .failure(let error) = end.result else {
            Issue.record("\(end)")
            return
        }
        #expect(error.outcome == .unknown, "\(error)")
    }

    /// It stands still for a second. A thread that spins uses all of that.
    @Test func `an upload that HTTP2 lets wait leaves the processor to others`() async throws {
        let server = try await HTTP2Faults(.silence)
        let stopwatch = FrontedTransferTests.Stopwatch()
        _ = CurlTransport().start(request(server, PatternBody(3_000_000)), sink: stopwatch)
        let used = try await stopwatch.spent.waitUntil { $0.used != nil }.used
        #expect(try #require(used) < .milliseconds(300))
    }
}
