import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct DrainTests {
    /// An outbox with two items: the server has received the first one completely, and the second one has no slot.
    private static func world(
        _ behaviour: Behaviour, _ change: (inout Outbox.Configuration) -> Void = { _ in }
    ) async throws -> (OutboxWorld, Outbox, Task<Void, any Error>) {
        let world = try OutboxWorld(behaviour)
        var configuration = OutboxWorld.quick
        configuration.maximumConcurrentDeliveries = 1
        change(&configuration)
        let outbox = try await world.open(configuration)
        for text in ["first", "second"] { try await outbox.enqueue(try await world.form(text)) }
        let run = Task { try await outbox.run(session: world.session) }
        try await world.server.waitUntil { $0.requests.first?.isComplete == true }
        return (world, outbox, run)
    }

    @Test func `a drain awaits the response of a running delivery and starts no new one`() async throws {
        let gate = Gate()
        let reported = Locked<[OutboxState]>([])
        let (world, outbox, run) = try await Self.world(
            Behaviour([.read(), .wait(gate), .send(ScriptedResponse(200))])
        ) {
            $0.onResult = { result in reported.withLock { $0.append(result.item.state) } }
        }
        outbox.drain()
        gate.open()
        try await run.value
        #expect(try await outbox.states() == [.done, .ready])
        #expect(world.server.requests.count == 1)
        // Before `run` returns: there may be no later opportunity.
        #expect(reported.withLock { $0 } == [.done])
        await outbox.close()
    }

    /// The loop sleeps for up to 30 seconds; a drain must not wait for that.
    @Test func `a drained run returns when the last delivery has ended`() async throws {
        let gate = Gate()
        let (_, outbox, run) = try await Self.world(Behaviour([.read(), .wait(gate), .send(ScriptedResponse(200))]))
        outbox.drain()
        gate.open()
        let hasReturned = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await run.value
                return true
            }
            group.addTask {
                try await Task.sleep(for: .seconds(15 * Slowness.factor))
                return false
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
        #expect(hasReturned)
        await outbox.close()
    }

    @Test func `a delivery without a response at the drain limit is stopped and verified later`() async throws {
        let (world, outbox, run) = try await Self.world(.neverRespond)
        outbox.drain(atMost: .zero)
        try await run.value
        #expect(try await outbox.states() == [.verify, .ready])
        #expect(world.server.requests.count == 1)
        await outbox.close()
    }

    @Test func `a cancel stops a drain`() async throws {
        let (world, outbox, run) = try await Self.world(.neverRespond)
        outbox.drain()
        run.cancel()
        try await run.value
        #expect(try await outbox.states() == [.verify, .ready])
        #expect(world.server.requests.count == 1)
        await outbox.close()
    }

    @Test(arguments: [true, false]) func `a drained outbox accepts uploads and delivers them after reopening`(
        _ untilIdle: Bool
    ) async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        outbox.drain()
        try await outbox.enqueue(try await world.form())
        if untilIdle { try await world.deliver(outbox) } else { try await outbox.run(session: world.session) }
        #expect(try await outbox.states() == [.ready])
        #expect(world.server.requests.isEmpty)
        await outbox.close()

        let next = try await world.open()
        try await world.deliver(next)
        #expect(try await next.states() == [.done])
        await next.close()
    }
}
