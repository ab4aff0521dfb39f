import TestSupport
import Testing
import Waybill

/// Pausing and rate limits through TLS, HTTP/2 and chunked framing.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct FrontedControlTests {
    enum Transport: CaseIterable { case tls, http2, chunked }

    private let bytes: [UInt8]

    init() {
        var random = SeededGenerator()
        bytes = random.bytes(6 << 20)
    }

    private struct Route {
        let server: LoopbackServer
        let front: (any Sendable)?
        let url: String
        var options = UploadOptions(retry: .none)
    }

    private func route(_ transport: Transport, _ server: LoopbackServer) async throws -> Route {
        switch transport {
        case .chunked: return Route(server: server, front: nil, url: server.url())
        case .tls:
            let front = try await TLSFront(to: server)
            var route = Route(server: server, front: front, url: front.url())
            route.options.transfer.tls.certificateAuthorities = front.authority
            return route
        case .http2:
            let front = try await HTTP2Front(to: server)
            var route = Route(server: server, front: front, url: front.url())
            route.options.transfer.tls.certificateAuthorities = front.authority
            route.options.transfer.httpVersion = .http2
            return route
        }
    }

    private func content(_ transport: Transport) -> UploadContent {
        guard transport == .chunked else { return .data(bytes) }
        let bytes = bytes
        return .stream(
            AsyncStream<[UInt8]> { continuation in
                for start in stride(from: 0, to: bytes.count, by: 70_000) {
                    continuation.yield(Array(bytes[start..<min(start + 70_000, bytes.count)]))
                }
                continuation.finish()
            }, length: nil)
    }

    private func progress(of task: UploadTask, where isMet: (UploadProgress) -> Bool) async -> UploadProgress? {
        for await progress in task.progress where isMet(progress) { return progress }
        return nil
    }

    @Test(arguments: Transport.allCases) func `a rate-limited body that is paused repeatedly arrives unchanged`(
        transport: Transport
    ) async throws {
        let server = try LoopbackServer()
        var route = try await route(transport, server)
        route.options.transfer.rateLimit = .mebibytes(4)
        let session = UploadSession()
        let clock = ContinuousClock()
        let start = clock.now
        let task = session.start(content(transport), to: route.url, options: route.options)
        for count in [500_000, 1_500_000, 2_500_000] as [Int64] {
            let seen = await progress(of: task) { $0.acknowledged >= count }
            let allowed = (clock.now - start) / .seconds(1) * Double(4 << 20)
            #expect(Double(seen?.acknowledged ?? .max) <= allowed + Double(3 << 20))
            task.pause()
            _ = await progress(of: task) { $0.isPaused }
            // A request on another connection. When it ends, the pause has taken effect.
            _ = try await session.upload(.data([1]), to: server.url("/other"))
            task.resume()
        }
        task.limit(to: .mebibytes(32))
        #expect(try await task.response.attempts.count == 1)
        let request = try #require(server.requests.first { $0.path == "/" })
        #expect(request.body == bytes)
    }

    @Test(arguments: [Transport.tls, .http2]) func `a long pause restarts an upload over TLS and HTTP 2`(
        transport: Transport
    )
        async throws
    {
        let server = try LoopbackServer()
        server.route("/", .stall(afterBodyBytes: 100_000), .respond(200))
        var route = try await route(transport, server)
        route.options.transfer.limits.stall = .seconds(50)
        route.options.transfer.rateLimit = .mebibytes(1)
        var configuration = UploadSession.Configuration()
        configuration.pauseKeepsSlot = .milliseconds(300)
        let session = UploadSession(configuration: configuration)
        let task = session.start(.data(bytes), to: route.url, options: route.options)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
        task.pause()
        _ = await progress(of: task) { $0.attempt == 2 }
        task.limit(to: nil)
        task.resume()
        #expect(try await task.response.attempts.map(\.disposition) == [.restart, .end])
        #expect(server.requests.filter(\.isComplete).map { $0.body == bytes } == [true])
    }
}
