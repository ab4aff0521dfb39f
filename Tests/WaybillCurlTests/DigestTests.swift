import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// Digest authentication (RFC 7616), computed by libcurl; its rounds must follow the rules of the transport.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct DigestTests {
    private let transport = CurlTransport()
    private let body = PatternBody(300_000)

    private func challenge(_ algorithm: String = "SHA-256", nonce: String = "n0nce", more: String = "") -> Behaviour {
        let value = "Digest realm=\"cards\", qop=\"auth\", nonce=\"\(nonce)\", algorithm=\(algorithm)\(more)"
        return .respond(401, headers: [("WWW-Authenticate", value)], body: "who are you?")
    }

    private func run(
        _ server: LoopbackServer, _ body: (any UploadBody)?, method: HTTPRequest.Method = .post,
        configure: (inout TransferOptions) -> Void = { _ in }
    ) -> Recorder {
        var request = TransferRequest.post(server.url("/cards?side=front"), body) { options in
            options.digest = DigestCredential(user: "clerk", password: .secret("s3cr3t: pässword"))
            configure(&options)
        }
        request.method = method
        let recorder = Recorder()
        _ = transport.start(request, sink: recorder)
        return recorder
    }

    @Test(arguments: [("MD5", "md5sum"), ("SHA-256", "sha256sum")])
    func `a challenge is answered, and the body is sent once`(algorithm: String, program: String) async throws {
        let server = try LoopbackServer(challenge(algorithm), .respond(201, body: "made"))
        let recorder = run(server, body)
        #expect(try await recorder.response().body == Array("made".utf8))
        let first = try await server.request(0)
        #expect(first.value(of: "Content-Length") == "0")
        #expect(first.value(of: "Authorization")?.contains("response=") != true)
        let second = try await server.request(1)
        #expect(second.body == body.bytes)
        try await expectAnswer(second, program)
        // Only the connection of the first round is reported.
        #expect(recorder.events.count { $0.isResponseHead } == 1)
        #expect(recorder.events.count { $0.isConnected } == 1)
        #expect(recorder.progress.last?.acknowledged == 300_000)
        let acknowledged = try #require(recorder.events.firstIndex { $0.isBodyAcknowledged })
        #expect(acknowledged < recorder.events.firstIndex { $0.isResponseHead }!)
    }

    /// Computes RFC 7616 section 3.4.1 with another program.
    private func expectAnswer(_ request: RecordedRequest, _ program: String) async throws {
        let field = try #require(request.value(of: "Authorization"))
        func value(_ name: String) throws -> String {
            let start = try #require(
                field.ranges(of: "\(name)=").first { field[..<$0.lowerBound].last != "c" || name != "nonce" })
            return String(field[start.upperBound...].prefix { $0 != "," }.filter { $0 != "\"" })
        }
        func hash(_ text: String) async throws -> String {
            String(try await ChildProcess.run(program, input: Array(text.utf8)).text.prefix { $0 != " " })
        }
        #expect(try value("username") == "clerk")
        #expect(try value("uri") == "/cards?side=front")
        let secret = try await hash("clerk:cards:s3cr3t: pässword")
        let place = try await hash("POST:/cards?side=front")
        let nonces = try "n0nce:\(value("nc")):\(value("cnonce")):auth"
        #expect(try await value("response") == hash("\(secret):\(nonces):\(place)"))
        #expect(!request.lines.joined().contains("s3cr3t"))
    }

    @Test(arguments: [HTTPRequest.Method.put, .post, .get])
    func `a challenge to a request without a body is answered`(method: HTTPRequest.Method) async throws {
        let server = try LoopbackServer(challenge(), .respond(200))
        #expect(try await run(server, nil, method: method).response().head.status == .ok)
        #expect(try await server.request(1).value(of: "Authorization")?.hasPrefix("Digest ") == true)
        #expect(server.requests.allSatisfy { $0.method == method.rawValue })
    }

    @Test func `a large body expects 100-continue and is sent once`() async throws {
        let server = try LoopbackServer(challenge(), .respond(200), keepsBodies: false)
        let large = PatternBody(3 << 20)
        let response = try await run(server, large) { $0.expectContinue = .above(.mebibytes(2)) }.response()
        #expect(response.head.status == .ok)
        #expect(try await server.request(1).value(of: "Expect") == "100-continue")
        #expect(server.requests.map(\.bodyBytesRead) == [0, 3 << 20])
    }

    @Test func `a server without a challenge receives an empty request first`() async throws {
        let server = try LoopbackServer(.respond(200, body: "first"), .respond(200, body: "second"))
        let recorder = run(server, body)
        #expect(try await recorder.response().body == Array("second".utf8))
        #expect(server.requests.map { $0.body.count } == [0, 300_000])
        #expect(recorder.events.count { $0.isResponseHead } == 1)
    }

    @Test func `a wrong password is rejected once`() async throws {
        let server = try LoopbackServer(challenge(), challenge(nonce: "another"))
        let recorder = run(server, body)
        #expect(try await recorder.response().head.status == .unauthorized)
        #expect(server.requests.count == 2)
        #expect(recorder.events.count { $0.isResponseHead } == 1)
    }

    @Test(arguments: [401, 403, 500, 307])
    func `a response without a Digest challenge is returned, and the body is not sent`(status: Int) async throws {
        let server = try LoopbackServer(
            .respond(
                status, headers: [("WWW-Authenticate", "Basic realm=\"cards\""), ("Location", "/b")], body: "no"))
        let recorder = run(server, body)
        let end = await recorder.end()
        let response = try end.result.get()
        #expect(response.head.status.code == status)
        #expect(response.body == Array("no".utf8))
        #expect(server.requests.map { $0.body.count } == [0])
        #expect(end.evidence.sent == 0)
        #expect(!end.evidence.isBodyComplete)
        #expect(recorder.events.count { $0.isResponseHead } == 1)
    }

    @Test func `a stale nonce after the body does not repeat it in the same attempt`()
        async throws
    {
        let server = try LoopbackServer(challenge(), challenge(nonce: "fresh", more: ", stale=true"))
        let end = await run(server, body).end()
        #expect(try end.result.get().head.status == .unauthorized)
        #expect(end.evidence.isBodyComplete)
        #expect(server.requests.map { $0.body.count } == [0, 300_000])
    }

    @Test func `a missing response to the first request fails at the response limit`() async throws {
        let server = try LoopbackServer(.neverRespond)
        let error = try await run(server, body) { $0.limits.response = .milliseconds(200) }.failure()
        #expect(error.code == .responseTimeout)
        #expect(error.outcome == .incomplete(acknowledged: 0))
    }

    @Test func `the response limit restarts with the body`() async throws {
        // The body takes longer than the response limit, which started with the first request.
        let server = try LoopbackServer(
            challenge(), Behaviour.respond(200).reading(bytesPerSecond: 2_000_000), receiveBuffer: .kibibytes(64),
            keepsBodies: false)
        let recorder = run(server, PatternBody(2 << 20)) { $0.limits.response = .milliseconds(500) }
        #expect(try await recorder.response().head.status == .ok)
    }

    @Test func `a connection lost in the second round has the outcome of its sent bytes`() async throws {
        let lost = try LoopbackServer(challenge(), .closeWithoutResponse())
        let unknown = try await run(lost, body).failure()
        #expect(unknown.outcome == .unknown)
        #expect(lost.requests.map { $0.body.count } == [0, 300_000])

        let cut = try LoopbackServer(
            challenge(), .reset(afterBodyBytes: 100_000), receiveBuffer: .kibibytes(64), keepsBodies: false)
        let incomplete = try await run(cut, PatternBody(8 << 20)).failure()
        guard case .incomplete = incomplete.outcome else {
            Issue.record("\(incomplete)")
            return
        }
        #expect(incomplete.status == nil)
    }

    @Test func `a challenge that closes the connection is answered on a new one`() async throws {
        let value = "Digest realm=\"cards\", nonce=\"n\", qop=\"auth\""
        let server = try LoopbackServer(
            .respond(401, headers: [("WWW-Authenticate", value), ("Connection", "close")]), .respond(200))
        #expect(try await run(server, body).response().head.status == .ok)
        #expect(try await server.request(1).body == body.bytes)
    }

    @Test func `a body of unknown length is rejected before anything is sent`() async throws {
        let server = try LoopbackServer()
        let error = try await run(server, PatternBody(10, announcesLength: false)).failure()
        #expect(error.code == .invalidRequest)
        #expect(error.message.contains("length"))
        #expect(server.state.connections.isEmpty)
    }

    @Test func `Digest credentials are never printed`() {
        let credential = DigestCredential(user: "clerk", password: .secret("s3cr3t"))
        var options = TransferOptions()
        options.digest = credential
        var dumped = ""
        dump(options, to: &dumped)
        for text in ["\(credential)", String(reflecting: credential), "\(options)", dumped] {
            #expect(!text.contains("s3cr3t") && !text.contains("clerk"))
        }
    }
}
