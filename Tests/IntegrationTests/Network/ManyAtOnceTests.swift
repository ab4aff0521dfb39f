import TestSupport
import Testing
import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ManyAtOnceTests {
    private func send(_ count: Int, _ session: UploadSession, to server: LoopbackServer) async throws {
        let content = [UInt8](repeating: 7, count: 20_000)
        let results = await session.uploadAll(0..<count) { number in
            UploadRequest(
                .post, server.url(), content: .form([.text("NUMBER", "\(number)"), .data("FILE", content)]))
        }
        for result in results { #expect(try result.response.status == .ok) }
    }

    @Test func `500 forms with 64 slots open at most 64 connections, which are kept for the next burst`()
        async throws
    {
        let server = try LoopbackServer(keepsBodies: false)
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = 64
        configuration.maximumConcurrentTransfersPerHost = 64
        let session = UploadSession(configuration: configuration)
        try await send(500, session, to: server)
        let opened = server.state.connections.count
        #expect(opened <= 64)
        #expect(server.requests.count == 500)
        try await send(64, session, to: server)
        // A burst may use more connections concurrently than before, but not more than there are slots.
        #expect(server.state.connections.count <= 64)
        #expect(server.state.connections.count { $0.peerEnd != nil } == 0)
    }
}
