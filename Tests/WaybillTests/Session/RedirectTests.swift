import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

/// Redirects over libcurl and socket servers.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct RedirectTests {
    private let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

    private func start(
        _ url: String, headers: HTTPFields = [:], content: UploadContent? = nil,
        redirects: RedirectPolicy = .standard
    ) -> UploadTask {
        var options = UploadOptions(retry: .none, redirects: redirects)
        options.secretFields = [HTTPField.Name("X-Api-Key")!]
        let request = UploadRequest(.post, url, headers: headers, content: content ?? .data(bytes), options: options)
        return UploadSession().start(request)
    }

    @Test(arguments: [307, 308])
    func `307 and 308 send the body again byte for byte`(status: Int) async throws {
        let server = try LoopbackServer(.respond(status, headers: [("Location", "../there?x=1")]), .respond(201))
        let response = try await start(server.url("/a/b"), headers: [.authorization: "Bearer t"]).response
        #expect(response.status == .created)
        let first = try await server.request(0)
        let second = try await server.request(1)
        #expect(second.target == "/there?x=1")
        #expect(second.method == "POST")
        #expect(first.digest == BodyDigest(of: bytes))
        #expect(second.digest == first.digest)
        #expect(second.value(of: "Authorization") == "Bearer t")
        #expect(second.value(of: "Idempotency-Key") == first.value(of: "Idempotency-Key"))
        #expect(response.redirects.map(\.url) == [server.url("/there?x=1")])
        #expect(response.attempts.map(\.disposition) == [.redirect(to: server.url("/there") + "?<redacted>"), .end])
    }

    @Test func `an early redirect sends the whole body to the new location`() async throws {
        let answer = ScriptedResponse(307, headers: [("Location", "/there"), ("Connection", "close")])
        let server = try LoopbackServer(.early(answer, then: .close(.finish)), .respond(200), keepsBodies: false)
        let large = [UInt8](repeating: 9, count: 6_000_000)
        let response = try await start(server.url(), content: .data(large)).response
        #expect(response.status == .ok)
        #expect(try await server.request(1).digest == BodyDigest(of: large))
    }

    @Test func `credentials are dropped on cross-origin redirects and not restored`() async throws {
        let home = try LoopbackServer()
        let other = try LoopbackServer()
        let otherURL = other.url("/b", host: TestHost.loopback("redirect"))
        home.route("/a", .respond(307, headers: [("Location", otherURL)]))
        other.route("/b", .respond(307, headers: [("Location", home.url("/c"))]))
        let secrets: HTTPFields = [
            .authorization: "Bearer t0ken", .cookie: "a=b", .proxyAuthorization: "Basic eA==",
            HTTPField.Name("X-Api-Key")!: "k3y", HTTPField.Name("X-Unknown")!: "t0ken", .acceptLanguage: "de",
        ]
        let response = try await start(home.url("/a"), headers: secrets).response
        let requests = [try await home.request(0), try await other.request(0), try await home.request(1)]
        #expect(requests[0].value(of: "Authorization") == "Bearer t0ken")
        #expect(requests[0].value(of: "X-Api-Key") == "k3y")
        for request in requests.dropFirst() {
            for name in ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "X-Unknown"] {
                #expect(request.value(of: name) == nil, "\(name) went to \(request.target)")
            }
            #expect(request.value(of: "Accept-Language") == "de")
            #expect(request.digest == BodyDigest(of: bytes))
        }
        #expect(response.redirects.map(\.droppedCredentials) == [true, true])
    }

    @Test func `a trusted location gets header fields, but not the password of the URL`() async throws {
        let home = try LoopbackServer()
        let other = try LoopbackServer()
        home.route("/a", .respond(307, headers: [("Location", other.url("/b"))]))
        let headers: HTTPFields = [HTTPField.Name("X-Api-Key")!: "k3y"]
        let response = try await start(
            "http://me:pw@127.0.0.1:\(home.port)/a", headers: headers,
            redirects: RedirectPolicy(keepsCredentials: true)
        ).response
        let request = try await other.request(0)
        #expect(request.value(of: "X-Api-Key") == "k3y" && request.value(of: "Authorization") == nil)
        #expect(response.redirects.map(\.droppedCredentials) == [false])
    }

    @Test func `user and password of the URL are dropped on cross-origin redirects`() async throws {
        let home = try LoopbackServer()
        let other = try LoopbackServer()
        home.route("/a", .respond(307, headers: [("Location", "/b")]))
        home.route("/b", .respond(307, headers: [("Location", other.url("/c"))]))
        let url = "http://me:pw@127.0.0.1:\(home.port)/a"
        _ = try await start(url).response
        #expect(try await home.request(1).value(of: "Authorization") == "Basic bWU6cHc=")
        #expect(try await other.request(0).value(of: "Authorization") == nil)
    }

    @Test func `303 becomes a GET without body, content type and key`() async throws {
        let server = try LoopbackServer(
            .respond(303, headers: [("Location", "/receipt")]), .respond(200, body: "stored"))
        let response = try await start(server.url(), content: .data(bytes, contentType: "image/jpeg")).response
        #expect(response.text == "stored")
        let second = try await server.request(1)
        #expect(second.method == "GET")
        #expect(second.bodyBytesRead == 0)
        for name in ["Content-Type", "Content-Length", "Idempotency-Key"] { #expect(second.value(of: name) == nil) }
    }

    @Test func `a failure after 303 has an unknown outcome`() async throws {
        let server = try LoopbackServer(.respond(303, headers: [("Location", "/receipt")]), .respond(404))
        let error = try #require(await start(server.url()).error())
        #expect(error.code == .rejected)
        #expect(error.outcome == .unknown)
        #expect(error.redirects.count == 1)
    }

    @Test func `301 and 302 after a body fail with redirectWouldDropBody`() async throws {
        let server = try LoopbackServer(otherwise: .respond(302, headers: [("Location", "/new")]))
        let error = try #require(await start(server.url()).error())
        #expect(error.code == .redirectWouldDropBody)
        #expect(error.outcome == .rejected)
        #expect(error.response?.headers[.location] == "/new")
        #expect(server.requests.count == 1)
    }

    @Test func `the redirect policy decides between GET, resending and returning`() async throws {
        let server = try LoopbackServer()
        server.route("/old", .respond(302, headers: [("Location", "/new")]))
        _ = try await start(server.url("/old"), redirects: .asGET).response
        _ = try await start(server.url("/old"), redirects: .resend).response
        #expect(server.requests.filter { $0.path == "/new" }.map(\.method) == ["GET", "POST"])
        let error = try #require(await start(server.url("/old"), redirects: .returned).error())
        #expect(error.code == .rejected)
        #expect(error.message.contains("a redirect to \(server.url("/new")). Redirects are not followed."))
        #expect(error.response?.status == .found)
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "http:", "//", "gopher://127.0.0.1:70/x"])
    func `only http redirects are followed`(location: String) async throws {
        let server = try LoopbackServer(otherwise: .respond(307, headers: [("Location", location)]))
        let error = try #require(await start(server.url()).error())
        #expect(error.code == .redirectRefused)
        #expect(error.outcome == .rejected)
        #expect(server.requests.count == 1)
    }

    @Test func `redirect loops and too many redirects end the upload`() async throws {
        let server = try LoopbackServer()
        server.route("/a", .respond(307, headers: [("Location", "/b")]))
        server.route("/b", .respond(307, headers: [("Location", "/a")]))
        let circle = try #require(await start(server.url("/a")).error())
        #expect(circle.code == .redirectLoop)
        #expect(circle.redirects.count == 1)
        for number in 0..<9 { server.route("/\(number)", .respond(307, headers: [("Location", "/\(number + 1)")])) }
        let endless = try #require(await start(server.url("/0")).error())
        #expect(endless.code == .tooManyRedirects)
        #expect(endless.redirects.count == 5)
        #expect(endless.attempts.count == 6)
    }

    @Test func `a redirected stream fails as bodyNotReplayable`() async throws {
        let server = try LoopbackServer(otherwise: .respond(307, headers: [("Location", "/there")]))
        let stream = AsyncStream<[UInt8]> { continuation in
            continuation.yield([1, 2, 3])
            continuation.finish()
        }
        let error = try #require(await start(server.url(), content: .stream(stream, length: 3)).error())
        #expect(error.code == .bodyNotReplayable)
        #expect(error.message.contains("/there"))
    }

    @Test func `https is not redirected to http`() async throws {
        let world = SessionWorld([.responding(.permanentRedirect, headers: [.location: "http://backend.example/"])])
        let error = try #require(await world.start(to: "https://backend.example/").error())
        #expect(error.code == .redirectRefused)
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `a retry after a redirect goes to the new location`() async throws {
        let world = SessionWorld([
            .responding(.temporaryRedirect, headers: [.location: "http://b.example/x"]),
            .responding(.serviceUnavailable),
            .responding(.ok),
        ])
        let task = world.start()
        await world.clock.sleepers(atLeast: 1)
        world.clock.advance(by: .seconds(60))
        let response = try await task.response
        #expect(world.transport.transfers.map(\.request.url).suffix(2) == ["http://b.example/x", "http://b.example/x"])
        #expect(world.transport.transfers.map(\.body.count) == [100, 100, 100])
        #expect(response.redirects.count == 1)
    }
}
