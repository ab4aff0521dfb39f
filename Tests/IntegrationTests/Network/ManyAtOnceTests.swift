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

    @Test func `five hundred forms at 64 at once open no more than 64 connections, and they stay for the next burst`()
        async throws
    {
        let server = try LoopbackServer(keepsBodies: false)
        var configuration = UploadSession.Configuration()
        configuration.slots = 64
        configuration.slotsPerHost = 64
        let session = UploadSession(configuration: configuration)
        try await send(500, session, to: server)
        let opened = server.state.connections.count
        #expect(opened <= 64)
        #expect(server.requests.count == 500)
        try await send(64, session, to: server)
        // A burst may come to more at once than ever were before, but not to more than there are places.
        #expect(server.state.connections.count <= 64)
        #expect(server.state.connections.count { $0.peerEnd != nil } == 0)
    }
}
