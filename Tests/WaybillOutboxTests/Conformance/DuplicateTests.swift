import TestSupport
import Testing

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct DuplicateTests {
    @Test(arguments: StoreKind.allCases)
    func `keep returns the existing item until it ends`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let first = try await world.store.enqueue([StoreWorld.item("a", key: "k")])[0]
        let second = try await world.store.enqueue([StoreWorld.item("b", key: "k")])[0]
        #expect(first.isNew && !second.isNew && second.id == first.id)
        try await world.end(try await world.lease()[0], .delivered)
        let third = try await world.store.enqueue([StoreWorld.item("c", key: "k")])[0]
        #expect(third.isNew && third.id != first.id)
    }

    @Test(arguments: StoreKind.allCases)
    func `a key stays reserved for its period after the delivery, also after a purge`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        var item = StoreWorld.item("a", key: "k")
        item.keyPeriod = 10_000
        let first = try await world.add(item)[0]
        #expect(try await world.store.enqueue([StoreWorld.item("b", key: "k")])[0].isDelivered != true)
        try await world.end(try await world.lease()[0], .delivered, now: 5_000)
        #expect(try await world.at(14_998).purge(olderThan: .seconds(1)) == 1)
        for duplicates in [DuplicatePolicy.keep, .append, .replace] {
            let other = StoreWorld.item("c", key: "k", duplicates: duplicates)
            let added = try await world.at(14_999).enqueue([other])[0]
            #expect(added.isNew == (duplicates != .keep), "\(duplicates)")
            if duplicates == .keep { #expect(added == EnqueuedItem(id: first, isNew: false, isDelivered: true)) }
            _ = try await world.store.control(.cancel, .all)
        }
        #expect(try await world.at(15_000).enqueue([StoreWorld.item("d", key: "k")])[0].isNew)
    }

    @Test(arguments: StoreKind.allCases)
    func `a failed or cancelled item reserves no key`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        for end in [ItemLife.Ending.refused("status400"), .aborted] {
            var item = StoreWorld.item("a", key: "k")
            item.keyPeriod = 10_000
            #expect(try await world.store.enqueue([item])[0].isNew)
            let leased = try await world.lease()[0]
            if end == .aborted { _ = try await world.store.control(.cancel, .all) }
            try await world.end(leased, end)
        }
        #expect(try await world.states() == [.failed, .cancelled])
        #expect(try await world.store.enqueue([StoreWorld.item("b", key: "k")])[0].isNew)
    }

    @Test(arguments: StoreKind.allCases)
    func `append queues items one after another, however the earlier one ends`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        for name in ["a", "b", "c"] {
            _ = try await world.add(StoreWorld.item(name, key: "k", duplicates: .append))
        }
        let a = try await world.lease()
        #expect(a.map(\.spec) == ["a"])
        try await world.end(a[0], .refused("status400"))
        let b = try await world.lease()
        #expect(b.map(\.spec) == ["b"])
        try await world.end(b[0], .delivered)
        #expect(try await world.lease().map(\.spec) == ["c"])
    }

    @Test(arguments: StoreKind.allCases)
    func `replace cancels the old item, and waits for one in delivery`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a", key: "k"))
        _ = try await world.add(StoreWorld.item("b", key: "k", duplicates: .replace))
        #expect(try await world.states() == [.cancelled, .ready])
        let b = try await world.lease()
        #expect(b.map(\.spec) == ["b"])
        let c = try await world.store.enqueue([StoreWorld.item("c", key: "k", duplicates: .replace)])[0]
        #expect(c.aborts == [b[0].id])
        #expect(try await world.lease().isEmpty)
        try await world.end(b[0], .aborted)
        #expect(try await world.states() == [.cancelled, .cancelled, .ready])
        #expect(try await world.lease().map(\.spec) == ["c"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a retried item is queued after a newer one with its key`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a", key: "k"))
        try await world.end(try await world.lease()[0], .refused("status400"))
        _ = try await world.add(StoreWorld.item("b", key: "k"))
        #expect(try await world.store.control(.retry, .failed).changed == 1)
        let b = try await world.lease()
        #expect(b.map(\.spec) == ["b"])
        try await world.end(b[0], .delivered)
        #expect(try await world.lease().map(\.spec) == ["a"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a new item is queued after a retried one with a smaller id`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a", key: "k"))
        try await world.end(try await world.lease()[0], .refused("status400"))
        _ = try await world.add(StoreWorld.item("b", key: "k"))
        _ = try await world.store.control(.retry, .failed)
        _ = try await world.add(StoreWorld.item("c", key: "k", duplicates: .append))
        for name in ["b", "a", "c"] {
            let leased = try await world.lease()
            try #require(leased.map(\.spec) == [name])
            try await world.end(leased[0], .delivered)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `cancelling several queued duplicates starts the next one`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a", key: "k"))
        _ = try await world.add(StoreWorld.item("b", key: "k", duplicates: .append))
        _ = try await world.add(StoreWorld.item("c", lane: "other:80", key: "k", duplicates: .append))
        #expect(try await world.store.control(.cancel, ItemSelection(lane: "h:80")).changed == 2)
        #expect(try await world.lease().map(\.spec) == ["c"])
    }

    @Test(arguments: StoreKind.allCases)
    func `staged files of a replaced item are released`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a", key: "k", staged: ["one", "two"]))
        let added = try await world.store.enqueue([StoreWorld.item("b", key: "k", duplicates: .replace)])[0]
        #expect(added.freed.sorted() == ["one", "two"])
        #expect(try await world.store.stagedInUse(["one", "two"]).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `an idempotency key used twice belongs to the first item`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        var (first, second) = (StoreWorld.item("a", staged: ["one"]), StoreWorld.item("b", staged: ["two"]))
        first.idempotencyKey = "mine"
        second.idempotencyKey = "mine"
        let there = try await world.store.enqueue([first])[0]
        #expect(try await world.store.enqueue([second]) == [EnqueuedItem(id: there.id, isNew: false)])
        #expect(try await world.store.stagedInUse(["one", "two"]) == ["one"])
    }

    @Test(arguments: StoreKind.allCases)
    func `enqueuing the same item twice adds it once`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let item = StoreWorld.item("a")
        let first = try await world.store.enqueue([item])
        #expect(try await world.store.enqueue([item]) == first)
        #expect(try await world.states() == [.ready])
    }
}
