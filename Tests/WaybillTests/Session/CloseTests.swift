import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct CloseTests {
    @Test func `drain lets queued and retrying uploads end`() async throws {
        let transport = ScriptedTransport { _, number in number == 0 ? .breaking(after: 1) : .responding(.ok) }
        let world = SessionWorld(transport, slots: 1)
        let tasks = (0..<10).map { _ in world.start() }
        async let closing: Void = world.session.close(.drain)
        await world.clock.sleepers(atLeast: 1)
        world.clock.advance(by: .seconds(60))
        await closing
        for task in tasks { #expect(try await task.response.status == .ok) }
        let late = try #require(await world.start().error())
        #expect(late.code == .sessionClosed)
        #expect(late.outcome == .notSent)
        #expect(!late.isRetryable)
        await world.session.close(.drain)
        await world.session.close(.cancel)
    }

    @Test(arguments: [UploadSession.CloseMode.drain, .cancel])
    func `a closed session keeps no connection`(mode: UploadSession.CloseMode) async throws {
        let server = try LoopbackServer()
        let session = UploadSession()
        _ = try await session.upload(.data([1]), to: server.url())
        #expect(server.state.connections.map(\.peerEnd) == [nil])
        await session.close(mode)
        try await server.waitUntil { $0.connections.allSatisfy { $0.peerEnd == .finished } }
    }

    @Test func `close with cancel ends all uploads immediately`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .receive(1), .wait(gate), .hang]], slots: 2)
        let tasks = (0..<10).map { _ in world.start() }
        await gate.arrivals(atLeast: 2)
        await world.session.close(.cancel)
        for task in tasks {
            let error = try #require(await task.error())
            #expect(error.code == .cancelled)
            #expect(error.message.contains("session"))
        }
        #expect(world.transport.running == 0)
    }

    @Test func `cancelling the task of a drain cancels all uploads`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .wait(gate), .hang]])
        let task = world.start()
        await gate.arrivals(atLeast: 1)
        let closing = Task { await world.session.close(.drain) }
        closing.cancel()
        await closing.value
        #expect(await task.error()?.code == .cancelled)
    }

    @Test func `a released session is freed after its uploads end`() async throws {
        let gate = ScriptGate()
        let transport = ScriptedTransport([[.connect, .wait(gate), .receiveRest, .respond(.ok)]])
        var session: UploadSession? = UploadSession(transport: transport)
        weak let core = session?.core
        let task = try #require(session?.start(.data([1, 2, 3]), to: SessionWorld.url))
        await gate.arrivals(atLeast: 1)
        session = nil
        #expect(core != nil)
        gate.open()
        #expect(try await task.response.status == .ok)
        #expect(transport.transfers.first?.body == [1, 2, 3])
        // The handle still exists; it retains its response, not the session.
        #expect(core == nil)
    }
}
