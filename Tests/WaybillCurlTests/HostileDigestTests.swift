import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// Hostile servers and user names with Digest authentication.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct HostileDigestTests {
    private let transport = CurlTransport()

    private func stale(_ nonce: String) -> ScriptedResponse {
        ScriptedResponse(
            401,
            headers: [("WWW-Authenticate", "Digest realm=\"r\", qop=\"auth\", nonce=\"\(nonce)\", stale=true")],
            text: "again")
    }

    private func request(_ url: String, _ body: (any UploadBody)?, user: String = "clerk", password: String = "pw")
        -> TransferRequest
    {
        TransferRequest.post(url, body) { options in
            options.digest = DigestCredential(user: user, password: .secret(password))
        }
    }

    @Test func `a server that finds every nonce stale before the body ends the attempt with 401`() async throws {
        // Each empty first request gets a 401, so that no byte of the body is ever sent.
        let server = try LoopbackServer(otherwise: Behaviour([.send(stale("n")), .forgetBody]))
        var request = request(server.url(), PatternBody(3 << 20))
        request.options.expectContinue = .above(.mebibytes(2))
        request.options.limits.response = .seconds(1)
        request.options.limits.total = .seconds(3)
        let recorder = Recorder()
        _ = transport.start(request, sink: recorder)
        let end = await recorder.end()
        #expect(server.requests.count <= 4, "\(server.requests.count) requests")
        #expect((try? end.result.get().head.status.code) == 401, "\(end.result)")
    }

    @Test func `a server that finds every nonce stale without a body ends the attempt with 401`() async throws {
        let server = try LoopbackServer(otherwise: .respond(stale("n")))
        var request = request(server.url(), nil)
        request.options.limits.total = .seconds(2)
        let recorder = Recorder()
        _ = transport.start(request, sink: recorder)
        let end = await recorder.end()
        #expect(server.requests.count <= 4, "\(server.requests.count) requests")
        #expect((try? end.result.get().head.status.code) == 401, "\(end.result)")
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1"])
    func `a user name with a line break adds no header field`(user: String) async throws {
        let challenge = ScriptedResponse(
            401, headers: [("WWW-Authenticate", "Digest realm=\"r\", qop=\"auth\", nonce=\"n\"")])
        let server = try LoopbackServer(.respond(challenge), .respond(200))
        let recorder = Recorder()
        _ = transport.start(request(server.url(), PatternBody(10), user: user), sink: recorder)
        _ = await recorder.end()
        for request in server.requests {
            #expect(request.value(of: "X-Evil") == nil)
            #expect(!request.lines.contains { $0.hasPrefix("X-Evil") || $0.contains("\r") }, "\(request.lines)")
        }
    }

    @Test func `a user name with a line break in the URL adds no header field`() async throws {
        let challenge = ScriptedResponse(
            401, headers: [("WWW-Authenticate", "Digest realm=\"r\", qop=\"auth\", nonce=\"n\"")])
        let server = try LoopbackServer(.respond(challenge), .respond(200))
        let recorder = Recorder()
        let url = server.url().replacing("http://", with: "http://a%0D%0AX-Evil:%20x:pw@", maxReplacements: 1)
        _ = transport.start(request(url, PatternBody(10)), sink: recorder)
        _ = await recorder.end()
        for request in server.requests { #expect(request.value(of: "X-Evil") == nil, "\(request.lines)") }
    }

    @Test(arguments: [
        ["Digest"], ["Digest nonce"], ["Digest realm=\"r\", nonce=\"\(String(repeating: "n", count: 40_000))\""],
        ["Digest realm=\"r\", nonce=\"n\", algorithm=ROT13"],
        ["Basic realm=\"b\"", "Digest realm=\"r\", nonce=\"n\""],
        ["Digest realm=\"r\", nonce=\"n\", algorithm=SHA-256", "Digest realm=\"r\", nonce=\"n\""],
        ["Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\""],
    ])
    func `with any challenge the body is sent at most once`(challenges: [String]) async throws {
        let answer = ScriptedResponse(401, headers: challenges.map { ("WWW-Authenticate", $0) }, text: "no")
        let server = try LoopbackServer(otherwise: .respond(answer))
        var request = request(server.url(), PatternBody(1_000))
        request.options.limits.total = .seconds(5)
        let recorder = Recorder()
        _ = transport.start(request, sink: recorder)
        let end = await recorder.end()
        #expect(server.requests.count <= 2)
        #expect(server.requests.count { !$0.body.isEmpty } <= 1)
        #expect((try? end.result.get().head.status.code) == 401, "\(end.result)")
    }
}
