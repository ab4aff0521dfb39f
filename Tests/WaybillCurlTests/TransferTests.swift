import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

@Suite(.timeLimit(.minutes(Slowness.factor))) struct TransferTests {
    private let transport = CurlTransport()

    private func run(_ request: TransferRequest) -> Recorder {
        let recorder = Recorder()
        _ = transport.start(request, sink: recorder)
        return recorder
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 1 << 20, 3_000_001])
    func `a body of known length arrives completely`(count: Int) async throws {
        let server = try LoopbackServer(.respond(201, headers: [("X-Id", "7")], body: "made"))
        let body = PatternBody(count)
        let response = try await run(.post(server.url("/form"), body)).response()
        #expect(response.head.status == .created)
        #expect(response.head.headerFields[HTTPField.Name("X-Id")!] == "7")
        #expect(response.body == Array("made".utf8))
        let request = try await server.request(0)
        #expect(request.body == body.bytes)
        #expect(request.value(of: "Content-Length") == "\(count)")
        #expect(request.value(of: "Content-Type") == "application/octet-stream")
        #expect(request.value(of: "Expect") == nil)
        #expect(server.state.violations.isEmpty)
    }

    @Test(arguments: [0, 1, 200_000])
    func `a body of unknown length arrives chunked`(count: Int) async throws {
        let server = try LoopbackServer()
        let body = PatternBody(count, announcesLength: false)
        _ = try await run(.post(server.url(), body)).response()
        let request = try await server.request(0)
        #expect(request.body == body.bytes)
        #expect(request.value(of: "Transfer-Encoding") == "chunked")
        #expect(request.value(of: "Content-Length") == nil)
    }

    @Test(arguments: [HTTPRequest.Method.put, .post, .patch, .delete, .get, .head, .options])
    func `a request without a body is sent with its method`(method: HTTPRequest.Method) async throws {
        let server = try LoopbackServer()
        let response = try await run(TransferRequest(method: method, url: server.url("/x?y=1"))).response()
        #expect(response.head.status == .ok)
        let request = try await server.request(0)
        #expect(request.method == method.rawValue)
        #expect(request.target == "/x?y=1")
        #expect(request.body.isEmpty)
        #expect(request.value(of: "Content-Type") == nil)
    }

    @Test func `a PUT with a body is sent as PUT`() async throws {
        let server = try LoopbackServer()
        let body = PatternBody(1_000)
        _ = try await run(TransferRequest(method: .put, url: server.url(), body: body)).response()
        let request = try await server.request(0)
        #expect(request.method == "PUT")
        #expect(request.body == body.bytes)
    }

    @Test func `events arrive in order, and the end arrives last and once`() async throws {
        let server = try LoopbackServer()
        let recorder = run(.post(server.url(), PatternBody(500_000)))
        _ = try await recorder.response()
        let events = recorder.events
        #expect(events.first?.isConnected == true)
        #expect(events.last?.end != nil)
        #expect(events.count { $0.end != nil } == 1)
        #expect(events.count { $0.isBodyAcknowledged } == 1)
        #expect(events.count { $0.isResponseHead } == 1)
        #expect(recorder.progress.last?.acknowledged == 500_000)
        #expect(recorder.progress.last?.accuracy == .exact)
    }

    @Test func `a second request reuses the connection`() async throws {
        let server = try LoopbackServer()
        for expected in [false, true] {
            let recorder = run(.post(server.url(), PatternBody(10)))
            let end = await recorder.end()
            #expect(end.metrics.connection?.isReused == expected)
            #expect(end.metrics.connection?.peerPort == server.port)
        }
        #expect(server.state.connections.count == 1)
    }

    @Test func `many transfers run concurrently on one thread`() async throws {
        let server = try LoopbackServer()
        let recorders = (0..<64).map { run(.post(server.url("/\($0)"), PatternBody(10_000 + $0))) }
        for recorder in recorders { #expect(try await recorder.response().head.status == .ok) }
        let sizes = Set(server.requests.map(\.bodyBytesRead))
        #expect(sizes == Set((0..<64).map { 10_000 + $0 }))
    }

    @Test func `interim responses are skipped`() async throws {
        let server = try LoopbackServer(.respond(ScriptedResponse(200, text: "done"), afterInterim: [102, 103]))
        let response = try await run(.post(server.url(), PatternBody(10))).response()
        #expect(response.head.status == .ok)
    }

    @Test func `an error status is a response`() async throws {
        let server = try LoopbackServer(.respond(503, headers: [("Retry-After", "7")], body: "busy"))
        let response = try await run(.post(server.url(), PatternBody(10))).response()
        #expect(response.head.status.code == 503)
        #expect(response.body == Array("busy".utf8))
    }

    @Test func `a redirect is returned and not followed`() async throws {
        let server = try LoopbackServer(.respond(307, headers: [("Location", "/other")]))
        let response = try await run(.post(server.url(), PatternBody(10))).response()
        #expect(response.head.status.code == 307)
        #expect(server.requests.count == 1)
    }

    /// Just above the smallest size that expects 100-continue.
    private let large = 1 << 20 | 1

    @Test func `a large body expects 100-continue and arrives completely`() async throws {
        let server = try LoopbackServer(.respond(200))
        let body = PatternBody(large)
        let patient = TransferOptions.ExpectContinue.above(.bytes(0), wait: .seconds(50))
        _ = try await run(.post(server.url(), body) { $0.expectContinue = patient }).response()
        let request = try await server.request(0)
        #expect(request.value(of: "Expect") == "100-continue")
        #expect(request.body == body.bytes)
    }

    @Test func `a server that ignores 100-continue still receives the body`() async throws {
        let server = try LoopbackServer(.respond(200).ignoringExpect())
        let body = PatternBody(large)
        _ = try await run(.post(server.url(), body) { $0.expectContinue = .above(.bytes(0)) }).response()
        #expect(try await server.request(0).body == body.bytes)
    }

    @Test func `waiting for 100-continue is limited by the stall limit`() async throws {
        let server = try LoopbackServer(.respond(200).ignoringExpect())
        let body = PatternBody(large)
        let forever = TransferOptions.ExpectContinue.above(.bytes(0), wait: .seconds(86_400))
        _ = try await run(
            .post(server.url(), body) {
                $0.expectContinue = forever
                $0.limits.stall = .milliseconds(500)
            }
        ).response()
        #expect(try await server.request(0).body == body.bytes)
    }

    @Test func `idle connections are closed on request, and the next attempt opens one`() async throws {
        let server = try LoopbackServer()
        let transport = CurlTransport()
        for number in 1...2 {
            let recorder = Recorder()
            _ = transport.start(.post(server.url(), PatternBody(10)), sink: recorder)
            _ = try await recorder.response()
            transport.closeIdleConnections()
            try await server.waitUntil {
                $0.connections.count == number && $0.connections.allSatisfy { $0.peerEnd != nil }
            }
        }
    }

    @Test func `no attempt fails while idle connections are closed`() async throws {
        let server = try LoopbackServer()
        let transport = CurlTransport()
        let closing = Task.detached {
            while !Task.isCancelled {
                transport.closeIdleConnections()
                await Task.yield()
            }
        }
        let recorders = (0..<300).map { _ in Recorder(wantsProgress: false) }
        for recorder in recorders {
            _ = transport.start(.post(server.url(), PatternBody(10)), sink: recorder)
        }
        for recorder in recorders { #expect(try await recorder.response().head.status == .ok) }
        closing.cancel()
    }

    @Test func `a running attempt continues when idle connections are closed`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(Behaviour.respond(200).delayed(until: gate))
        let transport = CurlTransport()
        let recorder = Recorder()
        _ = transport.start(.post(server.url(), PatternBody(10)), sink: recorder)
        _ = try await server.waitUntil { $0.requests.first?.isComplete == true }
        transport.closeIdleConnections()
        gate.open()
        #expect(try await recorder.response().head.status == .ok)
    }

    @Test func `a server that rejects the expectation receives no body`() async throws {
        let server = try LoopbackServer(.rejectExpect(413))
        let patient = TransferOptions.ExpectContinue.above(.bytes(0), wait: .seconds(50))
        let recorder = run(.post(server.url(), PatternBody(large)) { $0.expectContinue = patient })
        let end = await recorder.end()
        #expect(try end.result.get().head.status.code == 413)
        #expect(end.evidence.sent == 0)
        #expect(!end.evidence.isBodyComplete)
    }

    @Test func `a 417 response is followed by a request without the expectation`() async throws {
        let server = try LoopbackServer(.rejectExpect(417))
        let body = PatternBody(large)
        let patient = TransferOptions.ExpectContinue.above(.bytes(0), wait: .seconds(50))
        let response = try await run(.post(server.url(), body) { $0.expectContinue = patient }).response()
        #expect(response.head.status == .ok)
        #expect(try await server.request(1).body == body.bytes)
    }

    @Test func `a server that ignores 100-continue receives the expectation once`() async throws {
        let server = try LoopbackServer(otherwise: Behaviour.respond(200).ignoringExpect())
        for expected in ["100-continue", nil] {
            let end = await run(.post(server.url(), PatternBody(large)) { $0.expectContinue = .above(.bytes(0)) }).end()
            #expect(try end.result.get().head.status == .ok)
            #expect(server.requests.last?.value(of: "Expect") == expected)
        }
    }

    @Test func `a server that rejects 100-continue receives the expectation once`() async throws {
        let server = try LoopbackServer(.rejectExpect(417))
        let patient = TransferOptions.ExpectContinue.above(.bytes(0), wait: .seconds(50))
        for _ in 0..<2 {
            _ = try await run(.post(server.url(), PatternBody(large)) { $0.expectContinue = patient }).response()
        }
        #expect(server.requests.map { $0.value(of: "Expect") } == ["100-continue", nil, nil])
    }

    @Test func `a server that sends 100-continue receives the expectation again`() async throws {
        let server = try LoopbackServer()
        let patient = TransferOptions.ExpectContinue.above(.bytes(0), wait: .seconds(50))
        for _ in 0..<2 {
            _ = try await run(.post(server.url(), PatternBody(large)) { $0.expectContinue = patient }).response()
        }
        #expect(server.requests.map { $0.value(of: "Expect") } == ["100-continue", "100-continue"])
    }

    @Test func `a resolve entry applies only to its transfer`() async throws {
        let server = try LoopbackServer()
        let url = "http://\(TestHost.absent("resolved")):\(server.port)/"
        let entry = "\(TestHost.absent("resolved")):\(server.port):127.0.0.1"
        #expect(try await run(.post(url) { $0.resolve = [entry] }).response().head.status == .ok)
        #expect(try await run(.post(url)).failure().code == .hostNotFound)
    }

    @Test(arguments: ["", "host", "host:80", "host:port:127.0.0.1", "host:0:127.0.0.1", ":80:127.0.0.1", "host:80:"])
    func `an invalid resolve entry is rejected`(entry: String) async throws {
        let error = try await run(.post("http://127.0.0.1/") { $0.resolve = [entry] }).failure()
        #expect(error.code == .invalidRequest)
    }

    @Test func `very long limits do not overflow`() async throws {
        let server = try LoopbackServer()
        let recorder = run(
            .post(server.url(), PatternBody(10)) { options in
                options.limits.connect = .seconds(Int64.max / 100)
                options.limits.stall = .seconds(Int64.max / 100)
                options.limits.response = .seconds(Int64.max / 100)
            })
        #expect(try await recorder.response().head.status == .ok)
    }

    @Test func `chunk framing does not count as progress`() async throws {
        let server = try LoopbackServer()
        let end = await run(.post(server.url(), PatternBody(3_000_000, announcesLength: false))).end()
        #expect(end.evidence.sent == 3_000_000)
        #expect(end.evidence.acknowledged == 3_000_000)
    }

    @Test func `the transport can be released while a transfer runs`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(.respond(200).delayed(until: gate))
        let recorder = Recorder()
        _ = CurlTransport().start(.post(server.url(), PatternBody(10)), sink: recorder)
        _ = try await server.request(0)
        gate.open()
        #expect(try await recorder.response().head.status == .ok)
    }
}
