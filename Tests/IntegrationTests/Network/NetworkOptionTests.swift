import TestSupport
import Testing
import Waybill

/// Unix sockets, address families, options of libcurl and transfer metrics. None of these options affect a later
/// upload.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct NetworkOptionTests {
    private let rig = NetworkRig()

    @Test func `an upload uses a Unix socket, and the next one its host`() async throws {
        let behind = try LoopbackServer()
        let server = try LoopbackServer()
        let front = try await SocketFront(to: behind)
        for way in [front.socket, nil, front.socket] {
            let result = await rig.upload(to: server.url(host: "backend.invalid")) {
                $0.unixSocket = way
                $0.resolve = ["backend.invalid:\(server.port):127.0.0.1"]
            }
            #expect(result.status == 200, "\(result)")
            #expect(way == nil || (try? result.get())?.metrics.connection?.peerAddress == way)
        }
        #expect(
            behind.requests.map { $0.value(of: "Host") } == Array(repeating: "backend.invalid:\(server.port)", count: 2)
        )
        #expect(behind.requests.allSatisfy { $0.digest == BodyDigest(of: rig.bytes) })
        #expect(server.requests.count == 1)
    }

    @Test func `progress through a Unix socket is an estimate that ends at the total`() async throws {
        let behind = try LoopbackServer()
        let front = try await SocketFront(to: behind)
        var options = UploadOptions()
        options.transfer.unixSocket = front.socket
        let seen = Watched<[UploadProgress]>([])
        _ = try await rig.session.upload(
            .data([UInt8](repeating: 1, count: 3_000_000)), to: "http://backend.invalid/", options: options
        ) { progress in seen.update { $0.append(progress) } }
        #expect(seen.value.last?.acknowledged == 3_000_000)
        #expect(zip(seen.value, seen.value.dropFirst()).allSatisfy { $0.acknowledged <= $1.acknowledged })
    }

    @Test func `a missing Unix socket leaves nothing sent`()
        async throws
    {
        let unanswered = try #require(
            await rig.upload(to: "http://h.example/") { $0.unixSocket = "/nowhere/socket" }.error)
        #expect(unanswered.code == .cannotConnect && unanswered.outcome == .notSent, "\(unanswered)")
        let behind = try LoopbackServer(.closeWithoutResponse())
        let front = try await SocketFront(to: behind)
        let error = try #require(await rig.upload(to: "http://h.example/") { $0.unixSocket = front.socket }.error)
        // nginx responds in place of the server.
        #expect(error.response?.status.code == 502, "\(error)")
    }

    @Test func `IPv4 or IPv6 is chosen for one upload`() async throws {
        let behind = try LoopbackServer()
        let front = try await SocketFront(to: behind)
        var peers: [String?] = []
        for family in [.ipv6, .ipv4, .ipv6] as [TransferOptions.AddressFamily] {
            let result = await rig.upload(to: front.url()) { $0.addressFamily = family }
            peers.append((try? result.get())?.metrics.connection?.peerAddress)
        }
        #expect(peers == ["::1", "127.0.0.1", "::1"])
        #expect(await rig.upload(to: front.url(host: "[::1]")).status == 200)
        #expect(behind.requests.map { $0.value(of: "X-Way") } == ["::1", "127.0.0.1", "::1", "::1"])
        let none = try #require(await rig.upload(to: front.url(host: "127.0.0.1")) { $0.addressFamily = .ipv6 }.error)
        #expect(none.outcome == .notSent)
    }

    @Test func `a resolve entry is used by one upload only`() async throws {
        let server = try LoopbackServer()
        let url = server.url(host: "backend.invalid")
        #expect(await rig.upload(to: url) { $0.resolve = ["backend.invalid:\(server.port):127.0.0.1"] }.status == 200)
        let error = try #require(await rig.upload(to: url).error)
        #expect(error.code == .hostNotFound, "\(error)")
    }

    @Test func `options of libcurl apply to one upload`() async throws {
        let server = try LoopbackServer()
        let proxy = try await ForwardProxy()
        let list = await rig.upload(to: server.url()) {
            $0.proxy = proxy.url()
            $0.curlOptions = [
                CurlOption("REFERER", .secret(.secret("http://from.example/"))),
                CurlOption("FRESH_CONNECT", .number(1)),
                CurlOption("PROXYHEADER", .list(["X-To-Proxy: 1"])),
                CurlOption("MAX_RECV_SPEED_LARGE", .large(1 << 30)),
                CurlOption("INTERFACE", .text("127.0.0.1")),
            ]
        }
        #expect(list.status == 200, "\(list)")
        // Not through the proxy: it closes its connections unannounced, so that reusing one may fail.
        let without = await rig.upload(to: server.url()) { _ in }
        #expect(without.status == 200, "\(without)")
        #expect(server.requests.map { $0.value(of: "Referer") } == ["http://from.example/", nil])
        let device = try #require(
            await rig.upload(to: server.url()) { $0.curlOptions = [CurlOption("INTERFACE", .text("if!nowhere0"))] }
                .error)
        #expect(device.outcome == .notSent && device.attempts.count == 1, "\(device)")
        #expect(await rig.upload(to: server.url()).status == 200)
        let refused = try #require(
            await rig.upload(to: server.url()) { $0.curlOptions = [CurlOption("FOLLOWLOCATION", .number(1))] }.error)
        #expect(refused.code == .invalidRequest)
    }

    @Test func `transfer metrics match the bytes on the wire`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: "hello"))
        let front = try await TLSFront(to: server)
        func metrics(_ url: String) async throws -> TransferMetrics {
            try await rig.upload(to: url) { $0.tls.certificateAuthorities = front.authority }.get().metrics
        }
        let plain = [try await metrics(server.url()), try await metrics(server.url())]
        let secured = try await metrics(front.url())
        let heads = server.requests.map { $0.lines.reduce(2) { $0 + $1.utf8.count + 2 } }
        for (index, metrics) in (plain + [secured]).enumerated() {
            #expect(metrics.requestBytes == Int64(heads[index] + rig.bytes.count), "\(index)")
            #expect(metrics.responseBytes > 5 && metrics.httpVersion == "HTTP/1.1")
            #expect(metrics.firstByte > .zero && metrics.total >= metrics.firstByte)
        }
        #expect(plain.map(\.connectionsMade) == [1, 0])
        #expect(plain.map { $0.connection?.isReused } == [false, true])
        #expect(secured.tls >= secured.connect && secured.connect >= secured.nameLookup && secured.tls > .zero)
    }

    @Test func `the firstByte metric refers to the response, not the request`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(.respond(200).delayed(until: gate))
        let task = UploadSession().start(.data([UInt8](repeating: 7, count: 1_000)), to: server.url())
        for await progress in task.progress where progress.phase == .awaitingResponse { break }
        let waited = try await ContinuousClock().measure {
            for _ in 0..<50 { try await Task.sleep(for: .milliseconds(1)) }
        }
        gate.open()
        #expect(try await task.response.metrics.firstByte >= waited)
    }
}
