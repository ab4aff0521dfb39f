import TestSupport
import Testing

/// Checks the third-party programs in front of the loopback server with curl, so that a failing test behind them is
/// not their fault.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct HelperServerTests {
    private func curl(_ arguments: String...) async throws -> ChildProcess.Finished {
        try await ChildProcess.run(
            "curl", ["-sS", "--max-time", "20", "-w", "\n%{http_code} %{http_version}"] + arguments)
    }

    @Test func `a TLS front forwards requests`() async throws {
        let server = try LoopbackServer(.respond(200, body: "hello"))
        let front = try await TLSFront(to: server)
        let run = try await curl("--http1.1", "--cacert", front.authority, "-d", "body", front.url("/a"))
        #expect(run.text == "hello\n200 1.1", "\(run.errorText)")
        #expect(try await server.request(0).body == Array("body".utf8))
    }

    @Test(arguments: [Certificates.Leaf.expired, .wrongName, .unknownAuthority])
    func `a bad certificate is presented`(leaf: Certificates.Leaf) async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server, showing: leaf)
        let run = try await curl("--cacert", front.authority, front.url())
        #expect(run.exit == .status(60), "\(run.errorText)")
        let trusting = try await curl("--insecure", "--http1.1", front.url())
        #expect(trusting.text == "\n200 1.1", "\(trusting.errorText)")
    }

    @Test func `a front can be limited to TLS 1_0`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server, speaking: .onlyTLS10)
        let modern = try await curl("--cacert", front.authority, "--tlsv1.2", front.url())
        #expect(modern.exit == .status(35), "\(modern.errorText)")
        let old = try await curl(
            "--cacert", front.authority, "--tlsv1.0", "--tls-max", "1.0", "--ciphers", "ALL:@SECLEVEL=0", front.url())
        #expect(old.text == "\n200 1.1", "\(old.errorText)")
    }

    @Test func `a reset passes through a TLS front`() async throws {
        let server = try LoopbackServer(.closeWithoutResponse(.reset))
        let front = try await TLSFront(to: server)
        let run = try await curl("--http1.1", "--cacert", front.authority, "-d", "body", front.url())
        // Whether an empty reply or a reset is reported depends on the front.
        #expect(run.exit == .status(52) || run.exit == .status(56), "\(run.errorText)")
    }

    @Test func `an HTTP 2 front forwards requests and rejects large bodies`() async throws {
        let server = try LoopbackServer(.respond(200, body: "hello"))
        let front = try await HTTP2Front(to: server)
        let run = try await curl("--http2", "--cacert", front.authority, "-d", "body", front.url("/a"))
        #expect(run.text == "hello\n200 2", "\(run.errorText)")
        #expect(try await server.request(0).body == Array("body".utf8))
        let folder = try TemporaryDirectory()
        let file = try folder.writeSparse("large", size: 2 << 20)
        let refused = try await curl("--http2", "--cacert", front.authority, "-T", file, front.url("/limited"))
        #expect(refused.text.hasSuffix("\n413 2"), "\(refused.errorText)")
        #expect(server.requests.count == 1)
    }

    @Test func `a proxy requires a password and forwards requests`() async throws {
        let server = try LoopbackServer(.respond(200, body: "hello"))
        let proxy = try await ForwardProxy(user: "jo", password: "s3cret")
        let stranger = try await curl("-x", proxy.url(), "-d", "body", server.url("/a"))
        #expect(stranger.text.contains("\n407 1"), "\(stranger.text)")
        let friend = try await curl("-x", proxy.url(user: "jo", password: "s3cret"), "-d", "body", server.url("/a"))
        #expect(friend.text.hasPrefix("hello\n200"), "\(friend.errorText)")
        #expect(server.requests.count == 1)
    }

    @Test func `a SOCKS proxy requires a password and forwards requests`() async throws {
        let server = try LoopbackServer(.respond(200, body: "hello"))
        let proxy = try await SOCKSProxy(user: "jo", password: "s3cret")
        let stranger = try await curl("-x", proxy.url(), "-d", "body", server.url("/a"))
        #expect(stranger.exit == .status(97), "\(stranger.errorText)")
        let friend = try await curl("-x", proxy.url(user: "jo", password: "s3cret"), "-d", "body", server.url("/a"))
        #expect(friend.text == "hello\n200 1.1", "\(friend.errorText)")
    }

    @Test func `a snapshot lists open descriptors and threads`() async throws {
        let folder = try TemporaryDirectory()
        let server = try LoopbackServer(.neverRespond)
        let client = try RawClient(port: server.port)
        let snapshot = ProcessResources.now()
        #expect(snapshot.descriptors.contains { $0.hasPrefix("socket:") })
        #expect(!snapshot.threads.isEmpty)
        withExtendedLifetime((folder, client)) {}
    }
}
