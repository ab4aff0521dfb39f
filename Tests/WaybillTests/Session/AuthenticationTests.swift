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

    @Test func `Basic and Bearer go out with the first request`() async throws {
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
    func `what can't stand in a header field is refused before anything is sent`(
        authentication: Authentication
    ) async throws {
        let world = SessionWorld([.answering(.ok)])
        let error = try #require(await start(world.session, SessionWorld.url, authentication).error())
        #expect(error.code == .invalidRequest)
        #expect(world.transport.transfers.isEmpty)
    }

    @Test func `a server that writes the credential into its reason phrase can't make it printed`() async throws {
        let server = try LoopbackServer(
            otherwise: .respond(.raw("HTTP/1.1 403 no t0ken-of-clerk here\r\nContent-Length: 0\r\n\r\n")))
        let task = start(UploadSession(), server.url(), .bearer(.secret("t0ken-of-clerk")))
        let error = try #require(await task.error())
        #expect("\(error)".contains("no <redacted> here"))
        #expect(!"\(error) \(error.attempts) \(error.response as Any)".contains("t0ken-of-clerk"))
    }

    /// RFC 7616, with a nonce that grows old while the body is on its way.
    @Test func `Digest answers a challenge, and once more when the challenge had grown old`() async throws {
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
        #expect(response.attempts.map(\.sequel) == [.freshCredential, .end])
        #expect(server.requests.map { $0.body.count } == [0, 1_000, 0, 1_000])
        #expect(server.requests[3].value(of: "Authorization")?.contains("nonce=\"3\"") == true)
        #expect(!server.requests.map { $0.lines.joined() }.joined().contains("pa55word"))
    }

    @Test func `a wrong Digest password is refused, and not tried again`() async throws {
        let value = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
        let server = try LoopbackServer(otherwise: .respond(401, headers: [("WWW-Authenticate", value)]))
        let task = start(UploadSession(), server.url(), .digest(user: "clerk", password: .secret("wrong")))
        let error = try #require(await task.error())
        #expect(error.code == .rejected)
        #expect(error.attempts.count == 1)
        #expect(server.requests.count == 2)
    }

    @Test func `Digest stays with its origin`() async throws {
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

    @Test func `a user in the URL beside other credentials is refused`() async throws {
        let world = SessionWorld([.answering(.ok)])
        let task = start(
            world.session, "https://a:b@backend.example/", .digest(user: "clerk", password: .secret("pa55word")))
        #expect(try #require(await task.error()).code == .invalidRequest)
    }

    @Test func `one request has one credential`() async throws {
        let world = SessionWorld([.answering(.ok)])
        let task = start(world.session, SessionWorld.url, .bearer(.secret("t")), headers: [.authorization: "Basic x"])
        #expect(try #require(await task.error()).code == .invalidRequest)
    }

    @Test func `credentials are printed nowhere`() async throws {
        let world = SessionWorld([.answering(.unauthorized)])
        let authentication = Authentication.basic(user: "cl3rk", password: .secret("pa55word"))
        let error = try #require(await start(world.session, SessionWorld.url, authentication).error())
        var text = "\(error) \(String(reflecting: error)) \(options(authentication))"
        dump(options(authentication), to: &text)
        for secret in ["cl3rk", "pa55word", "Y2wzcms"] { #expect(!text.contains(secret), "\(text)") }
    }

    @Test func `the credential stays with its origin`() async throws {
        let home = try LoopbackServer()
        let other = try LoopbackServer()
        home.route("/a", .respond(307, headers: [("Location", other.url("/b"))]))
        _ = try await start(UploadSession(), home.url("/a"), .bearer(.secret("t0ken"))).response
        #expect(try await home.request(0).value(of: "Authorization") == "Bearer t0ken")
        #expect(try await other.request(0).value(of: "Authorization") == nil)
    }

    @Test func `twenty uploads with an old token make one refresh`() async throws {
        let fetches = Watched(0)
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) {
            fetches.update { $0 += 1 }
            return BearerToken(.secret("new"))
        }
        let transport = ScriptedTransport { request, _ in
            request.headers[.authorization] == "Bearer new" ? .answering(.ok) : .answering(.unauthorized)
        }
        let world = SessionWorld(transport, slots: 20, slotsPerHost: 20)
        let tasks = (0..<20).map { _ in start(world.session, SessionWorld.url, .refreshing(refresher)) }
        for task in tasks {
            let response = try await task.response
            if response.attempts.count == 2 { #expect(response.attempts[0].sequel == .freshCredential) }
        }
        #expect(fetches.value == 1)
    }

    @Test func `twenty uploads over libcurl make one refresh too`() async throws {
        let server = try LoopbackServer()
        for _ in 0..<20 { server.script(.respond(401)) }
        let fetches = Watched(0)
        // The new token comes when the old one has been refused to all.
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) {
            fetches.update { $0 += 1 }
            try await server.waitUntil { $0.requests.count == 20 }
            return BearerToken(.secret("new"))
        }
        var configuration = UploadSession.Configuration()
        configuration.slots = 20
        configuration.slotsPerHost = 20
        let session = UploadSession(configuration: configuration)
        let tasks = (0..<20).map { _ in start(session, server.url(), .refreshing(refresher)) }
        for task in tasks { #expect(try await task.response.attempts.count == 2) }
        #expect(fetches.value == 1)
        let tokens = server.requests.map { $0.value(of: "Authorization") }
        #expect(
            tokens.prefix(20).allSatisfy { $0 == "Bearer old" } && tokens.suffix(20).allSatisfy { $0 == "Bearer new" })
    }

    @Test func `a late 401 takes the token that is there`() async throws {
        let fetches = Watched(0)
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) {
            fetches.update { $0 += 1 }
            return BearerToken(.secret("new"))
        }
        let gate = ScriptGate()
        let transport = ScriptedTransport { request, number in
            if request.headers[.authorization] == "Bearer new" { return .answering(.ok) }
            return number == 0 ? [.connect, .takeRest, .wait(gate), .answer(.unauthorized)] : .answering(.unauthorized)
        }
        let world = SessionWorld(transport)
        let late = start(world.session, SessionWorld.url, .refreshing(refresher))
        await gate.arrivals(atLeast: 1)
        _ = try await start(world.session, SessionWorld.url, .refreshing(refresher)).response
        gate.open()
        #expect(try await late.response.attempts.count == 2)
        #expect(fetches.value == 1)
    }

    @Test func `a fresh token that is refused as well is the end`() async throws {
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) { BearerToken(.secret("new")) }
        let world = SessionWorld([.answering(.unauthorized)])
        let error = try #require(await start(world.session, SessionWorld.url, .refreshing(refresher)).error())
        #expect(error.code == .rejected)
        #expect(error.response?.status == .unauthorized)
        #expect(world.transport.transfers.count == 2)
    }

    @Test func `a refresh that fails is told with its cause`() async throws {
        struct NoWay: Error {}
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) { throw NoWay() }
        let world = SessionWorld([.answering(.unauthorized)])
        let error = try #require(await start(world.session, SessionWorld.url, .refreshing(refresher)).error())
        #expect(error.code == .credentialRefreshFailed)
        #expect(error.cause is NoWay)
        #expect(error.outcome == .rejected)
        #expect(error.response?.status == .unauthorized)

        let none = BearerRefresher { throw NoWay() }
        let before = try #require(await start(world.session, SessionWorld.url, .refreshing(none)).error())
        #expect(before.code == .credentialRefreshFailed)
        #expect(before.phase == .preparing)
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `a cancel while the token is fetched ends the upload at once, and the others get their token`()
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
            request.headers[.authorization] == "Bearer new" ? .answering(.ok) : .answering(.unauthorized)
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

    @Test func `a token that is about to run out is renewed before it is sent`() async throws {
        let clock = ManualClock()
        let fetches = Watched(0)
        let refresher = BearerRefresher(margin: .seconds(30), clock: clock) {
            fetches.update { $0 += 1 }
            return BearerToken(.secret("token\(fetches.value)"), validFor: .seconds(100))
        }
        let world = SessionWorld([.answering(.ok)])
        for time in [0, 69, 1] {
            clock.advance(by: .seconds(time))
            _ = try await start(world.session, SessionWorld.url, .refreshing(refresher)).response
        }
        #expect(fetches.value == 2)
        #expect(Set(world.transport.transfers.map { $0.request.headers[.authorization] }).count == 2)
    }
}
