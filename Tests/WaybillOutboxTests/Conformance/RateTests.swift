import TestSupport
import Testing

@testable import WaybillOutbox

/// Rates of lanes, by the rules of every store.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct RateTests {
    @Test(arguments: StoreKind.allCases)
    func `a lane starts no more than its rate, and reports when it starts the next`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.lane("slow:80", .setRate(LaneRate(2, per: .seconds(10))))
        for name in ["a", "b", "c"] { _ = try await world.add(StoreWorld.item(name, lane: "slow:80")) }
        _ = try await world.add(StoreWorld.item("d", lane: "fast:80"), StoreWorld.item("e", lane: "fast:80"))
        let request = LeaseRequest(token: StoreWorld.token, slots: 9, slotsPerLane: 9)
        let first = try await world.at(1_000).lease(request)
        #expect(first.items.map(\.spec).sorted() == ["a", "d", "e"] && first.nextDue == 5_000)
        #expect(try await world.at(5_999).lease(request).items.isEmpty)
        let second = try await world.at(6_000).lease(request)
        #expect(second.items.map(\.spec) == ["b"] && second.nextDue == 5_000)
        let third = try await world.at(11_000).lease(request)
        // Nothing is pending anymore.
        #expect(third.items.map(\.spec) == ["c"] && third.nextDue == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a restart grants no additional starts`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.lane("h:80", .setRate(LaneRate(1, per: .seconds(60))))
        _ = try await world.add(StoreWorld.item("a"), StoreWorld.item("b"))
        try await world.end(try await world.lease(now: 1_000)[0], .delivered, now: 2_000)
        let next = try await world.crashed()
        #expect(try await next.lease(now: 60_999).isEmpty)
        #expect(try await next.lease(now: 61_000).map(\.spec) == ["b"])
    }

    @Test(arguments: StoreKind.allCases)
    func `an item that ends at its lease, and one of another lane, spend nothing`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.lane("h:80", .setRate(LaneRate(1, per: .seconds(60))))
        var late = StoreWorld.item("late")
        late.timeLimit = 1
        _ = try await world.add(late, StoreWorld.item("other", lane: "other:80"))
        #expect(try await world.lease(now: 1_000).map(\.spec) == ["other"])
        _ = try await world.add(StoreWorld.item("a"), now: 1_000)
        #expect(try await world.lease(now: 1_000).map(\.spec) == ["a"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a rate is reported until it is removed`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let rate = LaneRate(7, per: .milliseconds(1_500))
        try await world.store.lane("h:80", .setRate(rate))
        try await world.store.lane("h:80", .block("status401", jitter: 0))
        try await world.store.lane("h:80", .unblock)
        #expect(try await world.store.lanes()["h:80"]?.rate == rate)
        try await world.store.lane("h:80", .setRate(nil))
        #expect(try await world.store.lanes().isEmpty)
    }
}
