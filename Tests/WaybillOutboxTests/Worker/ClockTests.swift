import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// Moves the wall clock forward and back by days while items wait, are delivered, or their lane is suspended.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ClockTests {
    private static let day: Int64 = 86_400_000
    private static let jumps = [2 * day, -2 * day]

    /// A running wall clock with an adjustable offset.
    private final class AdjustableClock: Sendable {
        let offset = Locked<Int64>(0)
        func jump(_ milliseconds: Int64) { offset.withLock { $0 += milliseconds } }
        var now: @Sendable () -> Int64 { { [self] in WallClock.now() + offset.withLock { $0 } } }
    }

    private func open(_ world: OutboxWorld, _ clock: AdjustableClock) async throws -> Outbox {
        var configuration = OutboxWorld.quick
        configuration.now = clock.now
        // Far longer than the test: continuing before the jump would be detected.
        configuration.retry = OutboxRetry(maxAttempts: 5, baseDelay: .seconds(600), maxDelay: .seconds(900))
        return try await world.open(configuration)
    }

    @Test(arguments: jumps)
    func `a waiting item continues after a clock jump, and not before`(jump: Int64) async throws {
        let world = try OutboxWorld(.respond(503))
        let clock = AdjustableClock()
        let outbox = try await open(world, clock)
        let id = try await outbox.enqueue(try await world.form()).id
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        let core = try #require(outbox.owner)
        try await until(core) { try await outbox.item(id)?.state == .waiting }
        let due = try #require(try await outbox.item(id)?.dueAt)
        #expect(due - clock.now() > 200_000 && due - clock.now() <= 300_000)
        // Checks the queue without changing anything.
        core.signalChange()
        _ = try await outbox.tally()
        #expect(world.server.requests.count == 1)
        clock.jump(jump)
        core.signalChange()
        try await run.value
        #expect(try await outbox.states() == [.done])
        #expect(world.server.requests.count == 2)
        await outbox.close()
    }

    @Test(arguments: jumps)
    func `a clock jump does not expire leases`(jump: Int64) async throws {
        let gate = Gate()
        let world = try OutboxWorld(.respond(200).delayed(until: gate))
        let clock = AdjustableClock()
        let outbox = try await open(world, clock)
        try await outbox.enqueue(try await world.form())
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        _ = try await world.server.request(0)
        clock.jump(jump)
        let core = try #require(outbox.owner)
        core.signalChange()
        // Another item is leased and ends meanwhile, so the queue was checked after the jump.
        let other = try await outbox.enqueue(try await world.form("other")).id
        try await until(core) { try await outbox.item(other)?.state == .done }
        #expect(try await outbox.states() == [.leased, .done])
        gate.open()
        try await run.value
        #expect(try await outbox.states() == [.done, .done])
        #expect(world.server.requests.count == 2)
        await outbox.close()
    }

    @Test(arguments: jumps)
    func `a suspended lane opens after a clock jump, and not before`(jump: Int64) async throws {
        let world = try OutboxWorld(.respond(429, headers: [("Retry-After", "3000")]))
        let clock = AdjustableClock()
        let outbox = try await open(world, clock)
        try await outbox.enqueue(try await world.form("first"))
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        let core = try #require(outbox.owner)
        try await until(core) { try await !core.store.lanes().isEmpty }
        let second = try await outbox.enqueue(try await world.form("second")).id
        #expect(try await outbox.item(second)?.state == .ready && world.server.requests.count == 1)
        clock.jump(jump)
        core.signalChange()
        try await run.value
        #expect(try await outbox.states() == [.done, .done])
        await outbox.close()
    }

    @Test func `a key is not used when the clock was set back before the first attempt`() async throws {
        // The response is lost, and afterwards the time since the first attempt is unknown.
        let gate = Gate()
        let world = try OutboxWorld(Behaviour([.read(), .wait(gate), .close(.finish)]))
        let clock = AdjustableClock()
        let outbox = try await open(world, clock)
        let form = try await world.form(idempotency: .honoured(window: .seconds(3_600)))
        let id = try await outbox.enqueue(form).id
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        _ = try await world.server.request(0)
        clock.jump(-2 * Self.day)
        gate.open()
        try await run.value
        let item = try #require(try await outbox.item(id))
        #expect(item.state == .failed && item.reason == "outcomeUnknown")
        #expect(world.server.requests.count == 1)
        await outbox.close()
    }

    /// Random jumps with random items of a store: no item is leased early while the clock is stable, and once it
    /// stays stable, all items are leased within an hour and a minute.
    @Test func `with random clock jumps no item is leased early or waits indefinitely`() async throws {
        var random = SeededGenerator()
        for round in 0..<8 {
            let world = try await StoreWorld(round % 2 == 0 ? .memory : .disk)
            var (real, offset): (Int64, Int64) = (0, 100 * Self.day)
            for number in 0..<4 {
                let life = ItemLife(maxAttempts: 1_000_000, deadline: nil)
                _ = try await world.add(StoreWorld.item("\(number)", lane: "l\(number % 2)", life: life), now: offset)
            }
            // The earliest real time at which each item may be leased; unknown after a jump.
            var earliest: [Int64: Int64] = [:]
            for _ in 0..<40 {
                real += Int64.random(in: 0...200_000, using: &random)
                if Int.random(in: 0..<6, using: &random) == 0 {
                    offset += Int64.random(in: -2 * Self.day...2 * Self.day, using: &random)
                    earliest = [:]
                }
                let leased = try await world.lease(now: real + offset)
                for item in leased { #expect(real >= earliest[item.id] ?? 0, "round \(round), item \(item.id)") }
                earliest.merge(try await fail(leased, world, real, offset, &random)) { $1 }
            }
            real += ItemLife.longestWait + 1
            _ = try await world.lease(now: real + offset)
            #expect(try await world.states() == [.leased, .leased, .leased, .leased], "round \(round)")
        }
    }

    /// - Returns: The time at which each failed item may be leased again.
    private func fail(
        _ items: [LeasedItem], _ world: StoreWorld, _ real: Int64, _ offset: Int64, _ random: inout SeededGenerator
    ) async throws -> [Int64: Int64] {
        var due: [Int64: Int64] = [:]
        for item in items {
            let delay = Int64.random(in: 0...900_000, using: &random)
            try await world.end(item, .transient("status503", delay: delay), now: real + offset)
            due[item.id] = real + delay
        }
        return due
    }

    private func until(_ core: OutboxCore, _ condition: () async throws -> Bool) async throws {
        while true {
            let seen = core.signal.value
            if try await condition() { return }
            await core.signal.wait { $0 != seen }
            try Task.checkCancellation()
        }
    }
}
