import TestSupport
import Testing
import Waybill

/// Credentials, exceptions and TLS of proxies, and a proxy loop. None of these options affect a later upload.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ProxyOptionTests {
    private let rig = NetworkRig()
    private let credential = ProxyCredential(user: "jo", password: .secret("s3cr3t"))

    @Test func `a separate credential authenticates to each kind of proxy for one upload`() async throws {
        let server = try LoopbackServer()
        let forward = try await ForwardProxy(user: "jo", password: "s3cr3t")
        let socks = try await SOCKSProxy(user: "jo", password: "s3cr3t")
        for proxy in [forward.url(), socks.url()] {
            let with = await rig.upload(to: server.url()) {
                $0.proxy = proxy
                $0.proxyCredential = credential
            }
            #expect(with.status == 200, "\(with)")
            let without = try #require(await rig.upload(to: server.url()) { $0.proxy = proxy }.error)
            #expect(!"\(without.debugDescription)".contains("s3cr3t"))
        }
        #expect(await rig.upload(to: server.url()).status == 200)
        #expect(server.requests.filter(\.isComplete).count == 3)
        #expect(server.requests.allSatisfy { $0.value(of: "Proxy-Authorization") == nil })
    }

    @Test func `an excepted host bypasses the proxy for one upload`() async throws {
        let server = try LoopbackServer()
        let proxy = try await ForwardProxy()
        for exceptions in [["other.example", "127.0.0.0/8"], [], ["*"], ["127.0.0.2"]] {
            let result = await rig.upload(to: server.url()) {
                $0.proxy = proxy.url()
                $0.proxyExceptions = exceptions
            }
            #expect(result.status == 200, "\(result)")
        }
        #expect(server.requests.map { $0.value(of: "Via") != nil } == [false, true, false, true])
    }

    @Test func `a proxy uses TLS with its own settings`() async throws {
        let server = try LoopbackServer()
        let forward = try await ForwardProxy()
        let front = try await TLSFront(toPort: forward.port)
        let proxy = "https://localhost:" + front.url().split(separator: ":")[2].prefix { $0.isNumber }
        let right = try await front.certificates.pin(of: .valid)
        let wrong = try await front.certificates.pin(of: .expired)
        let trusted = front.authority
        let rounds: [(what: String, code: UploadError.Code?, change: (inout TransferOptions.TLSOptions) -> Void)] = [
            ("authority", nil, { $0.certificateAuthorities = trusted }),
            ("nothing", .certificateNotTrusted, { _ in }),
            ("pin", nil, { ($0.certificateAuthorities, $0.pinnedKeys) = (trusted, [right]) }),
            ("wrong", .certificateNotTrusted, { ($0.certificateAuthorities, $0.pinnedKeys) = (trusted, [wrong]) }),
            ("any", nil, { $0.insecureSkipVerification = true }),
        ]
        for round in rounds {
            let result = await rig.upload(to: server.url()) {
                $0.proxy = proxy
                round.change(&$0.proxyTLS)
            }
            #expect(result.code == round.code, "\(round.what): \(result)")
        }
        // The settings for the server do not apply to the proxy.
        let swapped = await rig.upload(to: server.url()) {
            $0.proxy = proxy
            $0.tls.certificateAuthorities = front.authority
        }
        #expect(swapped.code == .certificateNotTrusted)
        #expect(server.requests.allSatisfy { $0.value(of: "Via") != nil })
    }

    @Test func `a proxy that refuses a tunnel is reported with its status`() async throws {
        let server = try LoopbackServer()
        let proxy = try await ForwardProxy(user: "jo", password: "s3cr3t")
        let refused = try #require(
            await rig.upload(to: "https://127.0.0.1:\(server.port)/") { $0.proxy = proxy.url() }.error)
        #expect(refused.code == .proxyFailed && refused.message.contains("407"), "\(refused)")
        #expect(refused.outcome == .notSent)
        let socks = try await SOCKSProxy(user: "jo", password: "s3cr3t")
        let closed = try #require(await rig.upload(to: server.url()) { $0.proxy = socks.url() }.error)
        #expect(closed.code == .proxyFailed && closed.outcome == .notSent, "\(closed)")
    }

    @Test func `a proxy loop is refused if detectable, and otherwise ends within the limits`()
        async throws
    {
        let proxy = try await ForwardProxy()
        let seen = try #require(await rig.upload(to: proxy.url() + "/up") { $0.proxy = proxy.url() }.error)
        #expect(seen.code == .invalidRequest && seen.outcome == .notSent, "\(seen)")
        let start = ContinuousClock.now
        let hidden = try #require(
            await rig.upload(to: "http://localhost:\(proxy.port)/up") {
                $0.proxy = proxy.url()
                $0.limits.stall = .seconds(2)
                $0.limits.response = .seconds(2)
            }.error)
        #expect(
            [.responseTimeout, .stalled, .rejected, .connectionLost, .responseIncomplete].contains(hidden.code),
            "\(hidden)")
        #expect(.now - start < .seconds(30))
    }
}
