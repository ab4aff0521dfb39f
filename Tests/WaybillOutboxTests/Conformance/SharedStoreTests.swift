import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

/// The parts of the contract that only a store of several machines has.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct SharedStoreTests {
    static let kinds = StoreKind.withLeaseDuration

    private static func item(_ name: String, bodies: [StagedBody] = [], host: String? = nil) -> NewItem {
        var item = StoreWorld.item(name)
        (item.bodies, item.host) = (bodies, host)
        return item
    }

    private static func request(_ host: String?) -> LeaseRequest {
        LeaseRequest(token: StoreWorld.token, slots: 9, slotsPerLane: 9, host: host)
    }

    @Test(arguments: kinds)
    func `a body is read by the worker that holds the lease`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let bodies = [StagedBody(name: "n1", bytes: [0, 255, 1]), StagedBody(name: "n2", bytes: [])]
        _ = try await world.add(Self.item("a", bodies: bodies))
        let lease = try #require(try await world.lease().first).held
        let (store, token) = (world.store, StoreWorld.token)
        #expect(try await store.body("n1", of: lease, token: token) == [0, 255, 1])
        #expect(try await store.body("n2", of: lease, token: token)?.isEmpty == true)
        #expect(try await store.body("n3", of: lease, token: token) == nil)
        #expect(try await store.body("n1", of: lease, token: "another") == nil)
        let older = HeldLease(item: lease.item, number: lease.number - 1)
        #expect(try await store.body("n1", of: older, token: token) == nil)
    }

    @Test(arguments: kinds)
    func `bodies are removed after delivery and kept after a failure`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(Self.item("a", bodies: [StagedBody(name: "n", bytes: [7])]))
        let first = try #require(try await world.lease().first)
        try await world.end(first, .refused("status400"))
        #expect(try await world.store.body("n", of: first.held, token: StoreWorld.token) == nil)
        _ = try await world.at(3_000).control(.retry, .failed)
        let second = try #require(try await world.lease(now: 3_000).first)
        #expect(try await world.store.body("n", of: second.held, token: StoreWorld.token) == [7])
        try await world.end(second, .delivered, now: 4_000)
        // A new lease cannot be made: the item has ended.
        #expect(try await world.store.body("n", of: second.held, token: StoreWorld.token) == nil)
    }

    @Test(arguments: kinds)
    func `an item with a host is leased by workers of this host only`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let id = try await world.add(Self.item("pinned", host: "one"), Self.item("free"))[0]
        #expect(try await world.item(id)?.host == "one")
        #expect(try await world.at(0).lease(Self.request("two")).items.map(\.spec) == ["free"])
        #expect(try await world.at(0).lease(Self.request(nil)).items.isEmpty)
        let leased = try #require(try await world.at(0).lease(Self.request("one")).items.first)
        #expect(leased.spec == "pinned")
        try await world.end(leased, .unknown("responseTimeout"))
        #expect(try await world.at(2_000).lease(Self.request("two")).items.isEmpty)
        #expect(try await world.at(2_000).lease(Self.request("one")).items.map(\.effect) == [.verify(lease: 2)])
    }

    @Test(arguments: kinds)
    func `the deadline of an item ends it even if its host has no workers`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        var item = Self.item("pinned", host: "gone")
        item.timeLimit = 5_000
        let id = try await world.add(item)[0]
        #expect(try await world.at(5_000).lease(Self.request("two")).ended == 0)
        #expect(try await world.at(5_001).lease(Self.request("two")).ended == 1)
        #expect(try await world.item(id)?.reason == "deadlinePassed")
    }

    @Test(arguments: kinds)
    func `one worker has a claim until it releases it or its leases end`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let duration = StoreWorld.leaseDuration.milliseconds
        func claims(_ name: String, _ token: String, at now: Int64 = 0) async throws -> Bool {
            try await world.at(now).claim(name, token: token)
        }
        #expect(try await claims("c", "one"))
        #expect(try await claims("c", "one"))
        #expect(try await claims("c", "two") == false)
        #expect(try await claims("d", "two"))
        try await world.store.release("c", token: "two")
        #expect(try await claims("c", "two") == false)
        try await world.store.release("c", token: "one")
        #expect(try await claims("c", "two"))
        _ = try await world.at(duration - 1).renew([], token: "two")
        #expect(try await claims("c", "one", at: duration + 1) == false)
        #expect(try await claims("c", "one", at: 2 * duration))
    }

    @Test func `a queue file refuses bodies and hosts`() async throws {
        let world = try await StoreWorld(.disk)
        let items = [Self.item("a", bodies: [StagedBody(name: "n", bytes: [1])]), Self.item("b", host: "one")]
        for item in items {
            let error = await #expect(throws: OutboxError.self) { try await world.add(item) }
            #expect(error?.code == .storageFailed)
        }
        #expect(try await world.states().isEmpty)
    }
}
