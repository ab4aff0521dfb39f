import TestSupport
import Testing

@testable import WaybillOutbox

/// Delays, deadlines and ages, by the clock of every store.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct TimeTests {
    @Test(arguments: StoreKind.allCases)
    func `an item is not leased again before its delay has passed`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item())
        try await world.end(try await world.lease()[0], .transient("status503", delay: 5_000), now: 2_000)
        let request = LeaseRequest(token: StoreWorld.token, slots: 1, slotsPerLane: 1)
        for (now, wait) in [(2_000, 5_000), (6_999, 1)] as [(Int64, Int64)] {
            let early = try await world.at(now).lease(request)
            #expect(early.items.isEmpty && early.nextDue == wait && early.nextProbe == nil)
        }
        let again = try await world.at(7_000).lease(request)
        #expect(again.items.map(\.effect) == [.deliver(attempt: 2, lease: 2)] && again.nextDue == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `an unknown outcome is not verified before its delay has passed`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item())
        try await world.end(try await world.lease()[0], .unknown("status500", delay: 3_000), now: 2_000)
        #expect(try await world.lease(now: 4_999).isEmpty)
        #expect(try await world.lease(now: 5_000).map(\.effect) == [.verify(lease: 2)])
    }

    @Test(arguments: StoreKind.allCases)
    func `a time limit ends at the deadline by the clock of the store`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        var item = StoreWorld.item()
        item.timeLimit = 1_000
        let ids = try await world.add(item, now: 50_000)
        item.idempotencyKey += "2"
        _ = try await world.add(item, now: 60_000)
        #expect(try await world.store.detail(ids[0])?.deadline == 51_000)
        let request = LeaseRequest(token: StoreWorld.token, slots: 9, slotsPerLane: 9)
        let leased = try await world.at(51_001).lease(request)
        #expect(leased.ended == 1 && leased.items.count == 1)
        #expect(try await world.item(ids[0])?.reason == "deadlinePassed")
        #expect(try await world.store.results(after: 0, limit: 9).map(\.item.id.rawValue) == [ids[0]])
    }

    @Test(arguments: StoreKind.allCases)
    func `a delayed item is leased after its delay, and a run until idle does not wait for it`(
        kind: StoreKind
    ) async throws {
        let world = try await StoreWorld(kind)
        var item = StoreWorld.item("late", priority: 1)
        (item.delay, item.timeLimit) = (3 * 86_400_000, 5_000)
        let ids = try await world.add(item, now: 1_000)
        let start: Int64 = 3 * 86_400_000 + 1_000
        let stored = try #require(try await world.store.detail(ids[0]))
        #expect(stored.item.state == .waiting && stored.item.dueAt == start && stored.deadline == start + 5_000)
        let request = LeaseRequest(token: StoreWorld.token, slots: 9, slotsPerLane: 9)
        let early = try await world.at(start - 1).lease(request)
        #expect(early.items.isEmpty && early.nextDue == nil && early.nextProbe == 1)
        // Its age counts from the end of the delay.
        _ = try await world.add(StoreWorld.item("soon", priority: 1), now: start - 1)
        #expect(try await world.at(start).lease(request).items.map(\.spec) == ["soon", "late"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a pause does not end a delay, but a retry does`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        var item = StoreWorld.item()
        item.delay = 10_000
        _ = try await world.add(item)
        _ = try await world.store.control(.pause, .all)
        _ = try await world.store.control(.resume, .all)
        #expect(try await world.states() == [.waiting])
        #expect(try await world.lease(now: 9_999).isEmpty)
        _ = try await world.store.control(.retry, .all)
        #expect(try await world.lease(now: 9_999).count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a delay outlasts a clock set back by a day, and one beyond the longest delay has ended`(
        kind: StoreKind
    ) async throws {
        let world = try await StoreWorld(kind)
        let day: Int64 = 86_400_000
        var item = StoreWorld.item()
        item.delay = day
        _ = try await world.add(item, now: 1_000 * day)
        #expect(try await world.lease(now: 999 * day).isEmpty)
        #expect(try await world.lease(now: 600 * day).count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `the longest time limit does not overflow`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        var item = StoreWorld.item()
        item.timeLimit = .max
        _ = try await world.add(item, now: 1_800_000_000_000)
        #expect(try await world.lease(now: 1_900_000_000_000).count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a lease reports the time since the first attempt`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item())
        let first = try await world.lease(now: 1_000)[0]
        #expect(first.sinceFirstAttempt == 0)
        try await world.end(first, .transient("status503", delay: 10), now: 2_000)
        let second = try await world.lease(now: 31_000)[0]
        #expect(second.sinceFirstAttempt == 30_000)
        try await world.end(second, .transient("status503", delay: 10), now: 32_000)
        // Set back by two days: the actual time is unknown.
        let third = try await world.lease(now: 32_000 - 2 * 86_400_000)[0]
        #expect(third.sinceFirstAttempt > 365 * 86_400_000)
    }

    @Test(arguments: StoreKind.allCases)
    func `a purge removes old results only, and their numbers are not used again`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(
            StoreWorld.item("a"), StoreWorld.item("b"), StoreWorld.item("c"), StoreWorld.item("d"))
        let leased = try await world.lease(3)
        try await world.end(leased[0], .delivered, now: 10_000)
        try await world.end(leased[1], .transient("status503", delay: 1), now: 10_000)
        let last = try #require(try await world.store.results(after: 0, limit: 9).last).sequence
        #expect(try await world.at(11_000).purge(olderThan: .seconds(1)) == 0)
        #expect(try await world.at(11_001).purge(olderThan: .seconds(1)) == 1)
        #expect(try await world.store.results(after: 0, limit: 9).isEmpty)
        #expect(try await world.states() == [.waiting, .leased, .ready])
        try await world.end(leased[2], .refused("status400"), now: 12_000)
        let next = try await world.store.results(after: last, limit: 9)
        #expect(next.map(\.item.id.rawValue) == [leased[2].id])
    }

    @Test(arguments: StoreKind.allCases)
    func `a retried item gets a later number when it ends again`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a"), StoreWorld.item("b"))
        let leased = try await world.lease()
        try await world.end(leased[0], .refused("status400"))
        try await world.end(leased[1], .delivered)
        let first = try await world.store.results(after: 0, limit: 9)
        _ = try await world.store.control(.retry, .failed)
        #expect(try await world.store.results(after: 0, limit: 9).map(\.item.id.rawValue) == [leased[1].id])
        try await world.end(try await world.lease()[0], .delivered)
        let last = try await world.store.results(after: first[1].sequence, limit: 9)
        #expect(last.map(\.item.id.rawValue) == [leased[0].id])
    }

    @Test(arguments: StoreKind.allCases)
    func `each consumer of results has its own mark`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.raise("one", to: 7)
        try await world.store.raise("two", to: 3)
        try await world.store.raise("one", to: 5)
        #expect(try await world.store.mark("one") == 7)
        #expect(try await world.store.mark("two") == 3)
        #expect(try await world.store.mark("three") == 0)
    }
}
