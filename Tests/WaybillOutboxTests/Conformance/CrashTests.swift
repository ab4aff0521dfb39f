import TestSupport
import Testing

@testable import WaybillOutbox

/// A crash of all workers, and of a store on this machine, after each step of the life of three items.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct CrashTests {
    @Test(arguments: StoreKind.allCases)
    func `a crash between two calls loses nothing and leaves no lease`(kind: StoreKind) async throws {
        for count in 0...Self.steps.count {
            let world = try await StoreWorld(kind)
            for step in Self.steps.prefix(count) { try await step(world) }
            let before = try await world.snapshot()
            let tally = try await world.store.tally(batch: nil)
            let next = try await world.crashed()
            try #require(try await next.snapshot() == before, "after \(count) steps")
            #expect(try await next.store.checkIntegrity() == "ok", "after \(count) steps")
            #expect(try await next.recover(as: "the next run") == tally[.leased], "after \(count) steps")
            let after = try await next.store.tally(batch: nil)
            #expect(after[.leased] == 0 && after[.verify] == tally[.verify] + tally[.leased], "after \(count) steps")
            // A worker that was only paused reports the end of its lease.
            for id in 1...3 as ClosedRange<Int64> {
                for lease in 1...2 as ClosedRange<Int64> {
                    let late = try await next.store.apply([ItemChange(id, .ended(.delivered, lease: lease))])
                    #expect(!late[0].isAccepted, "after \(count) steps, item \(id)")
                }
            }
            #expect(try await next.store.tally(batch: nil) == after, "after \(count) steps")
        }
    }

    private static let steps: [@Sendable (StoreWorld) async throws -> Void] = [
        enqueue, lease, saveProgress, failTemporarily, requestCancellation, endCancelled, leaseAgain, deliver, mark,
        purge,
    ]

    private static func enqueue(_ world: StoreWorld) async throws {
        var first = StoreWorld.item("a", key: "k", batch: "b", tags: ["t"], staged: ["f"])
        first.timeLimit = 600_000
        _ = try await world.add(first, StoreWorld.item("b", size: nil), StoreWorld.item("c", lane: "other:80"))
    }

    private static func lease(_ world: StoreWorld) async throws {
        #expect(try await world.lease(2, perLane: 1).map(\.spec) == ["a", "c"])
    }

    private static func saveProgress(_ world: StoreWorld) async throws {
        let saved = try await world.store.apply([ItemChange(1, .progressed(lease: 1), resume: [1, 2])])
        #expect(saved[0].isAccepted)
    }

    private static func failTemporarily(_ world: StoreWorld) async throws {
        let change = ItemChange(
            1, .ended(.transient("status503", delay: 1_000), lease: 1), lane: .suspend(500), response: response(503))
        #expect(try await world.at(2_000).apply([change])[0].isAccepted)
    }

    private static func requestCancellation(_ world: StoreWorld) async throws {
        #expect(try await world.store.control(.cancel, ItemSelection(lane: "other:80")).aborts == [3])
    }

    private static func endCancelled(_ world: StoreWorld) async throws {
        let change = ItemChange(3, .ended(.aborted, lease: 1))
        #expect(try await world.at(2_500).apply([change])[0].effects == [.finished(.cancelled)])
    }

    private static func leaseAgain(_ world: StoreWorld) async throws {
        #expect(try await world.lease(1, now: 3_000).map(\.held) == [HeldLease(item: 1, number: 2)])
    }

    private static func deliver(_ world: StoreWorld) async throws {
        let end = ItemChange(1, .ended(.delivered, lease: 2), lane: .responded, response: response(201))
        let request = LeaseRequest(token: StoreWorld.token, slots: 1, slotsPerLane: 1)
        let (applied, leased) = try await world.at(4_000).apply([end], thenLease: request)
        #expect(applied[0].freed == ["f"] && leased.items.map(\.id) == [2])
    }

    private static func mark(_ world: StoreWorld) async throws {
        try await world.store.raise("reader", to: 1)
    }

    private static func purge(_ world: StoreWorld) async throws {
        #expect(try await world.at(5_000).purge(olderThan: .seconds(1)) == 1)
    }

    private static func response(_ status: Int) -> StoredResponse {
        var response = StoredResponse()
        response.status = status
        return response
    }
}
