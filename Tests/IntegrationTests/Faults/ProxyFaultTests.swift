import TestSupport
import Testing
import Waybill

/// Proxies that work, refuse, break or do not exist.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ProxyFaultTests {
    private let bytes = [UInt8](repeating: 7, count: 300_000)

    private func upload(
        to url: String, over proxy: String, _ configure: (inout TransferOptions) -> Void = { _ in }
    ) async -> Result<UploadResponse, UploadError> {
        var options = UploadOptions()
        options.retry = .none
        options.transfer.proxy = proxy
        configure(&options.transfer)
        do throws(UploadError) {
            return .success(
                try await UploadSession().upload(.data(bytes, contentType: nil), to: url, options: options))
        } catch { return .failure(error) }
    }

    private func failure(_ result: Result<UploadResponse, UploadError>) throws -> UploadError {
        guard case .failure(let error) = result else {
            Issue.record("expected an error, got \(result)")
            throw Unexpected()
        }
        return error
    }

    private struct Unexpected: Error {}

    /// The proxy responds and closes with the body unread. Its RST may cut the response after the head, or discard
    /// all of it if it arrives before a write. A slow machine may therefore need several rounds to see a response.
    private func expectAnswer(to upload: () async throws -> UploadError, _ isStatus: (Int) -> Bool) async throws {
        for _ in 0..<20 {
            let error = try await upload()
            guard error.code == .connectionLost else {
                #expect(error.code == .rejected || error.code == .responseIncomplete, "\(error)")
                #expect(error.attempts.last?.status.map { isStatus($0.code) } == true, "\(error.debugDescription)")
                return
            }
            #expect(error.outcome != .notSent, "\(error)")
        }
        Issue.record("not one of 20 answers was seen")
    }

    @Test func `an upload passes each kind of proxy complete and once`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server)
        let forward = try await ForwardProxy(user: "jo", password: "s3cret")
        let socks = try await SOCKSProxy(user: "jo", password: "s3cret")
        for proxy in [forward.url(user: "jo", password: "s3cret"), socks.url(user: "jo", password: "s3cret")] {
            for url in [server.url(), front.url()] {
                let result = await upload(to: url, over: proxy) { $0.tls.certificateAuthorities = front.authority }
                #expect(try result.get().status == .ok)
            }
        }
        #expect(server.requests.count == 4)
        #expect(server.requests.allSatisfy { $0.isComplete && $0.digest == BodyDigest(of: bytes) })
    }

    @Test func `a proxy that requires a password responds with 407`() async throws {
        let server = try LoopbackServer()
        let proxy = try await ForwardProxy(user: "jo", password: "s3cret")
        try await expectAnswer(to: { try failure(await upload(to: server.url(), over: proxy.url())) }) { $0 == 407 }
        // A refused tunnel receives no byte of the request.
        let tunnelled = try failure(await upload(to: "https://127.0.0.1:\(server.port)/", over: proxy.url()))
        #expect(tunnelled.outcome == .notSent, "\(tunnelled)")
        #expect(tunnelled.sent == 0)
        #expect(server.requests.isEmpty)
    }

    @Test func `a proxy that cannot reach the server reports it`() async throws {
        let port = try ClosedPort()
        let proxy = try await ForwardProxy()
        try await expectAnswer(to: { try failure(await upload(to: port.url(), over: proxy.url())) }) { $0 >= 500 }
        let tunnelled = try failure(await upload(to: "https://127.0.0.1:\(port.port)/", over: proxy.url()))
        #expect(tunnelled.outcome == .notSent, "\(tunnelled)")
    }

    @Test func `a SOCKS proxy that cannot reach the server or refuses the client leaves nothing sent`() async throws {
        let port = try ClosedPort()
        let server = try LoopbackServer()
        let open = try await SOCKSProxy()
        let closed = try await SOCKSProxy(user: "jo", password: "s3cret")
        #expect(try failure(await upload(to: port.url(), over: open.url())).outcome == .notSent)
        #expect(try failure(await upload(to: server.url(), over: closed.url())).outcome == .notSent)
        #expect(server.requests.isEmpty)
    }

    @Test func `a proxy that does not exist fails as cannotConnect`() async throws {
        let port = try ClosedPort()
        for scheme in ["http", "socks5h"] {
            let error = try failure(
                await upload(to: "http://127.0.0.1:9/", over: "\(scheme)://127.0.0.1:\(port.port)"))
            #expect(error.code == .cannotConnect, "\(error)")
            #expect(error.outcome == .notSent)
        }
    }

    @Test(arguments: [
        Behaviour([.close(.reset)]), Behaviour([.close(.finish)]), .truncatedResponse("HTTP/1.1 200 Conn"),
        .truncatedResponse("HTTP/1.1 200 OK\r\n\r\n"),
        .truncatedResponse("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
        .truncatedResponse("nonsense\r\n\r\n"),
    ])
    func `a tunnel that is cut or refused leaves nothing sent`(behaviour: Behaviour) async throws {
        let proxy = try LoopbackServer(behaviour)
        let error = try failure(await upload(to: "https://backend.invalid/", over: proxy.url()))
        #expect(error.outcome == .notSent, "\(error)")
        #expect(error.sent == 0 && error.acknowledged == 0)
        #expect(try await proxy.requestHead(0).method == "CONNECT")
    }

    /// libcurl reads such a response in one call that no timer of Waybill interrupts.
    @Test(arguments: [
        ("Transfer-Encoding: chunked", "10\r\n0123456789abcdef\r\n"),
        ("Content-Length: 99999999999", "0123456789abcdef"),
    ])
    func `a proxy whose response to CONNECT never ends does not block other uploads`(
        field: String, piece: String
    ) async throws {
        let proxy = try LoopbackServer(
            Behaviour([.send(.raw("HTTP/1.1 407 No\r\n\(field)\r\n\r\n")), .sendForever(piece)]))
        let server = try LoopbackServer()
        let session = UploadSession()
        var options = UploadOptions()
        options.retry = .none
        options.transfer.proxy = proxy.url()
        let caught = session.start(.data(bytes), to: "https://backend.invalid/", options: options)
        _ = try await proxy.requestHead(0)
        #expect(try await session.upload(.data(bytes), to: server.url()).status == .ok)
        let error = await #expect(throws: UploadError.self) { try await caught.response }
        #expect(error?.code == .proxyFailed && error?.outcome == .notSent, "\(String(describing: error))")
    }

    @Test func `a tunnel without a response ends at the connect timeout`() async throws {
        let proxy = try LoopbackServer(.neverRespond)
        let error = try failure(
            await upload(to: "https://backend.invalid/", over: proxy.url()) {
                $0.limits.connect = .milliseconds(300)
            })
        #expect(error.code == .connectTimeout)
        #expect(error.outcome == .notSent)
    }

    @Test func `a proxy that dies during an upload leaves it incomplete`() async throws {
        let server = try LoopbackServer(.stall(afterBodyBytes: 100_000), receiveBuffer: .kibibytes(64))
        let proxy = try await SOCKSProxy()
        var options = UploadOptions()
        options.retry = .none
        options.transfer.proxy = proxy.url()
        let folder = try TemporaryDirectory()
        let file = try folder.writeSparse("large.bin", size: 64 << 20)
        let task = UploadSession().start(.file(path: file), to: server.url(), options: options)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
        proxy.kill()
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.code == .connectionLost)
        guard case .incomplete? = error?.outcome else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(server.requests.count == 1)
    }
}
