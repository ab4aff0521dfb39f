import TestSupport
import Testing
import WaybillCore
import WaybillCurl

@Suite(.timeLimit(.minutes(Slowness.factor))) struct IdleConnectionTests {
    private func start(_ transport: CurlTransport, _ url: String) -> Recorder {
        let recorder = Recorder(wantsProgress: false)
        _ = transport.start(.post(url, PatternBody(1_000)), sink: recorder)
        return recorder
    }

    @Test func `consecutive transfers reuse connections`() async throws {
        let server = try LoopbackServer()
        var configuration = CurlTransport.Configuration()
        configuration.maximumIdleConnections = 64
        let transport = CurlTransport(configuration: configuration)
        await withTaskGroup { group in
            for index in 0..<64 {
                group.addTask {
                    for number in 0..<8 {
                        let end = await start(transport, server.url("/\(index)/\(number)")).end()
                        #expect(throws: Never.self) { try end.result.get() }
                    }
                }
            }
        }
        #expect(server.requests.count == 512)
        #expect(server.state.connections.count <= 64)
    }

    @Test func `idle connections are limited by the configuration`() async throws {
        let server = try LoopbackServer()
        var configuration = CurlTransport.Configuration()
        configuration.maximumIdleConnections = 2
        let transport = CurlTransport(configuration: configuration)
        let gates = (0..<6).map { number in
            let gate = Gate()
            server.route("/\(number)", Behaviour.respond(200).delayed(until: gate))
            return gate
        }
        let recorders = (0..<6).map { start(transport, server.url("/\($0)")) }
        try await server.waitUntil { $0.requests.count == 6 }
        for (gate, recorder) in zip(gates, recorders) {
            gate.open()
            _ = try await recorder.response()
        }
        let state = try await server.waitUntil { state in state.connections.count { $0.peerEnd != nil } >= 4 }
        #expect(state.connections.count { $0.peerEnd == nil } == 2)
        _ = try await start(transport, server.url("/more")).response()
        #expect(server.state.connections.count == 6)
    }
}
