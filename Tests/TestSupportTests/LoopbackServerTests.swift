import TestSupport
import Testing
import WaybillCore

/// Checks the server with `curl` and with raw sockets, because every fault test depends on it.
@Suite(.timeLimit(.minutes(Slowness.factor)))
struct LoopbackServerTests {
    @Test func `a form sent by curl is recorded completely`() async throws {
        let server = try LoopbackServer(.respond(201, headers: [("X-Made", "yes")], body: "thanks"))
        let run = try await curl("-i", "-F", "name=Ada", server.url("/form?x=1"))
        #expect(run.exit == .status(0))
        #expect(run.text.hasPrefix("HTTP/1.1 201 Created\r\nX-Made: yes\r\nContent-Length: 6\r\n\r\nthanks"))

        let request = try await server.request(0)
        #expect(request.method == "POST")
        #expect(request.target == "/form?x=1")
        #expect(request.path == "/form")
        let boundary = try #require(request.value(of: "content-type")?.split(separator: "=").last)
        let expected =
            "--\(boundary)\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nAda\r\n--\(boundary)--\r\n"
        #expect(String(decoding: request.body, as: UTF8.self) == expected)
        #expect(request.digest == BodyDigest(of: request.body))
        #expect(server.state.violations.isEmpty)
    }

    @Test func `a chunked body is decoded with its trailers`() async throws {
        let server = try LoopbackServer()
        let client = try RawClient(port: server.port)
        try client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        try client.send("5;x=y\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-Sum: 1\r\n\r\n")
        #expect(try client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 OK"))
        let request = try await server.request(0)
        #expect(String(decoding: request.body, as: UTF8.self) == "hello world")
        #expect(request.trailers == ["X-Sum: 1"])
    }

    @Test func `connections are kept alive, and requests follow the script`() async throws {
        let server = try LoopbackServer(.respond(body: "first"), .respond(503), otherwise: .respond(body: "later"))
        server.route("/own", .respond(body: "own"))
        let run = try await curl("-d", "x", server.url(), server.url(), server.url(), server.url("/own"))
        #expect(run.text == "firstlaterown")
        #expect(server.requests.map(\.connection) == [0, 0, 0, 0])
        #expect(server.requests.map(\.numberOnConnection) == [0, 1, 2, 3])
    }

