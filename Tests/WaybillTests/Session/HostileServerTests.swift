import TestSupport
import Testing
import Waybill

/// Misbehaving servers, seen by a session.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct HostileServerTests {
    private var options: UploadOptions {
        var options = UploadOptions()
        options.authentication = .digest(user: "clerk", password: .secret("pw"))
        options.retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(1))
        return options
    }

    @Test func `the empty request for a challenge has no idempotency key`() async throws {
        // A server that stores keys without asking for credentials would repeat its response to the empty request.
        let server = try LoopbackServer(otherwise: .respond(200))
        _ = try await UploadSession().upload([.text("a", "1")], to: server.url(), options: options)
        #expect(server.requests.map(\.body.isEmpty) == [true, false])
        #expect(try await server.request(0).value(of: "Idempotency-Key") == nil)
        #expect(try await server.request(1).value(of: "Idempotency-Key") != nil)
    }

    @Test func `a server that reports every nonce as stale gets the body at most twice`() async throws {
        let value = "Digest realm=\"r\", qop=\"auth\", nonce=\"n\", stale=true"
        let server = try LoopbackServer(otherwise: .respond(401, headers: [("WWW-Authenticate", value)], body: "no"))
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(.data([1, 2, 3]), to: server.url(), options: options)
        }
        #expect(error?.response?.status.code == 401)
        #expect(server.requests.count { !$0.body.isEmpty } <= 2, "\(server.requests.map { $0.body.count })")
    }

    @Test func `a challenge after a redirect to another origin is not answered`() async throws {
        let value = "Digest realm=\"r\", qop=\"auth\", nonce=\"n\""
        let other = try LoopbackServer(otherwise: .respond(401, headers: [("WWW-Authenticate", value)]))
        let server = try LoopbackServer(otherwise: .respond(307, headers: [("Location", other.url("/b"))]))
        _ = try? await UploadSession().upload(.data([1, 2, 3]), to: server.url(), options: options)
        #expect(!other.requests.isEmpty)
        #expect(other.requests.allSatisfy { $0.value(of: "Authorization") == nil })
    }

    @Test func `a combining mark in the path does not send the password to another host`() async throws {
        let evil = try LoopbackServer(otherwise: .respond(200))
        let good = try LoopbackServer(otherwise: .respond(307, headers: [("Location", evil.url("/stolen"))]))
        var options = UploadOptions()
        options.authentication = .basic(user: "clerk", password: .secret("s3cret"))
        // For libcurl it is a path of the first host; code that searches for the Character "/" sees a user name at
        // the second host.
        let url = good.url("/\u{301}@127.0.0.1:\(evil.port)/card.jpg")
        _ = try? await UploadSession().upload(.data([1, 2, 3]), to: url, options: options)
        #expect(!good.requests.isEmpty)
        #expect(evil.requests.allSatisfy { $0.value(of: "Authorization") == nil }, "\(evil.requests.map(\.lines))")
    }

    @Test func `endless 103 responses end at the response limit`() async throws {
        let server = try LoopbackServer(
            otherwise: Behaviour([.read(), .sendForever("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")]))
        var options = UploadOptions(retry: .none)
        options.transfer.limits.response = .seconds(1)
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(.data([1, 2, 3]), to: server.url(), options: options)
        }
        #expect(error?.outcome == .unknown, "\(String(describing: error))")
    }
}
