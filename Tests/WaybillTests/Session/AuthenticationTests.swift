import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct AuthenticationTests {
    private func options(_ authentication: Authentication, _ retry: RetryPolicy = .none) -> UploadOptions {
        UploadOptions(retry: retry, authentication: authentication)
    }

    private func start(
        _ session: UploadSession, _ url: String, _ authentication: Authentication, headers: HTTPFields = [:]
    ) -> UploadTask {
        session.start(
            UploadRequest(
                .post, url, headers: headers, content: .data([UInt8](repeating: 7, count: 1_000)),
                options: options(authentication)))
    }

    @Test func `Basic and Bearer credentials are sent with the first request`() async throws {
        let server = try LoopbackServer()
        let session = UploadSession()
        _ = try await start(session, server.url(), .basic(user: "Aladdin", password: .secret("open sesame"))).response
        _ = try await start(session, server.url(), .basic(user: "test", password: .secret("123£"))).response
        _ = try await start(session, server.url(), .bearer(.secret("t0ken"))).response
        let sent = server.requests.map { $0.value(of: "Authorization") }
        #expect(sent == ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Basic dGVzdDoxMjPCow==", "Bearer t0ken"])
    }

    @Test(arguments: [
        Authentication.basic(user: "a:b", password: .secret("c")), .digest(user: "a", password: .secret("b\0")),
        .basic(user: "a", password: .secret("b\n")),
        .bearer(.secret("a\r\nX: y")),
    ])
    func `credentials with invalid characters are refused before sending`(
        authentication: Authentication
    ) async throws {
        let world = SessionWorld([.responding(.ok)])
        let error = try #require(await start(world.session, SessionWorld.url, authentication).error())
        #expect(error.code == .invalidRequest)
        #expect(world.transport.transfers.isEmpty)
    }

    @Test func `a credential echoed in the reason phrase is redacted`() async throws {
        let server = try LoopbackServer(
            otherwise: .respond(.raw("HTTP/1.1 403 no t0ken-of-clerk here\r\nContent-Length: 0\r\n\r\n")))
        let task = start(UploadSession(), server.url(), .bearer(.secret("t0ken-of-clerk")))
        let error = try #require(await task.error())
        #expect("\(error)".contains("no <redacted> here"))
        #expect(!"\(error) \(error.attempts) \(error.response as Any)".contains("t0ken-of-clerk"))
    }

    /// RFC 7616, with a nonce that becomes stale while the body is sent.
    @Test func `Digest answers a challenge, and a second one if the nonce is stale`() async throws {
        func challenge(_ nonce: String, _ more: String = "") -> Behaviour {
            let value = "Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=SHA-256\(more)"
            return .respond(401, headers: [("WWW-Authenticate", value)])
        }
        let server = try LoopbackServer(
            challenge("1"), challenge("2", ", stale=true"), challenge("3"), .respond(200))
        let response = try await start(
            UploadSession(), server.url(), .digest(user: "clerk", password: .secret("pa55word"))
        ).response
        #expect(response.status == .ok)
        #expect(response.attempts.map(\.disposition) == [.freshCredential, .end])
        #expect(server.requests.map { $0.body.count } == [0, 1_000, 0, 1_000])
        #expect(server.requests[3].value(of: "Authorization")?.contains("nonce=\"3\"") == true)
        #expect(!server.requests.map { $0.lines.joined() }.joined().contains("pa55word"))
    }

    @Test func `a wrong Digest password fails without a second attempt`() async throws {
        let value = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
        let server = try LoopbackServer(otherwise: .respond(401, headers: [("WWW-Authenticate", value)]))
        let task = start(UploadSession(), server.url(), .digest(user: "clerk", password: .secret("wrong")))
        let error = try #require(await task.error())
        #expect(error.code == .rejected)
        #expect(error.attempts.count == 1)
        #expect(server.requests.count == 2)
    }

    @Test func `Digest credentials are not sent to another origin`() async throws {
        let home = try LoopbackServer()
        let other = try LoopbackServer()
        let value = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
        home.route("/a", .respond(307, headers: [("Location", other.url("/b"))]))
        other.route("/b", .respond(401, headers: [("WWW-Authenticate", value)]))
        let task = start(UploadSession(), home.url("/a"), .digest(user: "clerk", password: .secret("pa55word")))
        #expect(try #require(await task.error()).code == .rejected)
        #expect(other.requests.map { $0.body.count } == [1_000])
        #expect(try await other.request(0).value(of: "Authorization") == nil)
    }

    @Test func `a user in the URL with other credentials is refused`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let task = start(
            world.session, "https://a:b@backend.example/", .digest(user: "clerk", password: .secret("pa55word")))
        #expect(try #require(await task.error()).code == .invalidRequest)
    }

    @Test func `two credentials in one request are refused`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let task = start(world.session, SessionWorld.url, .bearer(.secret("t")), headers: [.authorization: "Basic x"])
        #expect(try #require(await task.error()).code == .invalidRequest)
    }

    @Test func `credentials are never printed`() async throws {
        let world = SessionWorld([.responding(.unauthorized)])
        let authentication = Authentication.basic(user: "cl3rk", password: .secret("pa55word"))
        let error = try #require(await start(world.session, SessionWorld.url, authentication).error())
        var text = "\(error) \(String(reflecting: error)) \(options(authentication))"
        dump(options(authentication), to: &text)
        for secret in ["cl3rk", "pa55word", "Y2wzcms"] { #expect(!text.contains(secret), "\(text)") }
    }

    @Test func `a bearer token is not sent to another origin`() async throws {
        let home = try LoopbackServer()
        let other = try LoopbackServer()
        home.route("/a", .respond(307, headers: [("Location", other.url("/b"))]))
        _ = try await start(UploadSession(), home.url("/a"), .bearer(.secret("t0ken"))).response
        #expect(try await home.request(0).value(of: "Authorization") == "Bearer t0ken")
        #expect(try await other.request(0).value(of: "Authorization") == nil)
    }

    @Test func `twenty uploads with an expired token refresh it once`() async throws {
        let fetches = Watched(0)
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) {
            fetches.update { $0 += 1 }
            return BearerToken(.secret("new"))
        }
        let transport = ScriptedTransport { request, _ in
            request.headers[.authorization] == "Bearer new" ? .responding(.ok) : .responding(.unauthorized)
        }
        let world = SessionWorld(transport, slots: 20, slotsPerHost: 20)
        let tasks = (0..<20).map { _ in start(world.session, SessionWorld.url, .refreshing(refresher)) }
        for task in tasks {
            let response = try await task.response
            if response.attempts.count == 2 { #expect(response.attempts[0].disposition == .freshCredential) }
        }
        #expect(fetches.value == 1)
    }

    @Test func `twenty uploads over libcurl refresh the token once`() async throws {
        let server = try LoopbackServer()
        for _ in 0..<20 { server.script(.respond(401)) }
        let fetches = Watched(0)
        // The new token arrives after the old one was rejected for all uploads.
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) {
            fetches.update { $0 += 1 }
            try await server.waitUntil { $0.requests.count == 20 }
            return BearerToken(.secret("new"))
        }
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = 20
        configuration.maximumConcurrentTransfersPerHost = 20
        let session = UploadSession(configuration: configuration)
        let tasks = (0..<20).map { _ in start(session, server.url(), .refreshing(refresher)) }
        for task in tasks { #expect(try await task.response.attempts.count == 2) }
        #expect(fetches.value == 1)
        let tokens = server.requests.map { $0.value(of: "Authorization") }
        #expect(
            tokens.prefix(20).allSatisfy { $0 == "Bearer old" } && tokens.suffix(20).allSatisfy { $0 == "Bearer new" })
    }

    @Test func `a late 401 uses the token already refreshed`() async throws {
        let fetches = Watched(0)
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) {
            fetches.update { $0 += 1 }
            return BearerToken(.secret("new"))
        }
        let gate = ScriptGate()
        let transport = ScriptedTransport { request, number in
            if request.headers[.authorization] == "Bearer new" { return .responding(.ok) }
            return number == 0
                ? [.connect, .receiveRest, .wait(gate), .respond(.unauthorized)] : .responding(.unauthorized)
        }
        let world = SessionWorld(transport)
        let late = start(world.session, SessionWorld.url, .refreshing(refresher))
        await gate.arrivals(atLeast: 1)
        _ = try await start(world.session, SessionWorld.url, .refreshing(refresher)).response
        gate.open()
        #expect(try await late.response.attempts.count == 2)
        #expect(fetches.value == 1)
    }

    @Test func `a refreshed token that is rejected fails the upload`() async throws {
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) { BearerToken(.secret("new")) }
        let world = SessionWorld([.responding(.unauthorized)])
        let error = try #require(await start(world.session, SessionWorld.url, .refreshing(refresher)).error())
        #expect(error.code == .rejected)
        #expect(error.response?.status == .unauthorized)
        #expect(world.transport.transfers.count == 2)
    }

    @Test func `a failed refresh is reported with its cause`() async throws {
        struct RefreshError: Error {}
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) { throw RefreshError() }
        let world = SessionWorld([.responding(.unauthorized)])
        let error = try #require(await start(world.session, SessionWorld.url, .refreshing(refresher)).error())
        #expect(error.code == .credentialRefreshFailed)
        #expect(error.cause is RefreshError)
        #expect(error.outcome == .rejected)
        #expect(error.response?.status == .unauthorized)

        let none = BearerRefresher { throw RefreshError() }
        let before = try #require(await start(world.session, SessionWorld.url, .refreshing(none)).error())
        #expect(before.code == .credentialRefreshFailed)
        #expect(before.phase == .preparing)
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `a cancel during a refresh ends its upload immediately, and others get the token`()
        async throws
    {
        let gate = Watched(false)
        let fetches = Watched(0)
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) {
            fetches.update { $0 += 1 }
            try await gate.waitUntil { $0 }
            return BearerToken(.secret("new"))
        }
        let transport = ScriptedTransport { request, _ in
            request.headers[.authorization] == "Bearer new" ? .responding(.ok) : .responding(.unauthorized)
        }
        let world = SessionWorld(transport)
        let tasks = (0..<2).map { _ in start(world.session, SessionWorld.url, .refreshing(refresher)) }
        for task in tasks { await task.reaches(.retrying) }
        try await fetches.waitUntil { $0 == 1 }
        tasks[0].cancel()
        let error = try #require(await tasks[0].error())
        #expect(error.code == .cancelled)
        #expect(error.outcome == .rejected)
        gate.update { $0 = true }
        #expect(try await tasks[1].response.status == .ok)
        #expect(fetches.value == 1)
    }

    @Test func `a token that expires soon is refreshed before it is sent`() async throws {
        let clock = ManualClock()
        let fetches = Watched(0)
        let refresher = BearerRefresher(margin: .seconds(30), clock: clock) {
            fetches.update { $0 += 1 }
            return BearerToken(.secret("token\(fetches.value)"), validFor: .seconds(100))
        }
        let world = SessionWorld([.responding(.ok)])
        for time in [0, 69, 1] {
            clock.advance(by: .seconds(time))
            _ = try await start(world.session, SessionWorld.url, .refreshing(refresher)).response
        }
        #expect(fetches.value == 2)
        #expect(Set(world.transport.transfers.map { $0.request.headers[.authorization] }).count == 2)
    }
}