    @Test func `a response waits at a gate`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(.respond(body: "at last").delayed(until: gate))
        let child = try ChildProcess("curl", ["-s", "-d", "x", server.url()])
        let request = try await server.request(0)
        #expect(request.body == Array("x".utf8))
        #expect(child.writtenSoFar.output.isEmpty)
        gate.open()
        #expect(try await child.finish().text == "at last")
    }

    @Test func `a body is read at the given rate, and the rest stays in the kernel`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            .respond().paused(afterBodyBytes: 10_000, until: gate).reading(bytesPerSecond: 1_000_000),
            receiveBuffer: .kibibytes(64), keepsBodies: false)
        let body = [UInt8](repeating: 7, count: 300_000)
        let start = ContinuousClock.now
        let child = try ChildProcess(
            "curl", ["-s", "-H", "Expect:", "--data-binary", "@-", server.url()], input: body)
        try await server.waitUntil { $0.requests.first?.bodyBytesRead == 10_000 }
        #expect(server.bodyBytesRead() == 10_000)
        gate.open()
        let request = try await server.request(0)
        #expect(try await child.finish().exit == .status(0))
        #expect(ContinuousClock.now - start >= .milliseconds(290))
        #expect(request.body.isEmpty)
        #expect(request.digest == BodyDigest(of: body))
    }

    /// The exit codes are those in curl(1), section EXIT CODES.
    @Test(arguments: [
        (Behaviour.reset(afterBodyBytes: 1_000), [55, 56]),
        (.close(afterBodyBytes: 1_000), [52, 55, 56]),
        (.closeWithoutResponse(), [52]),
        (.closeWithoutResponse(.reset), [56]),
        (.truncatedResponseBody(announced: 100, sent: "ten bytes…"), [18]),
        (.truncatedResponse("this is not HTTP\r\n\r\n"), [1]),
        (.endlessHead, [56, 100]),  // 100 (too large) since curl 8.6
    ])
    func `curl reports each fault`(_ behaviour: Behaviour, _ codes: [Int]) async throws {
        let server = try LoopbackServer(behaviour)
        let run = try await curl(
            "-H", "Expect:", "--data-binary", "@-", server.url(), input: [UInt8](repeating: 65, count: 3_000_000))
        let allowed = codes.map { ChildProcess.Exit.status($0) }
        #expect(allowed.contains(run.exit), "\(run.exit) \(run.errorText)")
    }

    @Test func `an early response leaves the body unread`() async throws {
        let server = try LoopbackServer(
            .early(ScriptedResponse(413), then: .close(.finish)), .early(ScriptedResponse(401), then: .hold))
        let body = [UInt8](repeating: 65, count: 3_000_000)
        for status in ["413", "401"] {
            let run = try await curl(
                "-w", "%{http_code}", "-H", "Expect:", "--data-binary", "@-", server.url(), input: body)
            #expect(run.text.hasSuffix(status))
        }
        #expect(server.requests.map(\.bodyBytesRead) == [0, 0])
        #expect(server.requests.map(\.isComplete) == [false, false])
    }

    @Test func `Expect is honored, ignored or rejected`() async throws {
        let server = try LoopbackServer(.respond(), .respond().ignoringExpect(), .rejectExpect(413), .rejectExpect(417))
        func send() async throws -> ChildProcess.Finished {
            try await curl("-v", "-H", "Expect: 100-continue", "-d", "x", server.url())
        }
        #expect(try await send().errorText.contains("HTTP/1.1 100 Continue"))
        #expect(try await !send().errorText.contains("100 Continue"))
        #expect(try await send().errorText.contains("HTTP/1.1 413"))
        #expect(server.requests[2].bodyBytesRead == 0)
        #expect(try await send().errorText.contains("HTTP/1.1 200 OK"))  // curl retries without it
        #expect(server.requests.map(\.isComplete) == [true, true, false, false, true])
    }

    @Test func `interim responses, chunks, drips and folded headers reach the client`() async throws {
        let server = try LoopbackServer(
            .respond(ScriptedResponse(text: "final"), afterInterim: [102, 103]),
            .respond(ScriptedResponse(chunks: ["one ", "two"])),
            .drip(ScriptedResponse(text: "drop by drop"), piece: 7, pause: .milliseconds(1)),
            .respond(.raw("HTTP/1.1 200 OK\r\nX-Fold: a\r\n b\r\nContent-Length: 3\r\n\r\nodd")))
        #expect(try await curl("-i", server.url()).text.hasPrefix("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103"))
        #expect(try await curl(server.url()).text == "one two")
        #expect(try await curl(server.url()).text == "drop by drop")
        #expect(try await curl(server.url()).text == "odd")
    }

    @Test func `a kept-alive connection ends during the second request`() async throws {
        let server = try LoopbackServer(.respond(body: "one"), .closeDuringRequest())
        let client = try RawClient(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.receive(until: "one").hasSuffix("one"))
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(throws: SystemCallFailure.self) { try client.receive() }
        #expect(server.requests.count == 1)
    }

    @Test func `a closed peer is detected even if the connection is not read`() async throws {
        let server = try LoopbackServer(.stall(afterBodyBytes: 1_000), receiveBuffer: .kibibytes(16))
        let child = try ChildProcess(
            "curl", ["-s", "-H", "Expect:", "--data-binary", "@-", server.url()],
            input: [UInt8](repeating: 65, count: 8_000_000))
        try await server.waitUntil { $0.requests.first?.bodyBytesRead == 1_000 }
        let killed = ContinuousClock.now
        child.signal(9)
        #expect(try await child.finish().exit == .signal(9))
        let end = try await server.peerEnd()
        #expect(end.how == .descriptorClosed)
        #expect(end.at > killed)
        #expect(server.bodyBytesRead() == 1_000)
    }

    @Test func `connections are reset, finished or left silent on arrival`() async throws {
        let server = try LoopbackServer(connections: [.reset, .finish, .silent])
        let first = try await status(curl(server.url()))
        #expect([7, 52, 55, 56].contains(first))  // 7 if the RST overtakes the end of connect(2)
        #expect(try await status(curl(server.url())) == 52)
        #expect(try await status(curl("-m", "0.2", server.url())) == 28)
        #expect(try await curl("-w", "%{http_code}", server.url()).text == "200")
        #expect(server.requests.count == 1)
    }

    @Test func `a closed port refuses connections, and an unresponsive port drops them`() async throws {
        let closed = try ClosedPort()
        #expect(try await status(curl(closed.url())) == 7)
        let unresponsive = try UnresponsivePort()
        #expect(try await status(curl("--connect-timeout", "0.3", unresponsive.url())) == 28)
    }

    @Test func `malformed requests are recorded as violations`() async throws {
        let server = try LoopbackServer()
        let client = try RawClient(port: server.port)
        try client.send("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")
        _ = try client.receive()
        #expect(server.state.violations.count == 1)
        #expect(server.requests.isEmpty)
    }

    @Test func `stopping ends all threads whatever they do`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            .neverRespond, .respond().delayed(until: gate), .endlessBody, connections: [.silent])
        let clients = try (0..<5).map { _ in try RawClient(port: server.port) }
        for client in clients.dropLast() { try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        try await server.waitUntil { $0.requests.count == 3 && $0.connections.count == 5 }
        server.stop()
        let areClosed = server.state.connections.map(\.isClosed)
        #expect(areClosed == [true, true, true, true, true])
        for client in clients { _ = try? client.receive() }
    }

    private func curl(_ arguments: String..., input: [UInt8] = []) async throws -> ChildProcess.Finished {
        try await ChildProcess.run("curl", ["-sS"] + arguments, input: input)
    }

    private func status(_ run: ChildProcess.Finished) -> Int {
        if case .status(let status) = run.exit { status } else { -1 }
    }
}
