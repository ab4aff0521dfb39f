import HTTPTypes
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

/// The exchange of HTTP/1.1 messages and the reuse of its connections.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct HTTP1TransferTests {
    private let transport = CurlTransport()

    private func run(_ request: TransferRequest) -> Recorder {
        let recorder = Recorder()
        _ = transport.start(request, sink: recorder)
        return recorder
    }

    // MARK: - Reuse

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nextra",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    ])
    func `a connection whose response was ambiguous or final is not used again`(text: String) async throws {
        let server = try LoopbackServer(otherwise: .respond(.raw(text)))
        for _ in 0..<2 {
            let end = await run(.post(server.url(), PatternBody(10))).end()
            #expect(try end.result.get().head.status == .ok)
            #expect(end.metrics.connectionsMade == 1)
        }
        try await server.waitUntil { $0.connections.count == 2 && $0.connections[0].peerEnd != nil }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
    ])
    func `a connection whose response was complete is used again`(text: String) async throws {
        let server = try LoopbackServer(otherwise: .respond(.raw(text)))
        for expected in [1, 0, 0] {
            let end = await run(.post(server.url(), PatternBody(10))).end()
            #expect(throws: Never.self) { try end.result.get() }
            #expect(end.metrics.connectionsMade == expected)
        }
        #expect(server.state.connections.count == 1)
    }

    @Test func `a response that ends with the connection is complete`() async throws {
        let server = try LoopbackServer(
            Behaviour([.read(), .send(.raw("HTTP/1.1 200 OK\r\n\r\nuntil the end")), .close(.finish)]))
        let response = try await run(.post(server.url(), PatternBody(10))).response()
        #expect(String(decoding: response.body, as: UTF8.self) == "until the end")
    }

    @Test func `connections are shared only between requests with equal network options`() async throws {
        let server = try LoopbackServer()
        func made(_ configure: @escaping (inout TransferOptions) -> Void = { _ in }) async -> Int {
            await run(.post(server.url(), PatternBody(10), configure: configure)).end().metrics.connectionsMade
        }
        #expect(await made() == 1)
        #expect(await made { $0.addressFamily = .ipv4 } == 1)
        #expect(await made { $0.tls.pinnedKeys = ["sha256//" + String(repeating: "A", count: 43) + "="] } == 1)
        #expect(await made { $0.rateLimit = .mebibytes(1) } == 0)
        #expect(await made() == 0)
        #expect(server.state.connections.count == 3)
    }

    @Test(arguments: [false, true])
    func `an idle connection that the server closes is closed without another request`(isImmediate: Bool) async throws {
        let gate = Gate()
        if isImmediate { gate.open() }
        let server = try LoopbackServer(
            Behaviour([.read(), .send(ScriptedResponse(200)), .wait(gate), .close(.finish)]))
        _ = try await run(.post(server.url(), PatternBody(10))).response()
        gate.open()
        _ = try await server.peerEnd()
    }

    @Test func `no connection is kept if none may be idle`() async throws {
        let server = try LoopbackServer()
        var configuration = CurlTransport.Configuration()
        configuration.maximumIdleConnections = 0
        let transport = CurlTransport(configuration: configuration)
        for _ in 0..<2 {
            let recorder = Recorder()
            _ = transport.start(.post(server.url(), PatternBody(10)), sink: recorder)
            #expect(await recorder.end().metrics.connectionsMade == 1)
        }
    }

    // MARK: - Messages

    @Test func `a request is written as RFC 9112 requires`() async throws {
        let server = try LoopbackServer()
        let headers: HTTPFields = [HTTPField.Name("X-Empty")!: "", HTTPField.Name("x-Mixed")!: "a  b"]
        let url = server.url("/a/../b%20c?d=e&f=%2F#fragment")
        let request = TransferRequest(method: .put, url: url, headers: headers, body: PatternBody(3))
        _ = try await run(request).response()
        let received = try await server.request(0)
        #expect(received.target == "/a/../b%20c?d=e&f=%2F")
        #expect(received.value(of: "Host") == "127.0.0.1:\(server.port)")
        #expect(received.value(of: "X-Empty") == "")
        #expect(received.lines.contains("x-Mixed: a  b"))
        #expect(received.value(of: "Accept") == "*/*")
        #expect(received.value(of: "Content-Length") == "3")
        #expect(received.value(of: "User-Agent") == nil)
        #expect(server.state.violations.isEmpty)
    }

    @Test(arguments: [
        ("http://Host:80/", "Host", "/"), ("http://host:8080", "host:8080", "/"), ("https://h:443/?", "h", "/?"),
        ("https://[::1]:8443/x", "[::1]:8443", "/x"), ("http://h?q", "h", "/?q"), ("http://h:443/", "h:443", "/"),
    ])
    func `host and path follow from the URL`(url: String, host: String, path: String) throws {
        let parts = try RequestCheck.check(TransferRequest(method: .post, url: url))
        #expect(parts.hostField == host)
        #expect(parts.path == path || parts.path + "?" == path)
    }

    @Test func `libcurl runs what only libcurl implements`() {
        func isOwn(_ url: String, _ change: (inout TransferOptions) -> Void = { _ in }) -> Bool {
            TransferRequest.post(url, configure: change).isForHTTP1Transfer
        }
        #expect(isOwn("http://host/a@b?c=d@e"))
        #expect(isOwn("https://[::1]:1/"))
        #expect(isOwn("https://host/") { $0.proxy = "http://proxy:3128" })
        #expect(isOwn("http://host/") { $0.proxy = "SOCKS5h://proxy" })
        #expect(!isOwn("http://host/") { $0.proxy = "socks-gateway:3128" })
        #expect(isOwn("http://host/") { $0.unixSocket = "/run/front" })
        #expect(!isOwn("http://user@host/"))
        #expect(!isOwn("http://höst/"))
        #expect(!isOwn("http://ho%73t/"))
        #expect(!isOwn("http://host/a b"))
        #expect(!isOwn("http://host/") { $0.proxy = "http://proxy:3128" })
        #expect(!isOwn("https://host/") { $0.httpVersion = .http2 })
        #expect(!isOwn("https://host/") { $0.digest = DigestCredential(user: "u", password: .secret("p")) })
        #expect(!isOwn("https://host/") { $0.curlOptions = [CurlOption("TCP_NODELAY", .number(1))] })
    }

    @Test(arguments: [1, 4_095, 120 << 10, (120 << 10) + 1, 700_000])
    func `chunks of any size arrive`(count: Int) async throws {
        let server = try LoopbackServer()
        let body = PatternBody(count, announcesLength: false)
        let end = await run(.post(server.url(), body)).end()
        #expect(throws: Never.self) { try end.result.get() }
        #expect(try await server.request(0).body == body.bytes)
        #expect(end.evidence.isBodyComplete && end.evidence.sent == Int64(count))
        #expect(server.state.violations.isEmpty)
    }

    @Test func `a large head is sent completely`() async throws {
        let server = try LoopbackServer()
        let value = String(repeating: "x", count: 30_000)
        let headers: HTTPFields = [HTTPField.Name("X-Large")!: value]
        let request = TransferRequest(method: .post, url: server.url(), headers: headers, body: PatternBody(100_000))
        _ = try await run(request).response()
        #expect(try await server.request(0).value(of: "X-Large") == value)
    }

    @Test(arguments: [64 << 10, 100_000]) func `the counters of a request exclude earlier ones`(count: Int) async throws
    {
        let server = try LoopbackServer(.respond(200), .closeDuringRequest(.reset))
        _ = try await run(.post(server.url(), PatternBody(count))).response()
        let end = await run(.post(server.url(), PatternBody(32 << 20))).end()
        #expect(end.evidence.isConnectionReused)
        #expect(end.evidence.acknowledged <= end.evidence.sent && end.evidence.sent < 32 << 20)
    }

    /// The reader wakes the transfer while the socket accepts nothing, and never again.
    @Test func `a wake-up while the socket is full is not lost`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 100_000, until: gate), receiveBuffer: .kibibytes(64),
            keepsBodies: false)
        let body = PiecewiseBody(pieces: 200, of: 100_000)
        let recorder = run(.post(server.url(), body))
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
        let other = try LoopbackServer()
        for _ in 0..<5 { _ = try await run(.post(other.url(), PatternBody(10))).response() }
        gate.open()
        #expect(try await recorder.response().head.status == .ok)
        #expect(try await server.request(0).bodyBytesRead == 20_000_000)
    }

    @Test func `after an early rejection, only the response limit applies`() async throws {
        let head = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\n"
        for count in [0, 1 << 20] {
            let server = try LoopbackServer(
                Behaviour([.read(count), .send(.raw(head)), .hold]), receiveBuffer: .kibibytes(64))
            let request = TransferRequest.post(server.url(), PatternBody(32 << 20)) { options in
                options.expectContinue = count == 0 ? .above(.bytes(0), wait: .seconds(50)) : .never
                options.limits.response = .milliseconds(300)
            }
            let error = try await run(request).failure()
            #expect(error.code == .responseTimeout)
            #expect(error.status?.code == 401)
            #expect(error.outcome == .rejected)
        }
    }

    @Test func `a rejection that ends with the connection arrives although the server reads to the end`() async throws {
        let head = "HTTP/1.1 413 Content Too Large\r\n\r\ntoo large"
        let server = try LoopbackServer(
            Behaviour([.read(1 << 20), .send(.raw(head)), .read(), .close(.finish)]), keepsBodies: false)
        let response = try await run(.post(server.url(), PatternBody(32 << 20))).response()
        #expect(response.head.status.code == 413)
        #expect(String(decoding: response.body, as: UTF8.self) == "too large")
    }

    @Test func `an unexpected switch of protocols is malformed`() async throws {
        let server = try LoopbackServer(.respond(.raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")))
        let error = try await run(.post(server.url(), PatternBody(10))).failure()
        #expect(error.code == .malformedResponse)
    }
}

/// A body whose reader has no bytes after each piece, and wakes the transfer immediately.
private struct PiecewiseBody: UploadBody {
    let length: Int64?
    let isReplayable = true
    private let piece: Int

    init(pieces: Int, of piece: Int) {
        length = Int64(pieces * piece)
        self.piece = piece
    }

    func makeReader(wake: @escaping @Sendable () -> Void) -> any BodyReader {
        Reader(Int(length!), piece: piece, wake: wake)
    }

    private final class Reader: BodyReader {
        private var remaining: Int
        private let piece: Int
        private let wake: @Sendable () -> Void
        private var isPauseDue = false

        init(_ count: Int, piece: Int, wake: @escaping @Sendable () -> Void) {
            remaining = count
            self.piece = piece
            self.wake = wake
        }

        func read(into output: inout OutputRawSpan) -> BodyRead {
            guard remaining > 0 else { return .end }
            guard !isPauseDue else {
                isPauseDue = false
                wake()
                return .later
            }
            let count = min(piece, remaining, output.freeCapacity)
            for _ in 0..<count { output.append(1) }
            remaining -= count
            isPauseDue = true
            return .bytes(count)
        }

        func close() {}
    }
}
