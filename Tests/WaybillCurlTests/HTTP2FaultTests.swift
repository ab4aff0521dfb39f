import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// HTTP/2 servers that end a stream early or never respond.
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

    @Test func `an HTTP2 response is kept when the stream ends before the body is sent`() async throws {
        let server = try await HTTP2Faults(.responseThenReset, status: 413)
        let response = try await end(of: request(server, PatternBody(3_000_000))).result.get()
        #expect(response.head.status.code == 413)
        #expect(String(decoding: response.body, as: UTF8.self) == "hello")
    }

    @Test func `an early 200 over HTTP2 with a reset stream is a failure`() async throws {
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
    func `a request over HTTP2 is never notSent after its head was sent`(fault: HTTP2Faults.Fault, status: Int)
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

    /// A body without available data.
    private struct WaitingBody: UploadBody {
        let length: Int64? = 1_000
        let isReplayable = true
        func makeReader(wake: @escaping @Sendable () -> Void) -> any BodyReader { Reader() }

        private final class Reader: BodyReader {
            func read(into output: inout OutputRawSpan) -> BodyRead { .later }
            func close() {}
        }
    }

    @Test func `a reset HTTP2 request without a sent body byte is incomplete`() async throws {
        let server = try await HTTP2Faults(.reset)
        let end = await end(of: request(server, WaitingBody()))
        guard case .failure(let error) = end.result else {
            Issue.record("\(end)")
            return
        }
        #expect(error.outcome == .incomplete(acknowledged: 0), "\(error)")
    }

    @Test func `a reset HTTP2 request without a body has an unknown outcome`() async throws {
        let server = try await HTTP2Faults(.reset)
        let end = await end(of: request(server, nil))
        guard case .failure(let error) = end.result else {
            Issue.record("\(end)")
            return
        }
        #expect(error.outcome == .unknown, "\(error)")
    }

    /// The transfer waits for a second. A spinning thread would use all of it.
    @Test func `an HTTP2 upload that waits uses little processor time`() async throws {
        let server = try await HTTP2Faults(.silence)
        let stopwatch = FrontedTransferTests.Stopwatch()
        _ = CurlTransport().start(request(server, PatternBody(3_000_000)), sink: stopwatch)
        let used = try await stopwatch.spent.waitUntil { $0.used != nil }.used
        #expect(try #require(used) < .milliseconds(300))
    }
}
