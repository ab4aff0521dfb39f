import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// The failures of a server, and the errors reported for them.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct FaultTests {
    private let transport = CurlTransport()

    private func run(_ request: TransferRequest) -> Recorder {
        let recorder = Recorder()
        _ = transport.start(request, sink: recorder)
        return recorder
    }

    // MARK: Nothing was sent

    @Test func `a refused port fails as cannotConnect`() async throws {
        let port = try ClosedPort()
        let error = try await run(.post(port.url(), PatternBody(10))).failure()
        #expect(error.code == .cannotConnect)
        #expect(error.outcome == .notSent)
    }

    @Test func `a host without an address fails as hostNotFound`() async throws {
        let error = try await run(.post("http://\(TestHost.absent()):80/", PatternBody(10))).failure()
        #expect(error.code == .hostNotFound)
        #expect(error.outcome == .notSent)
    }

    @Test func `an unresponsive port fails at the connect limit`() async throws {
        let hole = try UnresponsivePort()
        let error = try await run(.post(hole.url(), PatternBody(10)) { $0.limits.connect = .milliseconds(200) })
            .failure()
        #expect(error.code == .connectTimeout)
        #expect(error.outcome == .notSent)
    }

    @Test func `a hanging resolver fails at the connect limit and delays no other transfer`() async throws {
        let name = HangingHostName()
        let server = try LoopbackServer()
        let hanging = run(.post("http://\(name.host):80/", PatternBody(10)) { $0.limits.connect = .milliseconds(300) })
        await name.waitUntilLookupBegins()
        #expect(try await run(.post(server.url(), PatternBody(10))).response().head.status == .ok)
        let error = try await hanging.failure()
        #expect(error.code == .connectTimeout)
        #expect(error.outcome == .notSent)
        #expect(try await run(.post(server.url(), PatternBody(10))).response().head.status == .ok)
    }

    @Test func `an invalid or unsupported URL is rejected`() async throws {
        for url in ["file:///etc/passwd", "nonsense", "ftp://127.0.0.1/"] {
            let error = try await run(.post(url, PatternBody(10))).failure()
            #expect(error.code == .invalidURL)
            #expect(error.outcome == .notSent)
        }
    }

    @Test func `a dying kept-alive connection has an outcome that follows from its evidence`() async throws {
        let server = try LoopbackServer(.respond(200), .closeDuringRequest())
        #expect(try await run(.post(server.url(), PatternBody(10))).response().head.status == .ok)
        let end = await run(.post(server.url(), PatternBody(10))).end()
        guard case .failure(let error) = end.result else {
            // The connection died before a byte of the body was sent, so the request was sent again.
            #expect(server.requests.count == 2)
            return
        }
        #expect(error.code == .connectionLost || error.code == .resendRefused)
        #expect(server.requests.count == 1)
        // How much the peer's kernel had received is a race; the outcome must follow from it.
        switch error.outcome {
        case .notSent: #expect(!end.evidence.requestAcknowledged && end.evidence.isConnectionReused)
        case .incomplete: #expect(end.evidence.sent < 10)
        case .unknown: #expect(end.evidence.isBodyComplete)
        case .rejected, .processed: Issue.record("no response was sent")
        }
    }

    @Test func `a kept-alive connection that closed while idle is replaced`() async throws {
        let server = try LoopbackServer(Behaviour([.read(), .send(ScriptedResponse(200)), .close(.abandon)]))
        for _ in 0..<2 {
            _ = try await run(.post(server.url(), PatternBody(10))).response()
            try await server.waitUntil { $0.connections[0].isClosed }
        }
        #expect(server.requests.count == 2)
    }

    // MARK: Incomplete body

    @Test(arguments: [false, true])
    func `a server that closes halfway leaves the upload incomplete`(withReset: Bool) async throws {
        let server = try LoopbackServer(.close(afterBodyBytes: 1_000_000, withReset ? .reset : .abandon))
        let end = await run(.post(server.url(), PatternBody(32 << 20))).end()
        guard case .failure(let error) = end.result else { throw Recorder.Unexpected() }
        #expect(error.code == .connectionLost)
        guard case .incomplete(let acknowledged) = error.outcome else { throw Recorder.Unexpected() }
        #expect(acknowledged >= 1_000_000)
        #expect(acknowledged < 32 << 20)
        #expect(end.evidence.sent < 32 << 20)
    }

    @Test func `a server that stops reading fails the upload as stalled`() async throws {
        let server = try LoopbackServer(.stall(afterBodyBytes: 100_000), receiveBuffer: .kibibytes(64))
        let error = try await run(.post(server.url(), PatternBody(32 << 20)) { $0.limits.stall = .milliseconds(300) })
            .failure()
        #expect(error.code == .stalled)
        guard case .incomplete = error.outcome else { throw Recorder.Unexpected() }
    }

    @Test func `an early rejection is the response, with an incomplete body`() async throws {
        let server = try LoopbackServer(
            .early(ScriptedResponse(413, headers: [("Connection", "close")], text: "too large"), then: .close(.finish)))
        let end = await run(.post(server.url(), PatternBody(32 << 20))).end()
        let response = try end.result.get()
        #expect(response.head.status.code == 413)
        #expect(end.evidence.sawResponseHead)
        #expect(!end.evidence.isBodyComplete)
    }

    @Test func `an early success without reading the body is a failure`() async throws {
        let server = try LoopbackServer(
            .early(ScriptedResponse(200, text: "ok"), then: .hold), receiveBuffer: .kibibytes(64))
        let error = try await run(.post(server.url(), PatternBody(32 << 20)) { $0.limits.stall = .milliseconds(300) })
            .failure()
        // libcurl ends the transfer with the response, or continues until the stall limit; neither is a success.
        #expect(error.code == .bodyNotTaken || error.code == .stalled)
        #expect(error.status == .ok)
        #expect(error.outcome == .unknown)
    }

    @Test(arguments: [false, true])
    func `a body with a wrong length is never completed`(isLonger: Bool) async throws {
        let server = try LoopbackServer(otherwise: .neverRespond)
        let script: [ScriptedBody.Step] = [.bytes([UInt8](repeating: 1, count: isLonger ? 101 : 99))]
        let error = try await run(.post(server.url(), ScriptedBody(length: 100, script))).failure()
        #expect(error.code == .bodyFailed)
        #expect(error.outcome != .unknown)
        #expect(error.message.contains(isLonger ? "more" : "fewer"))
        _ = try await server.peerEnd()
        #expect(server.requests.allSatisfy { !$0.isComplete && $0.bodyBytesRead < 100 })
    }

    @Test func `a source that fails halfway ends the transfer with its error`() async throws {
        struct DiskOnFire: Error {}
        let server = try LoopbackServer(otherwise: .neverRespond)
        let script: [ScriptedBody.Step] = [.bytes([UInt8](repeating: 1, count: 50)), .fail(DiskOnFire())]
        let error = try await run(.post(server.url(), ScriptedBody(length: 100, script))).failure()
        #expect(error.code == .bodyFailed)
        #expect(error.cause is DiskOnFire)
    }

    // MARK: Complete body

    @Test(arguments: [nil, 0, 10] as [Int?])
    func `a request sent on a kept-alive connection is never sent again`(count: Int?) async throws {
        // libcurl itself repeats a request without a response if its connection was reused.
        let server = try LoopbackServer(.respond(200), .closeWithoutResponse())
        let body = count.map { PatternBody($0) }
        #expect(try await run(.post(server.url(), body)).response().head.status == .ok)
        let error = try await run(.post(server.url(), body)).failure()
        #expect(error.outcome == .unknown)
        #expect(server.requests.count == 2)
    }

    @Test(arguments: [Behaviour.Closing.finish, .abandon, .reset])
    func `a server that reads all and closes leaves the outcome unknown`(closing: Behaviour.Closing) async throws {
        let server = try LoopbackServer(.closeWithoutResponse(closing))
        let error = try await run(.post(server.url(), PatternBody(100_000))).failure()
        #expect(error.code == .connectionLost)
        #expect(error.outcome == .unknown)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nConte", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
    ])
    func `a response truncated in its head is a failure`(text: String) async throws {
        let server = try LoopbackServer(.truncatedResponse(text))
        let error = try await run(.post(server.url(), PatternBody(1_000))).failure()
        #expect([.responseIncomplete, .connectionLost, .malformedResponse].contains(error.code))
        #expect(error.outcome == .unknown)
    }

    @Test func `a response truncated in its body is a failure`() async throws {
        let server = try LoopbackServer(.truncatedResponseBody(announced: 100, sent: "half"))
        let error = try await run(.post(server.url(), PatternBody(1_000))).failure()
        #expect(error.code == .responseIncomplete)
        #expect(error.outcome == .unknown)
        #expect(error.status == .ok)
    }

    @Test(arguments: [Behaviour.Closing.finish, .reset])
    func `a POST without a body is sent once, even if its connection closes`(closing: Behaviour.Closing) async throws {
        for _ in 0..<5 {
            let server = try LoopbackServer(.respond(200), .closeWithoutResponse(closing))
            _ = try await run(.post(server.url())).response()
            let error = try await run(.post(server.url())).failure()
            #expect(error.outcome == .unknown)
            #expect(server.requests.count == 2)
        }
    }

    @Test func `an unsolicited response is not used for the next request`() async throws {
        let stale = ScriptedResponse.raw("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour([.read(), .send(ScriptedResponse(200)), .wait(gate), .send(stale), .close(.abandon)]))
        #expect(try await run(.post(server.url(), PatternBody(10))).response().head.status == .ok)
        gate.open()
        // Closed means sent before: the stale response is in the socket when the next request starts.
        try await server.waitUntil { $0.connections[0].isClosed }
        switch await run(.post(server.url(), PatternBody(10))).end().result {
        case .success(let response): #expect(response.head.status == .ok)
        case .failure(let error): #expect(error.outcome == .notSent)
        }
    }

    @Test func `a header line that looks like a status line does not change the status`() async throws {
        let text = "HTTP/1.1 500 Bad\r\nHTTP/1.1 200 x: y\r\nContent-Length: 0\r\n\r\n"
        let server = try LoopbackServer(.respond(.raw(text)))
        #expect(try await run(.post(server.url(), PatternBody(10))).response().head.status.code == 500)
    }

    @Test func `a missing response fails at the response limit`() async throws {
        let server = try LoopbackServer(.neverRespond)
        let recorder = run(.post(server.url(), PatternBody(1_000)) { $0.limits.response = .milliseconds(200) })
        let error = try await recorder.failure()
        #expect(error.code == .responseTimeout)
        #expect(error.outcome == .unknown)
    }

    @Test func `a slow response fails at the response limit`() async throws {
        let answer = ScriptedResponse(200, text: String(repeating: "x", count: 10_000))
        let server = try LoopbackServer(.drip(answer, piece: 1, pause: .milliseconds(20)))
        let error = try await run(.post(server.url(), PatternBody(1_000)) { $0.limits.response = .milliseconds(300) })
            .failure()
        #expect(error.code == .responseTimeout)
        #expect(error.outcome == .unknown)
    }

    @Test func `an endless head fails as responseTooLarge`() async throws {
        let server = try LoopbackServer(.endlessHead)
        let error = try await run(.post(server.url(), PatternBody(1_000))).failure()
        #expect(error.code == .responseTooLarge)
        #expect(error.outcome == .unknown)
    }

    @Test func `an endless body fails at the limit of the body`() async throws {
        let server = try LoopbackServer(.endlessBody)
        let error = try await run(.post(server.url(), PatternBody(1_000)) { $0.limits.responseBody = .kibibytes(100) })
            .failure()
        #expect(error.code == .responseTooLarge)
        #expect(error.outcome == .unknown)
    }

    @Test(arguments: ["garbage\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 9999 Odd\r\n\r\n"])
    func `a response that is not HTTP fails as malformedResponse`(text: String) async throws {
        let server = try LoopbackServer(.truncatedResponse(text))
        let error = try await run(.post(server.url(), PatternBody(1_000))).failure()
        #expect(error.code == .malformedResponse)
        #expect(error.outcome == .unknown)
    }

    @Test func `the total limit covers the whole transfer`() async throws {
        let server = try LoopbackServer(
            Behaviour.respond(200).reading(bytesPerSecond: 100_000), receiveBuffer: .kibibytes(64))
        let error = try await run(.post(server.url(), PatternBody(32 << 20)) { $0.limits.total = .milliseconds(400) })
            .failure()
        #expect(error.code == .totalTimeout)
    }
}

extension Recorder {
    /// The transfer ended differently than the test expects.
    struct Unexpected: Error {}
}
