import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct StoreConformanceTests {
    @Test(arguments: StoreKind.allCases)
    func `added items are stored in order with all their properties`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let ids = try await world.add(
            StoreWorld.item("a", key: "k", priority: 3, batch: "b", tags: ["x", "y z"], size: 7),
            StoreWorld.item("b", size: nil), now: 77)
        #expect(ids == ids.sorted() && Set(ids).count == 2)
        let item = try #require(try await world.item(ids[0]))
        #expect(item.state == .ready && item.batch == "b" && item.tags == ["x", "y z"] && item.priority == .high)
        #expect(item.createdAt == 77 && item.size == 7 && item.deduplicationKey == "k" && item.kind == "test")
        #expect(try await world.item(ids[1])?.size == nil)
        #expect(try await world.item(12_345) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `an item is leased once, and its end is stored with the response`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let id = try await world.add(StoreWorld.item("spec"))[0]
        let leased = try #require(try await world.lease().first)
        #expect(leased.id == id && leased.spec == "spec" && leased.effect == .deliver(attempt: 1, lease: 1))
        #expect(try await world.lease().isEmpty)
        var response = StoredResponse()
        response.status = 201
        response.headers = [OutboxResult.Header(name: "ETag", value: "\"1\"")]
        response.body.append(contentsOf: [0, 255, 10])
        response.sourceChangedAfterwards = true
        let applied = try await world.at(5_000).apply(
            [ItemChange(id, .ended(.delivered, lease: 1), response: response)])
        #expect(applied[0].isAccepted && applied[0].effects == [.finished(.done)])
        let result = try #require(try await world.store.results(after: 0, limit: 10).first)
        #expect(result.status == 201 && Array(result.body) == [0, 255, 10] && result.headers == response.headers)
        #expect(result.item.state == .done && result.item.endedAt == 5_000 && result.sourceChangedAfterwards)
    }

    @Test(arguments: StoreKind.allCases)
    func `results of an expired lease are ignored`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let id = try await world.add(StoreWorld.item())[0]
        let old = try await world.lease()[0]
        #expect(try await world.recover(as: "the next run") == 1)
        #expect(try await world.states() == [.verify])
        let late = try await world.at(2_000).apply(
            [ItemChange(id, .ended(.delivered, lease: old.life.leaseNumber), response: StoredResponse())])
        #expect(!late[0].isAccepted && late[0].effects.isEmpty)
        #expect(try await world.states() == [.verify])
        let asking = try await world.lease()[0]
        #expect(asking.effect == .verify(lease: 2))
        try await world.at(2_500).apply([ItemChange(id, .verdict(.absent, lease: 2))]).first.map { _ in }
        #expect(try await world.lease()[0].effect == .deliver(attempt: 2, lease: 3))
        #expect(try await world.item(id)?.isDoubtful == false)
    }

    @Test(arguments: StoreKind.allCases)
    func `recovery keeps leases of this run and ends those of others`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a"), StoreWorld.item("b"), StoreWorld.item("c"))
        _ = try await world.lease(2)
        #expect(try await world.recover(as: StoreWorld.token) == 0)
        #expect(try await world.states() == [.leased, .leased, .ready])
        #expect(try await world.recover(as: "another") == 2)
        #expect(try await world.states() == [.verify, .verify, .ready])
        // An interrupted verification starts again.
        let asking = try await world.lease(1)
        #expect(asking.map(\.effect) == [.verify(lease: 2)])
        #expect(try await world.recover(as: "a third") == 0)
        #expect(try await world.lease(1, now: 1_000).map(\.effect) == [.verify(lease: 3)])
    }

    @Test(arguments: StoreKind.allCases)
    func `leases follow priority, prefer doubtful items, and limit each lane`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(
            StoreWorld.item("late", priority: 9), StoreWorld.item("first", priority: 1), StoreWorld.item("second"),
            StoreWorld.item("elsewhere", lane: "other:80"))
        #expect(try await world.lease(2, perLane: 1).map(\.spec) == ["first", "elsewhere"])
        #expect(try await world.lease(5, perLane: 1, running: ["h:80": 1, "other:80": 1]).isEmpty)
        _ = try await world.recover(as: "next")
        let next = try await world.lease(3, perLane: 2)
        #expect(next.map(\.spec).sorted() == ["elsewhere", "first", "second"])
        #expect(next.last?.spec == "second")
    }

    @Test(arguments: StoreKind.allCases)
    func `five minutes of waiting equal one priority level`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("patient", priority: 7), now: 0)
        _ = try await world.add(StoreWorld.item("urgent", priority: 5), now: 599_999)
        _ = try await world.add(StoreWorld.item("too late", priority: 5), now: 600_001)
        #expect(try await world.lease(now: 600_002).map(\.spec) == ["urgent", "patient", "too late"])
    }

    @Test(arguments: StoreKind.allCases)
    func `suspended and blocked lanes lease nothing, and others do`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a", lane: "a:80"), StoreWorld.item("b", lane: "b:80"))
        try await world.at(1_000).lane("a:80", .suspend(60_000))
        let request = LeaseRequest(token: "t", slots: 9, slotsPerLane: 9)
        let result = try await world.at(1_000).lease(request)
        #expect(result.items.map(\.spec) == ["b"] && result.nextDue == 60_000)
        try await world.at(61_000).lane("a:80", .block("status401", jitter: 1))
        let blocked = try await world.at(70_000).lease(LeaseRequest(token: "t", slots: 9, slotsPerLane: 9))
        #expect(blocked.items.isEmpty && blocked.nextDue == nil && blocked.nextProbe == 21_000)
        #expect(try await world.store.lanes()["a:80"]?.blocked == "status401")
        try await world.at(1_000).lane("a:80", .unblock)
        #expect(try await world.store.lanes()["a:80"] == nil)
        #expect(try await world.lease(now: 70_000).map(\.spec) == ["a"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a blocked lane leases one item at a time, first one that has not failed`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a"), StoreWorld.item("b"), StoreWorld.item("c"))
        for item in try await world.lease(now: 0) { try await world.end(item, .lane("status401"), now: 0) }
        try await world.at(0).lane("h:80", .block("status401", jitter: 1))
        _ = try await world.add(StoreWorld.item("d"))
        #expect(try await world.lease(now: 29_999).isEmpty)
        let probe = try await world.lease(now: 30_000)
        #expect(probe.map(\.spec) == ["d"])
        try await world.end(probe[0], .lane("status401"), now: 30_000)
        // All have failed: in their order.
        #expect(try await world.lease(now: 30_000).map(\.spec) == ["a"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a delay ends when it is due or when the clock is set back`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a"), now: 0)
        let day: Int64 = 86_400_000
        let leased = try await world.lease(now: 10 * day)[0]
        try await world.end(leased, .transient("status503", delay: 5_000), now: 10 * day)
        let early = try await world.at(10 * day + 4_999).lease(
            LeaseRequest(token: "t", slots: 1, slotsPerLane: 1))
        #expect(early.items.isEmpty && early.nextDue == 1)
        // Two days back: the item must not wait for two days.
        #expect(try await world.lease(now: 8 * day).map(\.spec) == ["a"])
    }

    @Test(arguments: StoreKind.allCases)
    func `marks only increase, old items are purged, and tallies count`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        try await world.store.raise("m", to: 5)
        try await world.store.raise("m", to: 3)
        #expect(try await world.store.mark("m") == 5)
        _ = try await world.add(
            StoreWorld.item("a", batch: "b", size: 5), StoreWorld.item("b", size: 7), StoreWorld.item("c", size: nil))
        let leased = try await world.lease(2)
        try await world.end(leased[0], .delivered, now: 100)
        try await world.end(leased[1], .refused("status400"), now: 200)
        let tally = try await world.store.tally(batch: nil)
        #expect(tally[.done] == 1 && tally[.failed] == 1 && tally[.ready] == 1 && tally.total == 3)
        #expect(tally.bytes[.done] == 5 && tally.bytes[.failed] == 7 && tally.unfinished == 1)
        #expect(try await world.store.tally(batch: "b").total == 1)
        let results = try await world.store.results(after: 0, limit: 9).map(\.sequence)
        #expect(results.count == 2 && results[0] < results[1])
        #expect(try await world.store.mark(OutboxMark.sequence) == results[1])
        #expect(try await world.at(150).purge(olderThan: .zero) == 1)
        #expect(try await world.store.results(after: 0, limit: 9).map(\.sequence) == [results[1]])
        #expect(try await world.store.tally(batch: nil).counts == [.failed: 1, .ready: 1])
        #expect(try await world.at(300).purge(olderThan: .zero) == 1)
        #expect(try await world.store.mark(OutboxMark.sequence) == results[1])
        #expect(try await world.store.checkIntegrity() == "ok")
    }

    @Test(arguments: StoreKind.allCases)
    func `a clock that was ahead does not prevent purging old items`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let ahead = 1_200
        _ = try await world.at(0).enqueue((0..<ahead + 3).map { StoreWorld.item("\($0)") })
        func end(_ count: Int, at now: Int64) async throws {
            let leased = try await world.lease(count, perLane: count)
            let ends = leased.map { ItemChange($0.id, .ended(.delivered, lease: $0.life.leaseNumber)) }
            _ = try await world.at(now).apply(ends)
        }
        try await end(ahead, at: 1_000_000)
        try await end(2, at: 100)
        try await end(1, at: 300)
        #expect(try await world.at(200).purge(olderThan: .zero) == 2)
        #expect(try await world.store.tally(batch: nil).counts == [.done: ahead + 1])
        #expect(try await world.at(1_000_001).purge(olderThan: .zero) == ahead + 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `applying an end and leasing in one call uses the free slot`(
        kind: StoreKind
    ) async throws {
        let world = try await StoreWorld(kind)
        let ids = try await world.add(
            StoreWorld.item("a", key: "k"), StoreWorld.item("b", key: "k", duplicates: .append))
        let first = try await world.lease()
        #expect(first.map(\.id) == [ids[0]])
        let end = ItemChange(ids[0], .ended(.delivered, lease: first[0].life.leaseNumber))
        let request = LeaseRequest(token: StoreWorld.token, slots: 1, slotsPerLane: 1)
        let (applied, leased) = try await world.at(2_000).apply([end], thenLease: request)
        #expect(applied.map(\.isAccepted) == [true] && leased.items.map(\.id) == [ids[1]])
        #expect(try await world.states() == [.done, .leased])
    }

    @Test(arguments: StoreKind.allCases)
    func `selections match batch, tag, lane and state, and control applies to matches`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let ids = try await world.add(
            StoreWorld.item("a", batch: "b", tags: ["red"]), StoreWorld.item("b", batch: "b"),
            StoreWorld.item("c", lane: "other:1", tags: ["red", "blue"]))
        _ = try await world.lease(1)
        let paused = try await world.at(0).control(.pause, ItemSelection(batch: "b"))
        #expect(paused.changed == 2 && paused.aborts == [ids[0]])
        #expect(try await world.states() == [.leased, .paused, .ready])
        #expect(
            try await world.store.items(ItemSelection(tag: "red"), after: 0, limit: 9).map(\.id.rawValue) == [
                ids[0], ids[2],
            ])
        #expect(try await world.store.items(ItemSelection(tag: "re"), after: 0, limit: 9).isEmpty)
        let found = try await world.store.items(
            ItemSelection(lane: "other:1", states: [.ready, .done]), after: 0, limit: 9)
        #expect(found.map(\.id.rawValue) == [ids[2]])
        let moved = try await world.store.items(ItemSelection(states: [.paused, .leased]), after: 0, limit: 9)
        #expect(moved.map(\.id.rawValue) == [ids[0], ids[1]])
        #expect(try await world.store.items(.all, after: ids[0], limit: 1).map(\.id.rawValue) == [ids[1]])
        _ = try await world.at(0).control(.resume, .all)
        #expect(try await world.at(0).control(.cancel, .all).changed == 3)
        #expect(try await world.states() == [.leased, .cancelled, .cancelled])
    }

    @Test(arguments: StoreKind.allCases)
    func `staged files are released after delivery and kept after a failure`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a", staged: ["f1", "f2"]), StoreWorld.item("b", staged: ["f3"]))
        #expect(try await world.store.stagedInUse(["f1", "f2", "f3", "f4"]) == ["f1", "f2", "f3"])
        let leased = try await world.lease()
        #expect(try await world.end(leased[0], .delivered).freed.sorted() == ["f1", "f2"])
        // Failed items can be retried.
        #expect(try await world.end(leased[1], .refused("status400")).freed.isEmpty)
        #expect(try await world.store.stagedInUse(["f1", "f2", "f3"]) == ["f3"])
        _ = try await world.at(0).control(.retry, .failed)
        #expect(try await world.lease().map(\.spec) == ["b"])
    }
}
