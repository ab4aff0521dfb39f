import TestSupport
import Testing

@testable import WaybillOutbox

/// Limits on the items of a lane that are in progress, by the rules of every store.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct LaneLimitTests {
    /// Leases as a worker with items in progress in the lane does.
    private static func specs(_ world: StoreWorld, running: Int) async throws -> [String] {
        try await world.lease(running: ["h:80": running]).map(\.spec).sorted()
    }

    @Test(arguments: StoreKind.allCases)
    func `a lane has at most as many items in progress as its limit`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.lane("h:80", .setMaxRunning(2))
        for name in ["a", "b", "c", "d"] { _ = try await world.add(StoreWorld.item(name)) }
        _ = try await world.add(StoreWorld.item("other", lane: "other:80"))
        let first = try await world.at(1_000).lease(
            LeaseRequest(token: StoreWorld.token, slots: 9, slotsPerLane: 9))
        #expect(first.items.map(\.spec).sorted() == ["a", "b", "other"] && first.nextDue == nil)
        #expect(try await Self.specs(world, running: 2).isEmpty)
        let item = try #require(first.items.first { $0.spec == "a" })
        try await world.end(item, .delivered)
        #expect(try await Self.specs(world, running: 1) == ["c"])
        #expect(try await Self.specs(world, running: 2).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `an end frees a slot for the lease in the same transaction`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.lane("h:80", .setMaxRunning(1))
        for name in ["a", "b", "c"] { _ = try await world.add(StoreWorld.item(name)) }
        let item = try #require(try await world.lease().first)
        let end = ItemChange(item.id, .ended(.delivered, lease: item.life.leaseNumber))
        let (_, leased) = try await world.at(2_000).apply(
            [end], thenLease: LeaseRequest(token: StoreWorld.token, slots: 9, slotsPerLane: 9))
        #expect(leased.items.map(\.spec) == ["b"])
    }

    @Test(arguments: StoreKind.allCases)
    func `verifications count as items in progress`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.lane("h:80", .setMaxRunning(1))
        _ = try await world.add(StoreWorld.item("a"), StoreWorld.item("b"))
        try await world.end(try await world.lease()[0], .unknown("reset"), now: 1_000)
        let verification = try await world.lease()
        #expect(verification.map(\.spec) == ["a"] && verification[0].life.isVerifying)
        #expect(try await Self.specs(world, running: 1).isEmpty)
        let verdict = ItemChange(verification[0].id, .verdict(.delivered, lease: verification[0].life.leaseNumber))
        _ = try await world.store.apply([verdict])
        #expect(try await Self.specs(world, running: 0) == ["b"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a lane with more items in progress than slots starts none`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a"), StoreWorld.item("b", lane: "other:80"))
        let request = LeaseRequest(token: StoreWorld.token, slots: 9, slotsPerLane: 2, running: ["h:80": 3])
        #expect(try await world.at(1_000).lease(request).items.map(\.spec) == ["b"])
        #expect(try await world.at(1_001).lease(request).items.isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a limit below the items in progress starts nothing until enough of them have ended`(
        kind: StoreKind
    ) async throws {
        let world = try await StoreWorld(kind)
        for name in ["a", "b", "c", "d"] { _ = try await world.add(StoreWorld.item(name)) }
        let leased = try await world.lease(3)
        try await world.store.lane("h:80", .setMaxRunning(2))
        #expect(leased.count == 3)
        #expect(try await Self.specs(world, running: 3).isEmpty)
        try await world.end(leased[0], .delivered)
        #expect(try await Self.specs(world, running: 2).isEmpty)
        try await world.end(leased[1], .delivered)
        #expect(try await Self.specs(world, running: 1) == ["d"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a limit is reported and applied until it is removed, also after a restart`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.lane("h:80", .setMaxRunning(2))
        try await world.store.lane("h:80", .block("status401", jitter: 0))
        try await world.store.lane("h:80", .unblock)
        let next = try await world.crashed()
        #expect(try await next.store.lanes()["h:80"]?.maxRunning == 2)
        for name in ["a", "b", "c", "d"] { _ = try await next.add(StoreWorld.item(name)) }
        #expect(try await Self.specs(next, running: 0) == ["a", "b"])
        try await next.store.lane("h:80", .setMaxRunning(nil))
        #expect(try await next.store.lanes().isEmpty)
        #expect(try await Self.specs(next, running: 2) == ["c", "d"])
    }

    @Test(arguments: StoreKind.withLeaseDuration)
    func `two workers share the limit of a lane`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let requests = ["one", "two"].map { LeaseRequest(token: $0, slots: 9, slotsPerLane: 9) }
        try await world.store.lane("h:80", .setMaxRunning(2))
        for name in ["a", "b", "c", "d"] { _ = try await world.add(StoreWorld.item(name)) }
        var single = requests[0]
        single.slots = 1
        let first = try await world.at(1_000).lease(single).items
        #expect(first.map(\.spec) == ["a"])
        #expect(try await world.store.lease(requests[1]).items.map(\.spec) == ["b"])
        for request in requests { #expect(try await world.store.lease(request).items.isEmpty) }
        try await world.end(first[0], .delivered)
        #expect(try await world.store.lease(requests[1]).items.map(\.spec) == ["c"])
        #expect(try await world.store.lease(requests[0]).items.isEmpty)
    }
}
