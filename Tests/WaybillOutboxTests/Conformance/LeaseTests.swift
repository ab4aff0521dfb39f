import TestSupport
import Testing

@testable import WaybillOutbox

/// Leases and their fences, by the rules of every store.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct LeaseTests {
    @Test(arguments: StoreKind.allCases)
    func `renewing reports held leases, requested stops and lost leases`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let ids = try await world.add(
            StoreWorld.item("a"), StoreWorld.item("b"), StoreWorld.item("c"), StoreWorld.item("d"))
        let leased = try await world.lease(3)
        let leases = leased.map(\.held)
        #expect(try await world.renew(leases) == [.held, .held, .held])
        #expect(try await world.store.control(.cancel, .item(OutboxID(rawValue: ids[1]))).aborts == [ids[1]])
        try await world.end(leased[2], .transient("status503", delay: 1))
        #expect(try await world.renew(leases) == [.held, .stopRequested, .lost])
        #expect(try await world.renew(leases, as: "another") == [.lost, .lost, .lost])
        let others = [(ids[0], 0), (ids[0], 2), (ids[3], 0), (12_345, 1)].map { HeldLease(item: $0, number: $1) }
        #expect(try await world.renew(others) == [.lost, .lost, .lost, .lost])
        #expect(try await world.renew([]).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a verification is held, and a cancellation does not stop it`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item())
        let delivery = try await world.lease()[0]
        #expect(try await world.recover(as: "another") == 1)
        #expect(try await world.renew([delivery.held]) == [.lost])
        let verification = try await world.lease()[0]
        #expect(try await world.store.control(.cancel, .all).aborts.isEmpty)
        #expect(try await world.renew([verification.held, delivery.held]) == [.held, .lost])
    }

    @Test(arguments: StoreKind.withLeaseDuration)
    func `a lease ends when its worker has not renewed it for the lease duration`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let duration = StoreWorld.leaseDuration.milliseconds
        _ = try await world.add(StoreWorld.item())
        let lease = try await world.lease(now: 1_000)[0].held
        #expect(try await world.at(999 + duration).recover(token: "another") == 0)
        #expect(try await world.renew([lease]) == [.held])
        #expect(try await world.at(998 + 2 * duration).recover(token: "another") == 0)
        #expect(try await world.at(999 + 2 * duration).recover(token: "another") == 1)
        #expect(try await world.renew([lease]) == [.lost])
        #expect(try await world.states() == [.verify])
    }

    @Test(arguments: StoreKind.withLeaseDuration)
    func `a worker that recovers keeps its own leases`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item())
        let lease = try await world.lease()[0].held
        #expect(try await world.recover(as: StoreWorld.token) == 0)
        #expect(try await world.renew([lease]) == [.held])
    }

    @Test(arguments: [StoreKind.memory, .disk])
    func `without a lease duration no time ends a lease`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item())
        let lease = try await world.lease()[0].held
        for now in [0, 366 * 86_400_000 as Int64] {
            #expect(try await world.at(now).recover(token: StoreWorld.token) == 0)
            #expect(try await world.renew([lease]) == [.held])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `no report of an earlier lease changes an item`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let id = try await world.add(StoreWorld.item(staged: ["f"]))[0]
        _ = try await world.lease()
        _ = try await world.recover(as: "another")
        _ = try await world.lease()
        _ = try await world.store.apply([ItemChange(id, .verdict(.absent, lease: 2), resume: [1])])
        #expect(try await world.lease()[0].held == HeldLease(item: id, number: 3))
        let before = try await world.snapshot()
        var response = StoredResponse()
        response.status = 200
        for lease in [0, 1, 2, 4] as [Int64] {
            let reports: [ItemLife.Event] = [
                .ended(.delivered, lease: lease), .ended(.refused("status400"), lease: lease),
                .ended(.transient("status503", delay: 1), lease: lease), .ended(.unknown("reset"), lease: lease),
                .ended(.aborted, lease: lease), .progressed(lease: lease), .setBack(attempt: 3, lease: lease),
                .verdict(.delivered, lease: lease), .verdict(.cannotTell("x"), lease: lease),
            ]
            for report in reports {
                let change = ItemChange(id, report, response: response, resume: [2], spec: "other")
                let applied = try await world.store.apply([change])[0]
                #expect(!applied.isAccepted && applied.effects.isEmpty && applied.freed.isEmpty, "\(report)")
            }
        }
        #expect(try await world.snapshot() == before)
        let end = ItemChange(id, .ended(.transient("status503", delay: 0), lease: 3))
        #expect(try await world.store.apply([end])[0].isAccepted)
        let next = try #require(try await world.lease(now: 90_000_000).first)
        #expect(next.resume == [1] && next.spec == "a")
        #expect(try await world.end(next, .delivered).freed == ["f"])
    }

    @Test(arguments: StoreKind.allCases)
    func `of concurrent ends of a lease one is accepted`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item(size: 3))
        let leased = try await world.lease()[0]
        let accepted = await withTaskGroup(of: Bool.self) { group in
            for ending in [.delivered, .refused("status400"), .delivered, .refused("x")] as [ItemLife.Ending] {
                group.addTask { (try? await world.end(leased, ending).isAccepted) == true }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(accepted == 1)
        #expect(try await world.store.results(after: 0, limit: 9).count == 1)
        #expect(try await world.store.tally(batch: nil).total == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `concurrent workers never lease the same item`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let count = 210
        _ = try await world.store.enqueue((0..<count).map { StoreWorld.item("\($0)", lane: "l\($0 % 3)") })
        let leased = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for worker in 0..<6 {
                group.addTask {
                    var ids: [Int64] = []
                    while true {
                        let request = LeaseRequest(token: "w\(worker)", slots: 7, slotsPerLane: 5)
                        let items = try await world.store.lease(request).items
                        if items.isEmpty { return ids }
                        ids += items.map(\.id)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(leased.count == count && Set(leased).count == count)
        #expect(try await world.store.tally(batch: nil).counts == [.leased: count])
    }

    @Test(arguments: StoreKind.allCases)
    func `a reader of results misses none of concurrent ends`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let (count, writers) = (240, 8)
        _ = try await world.store.enqueue((0..<count).map { StoreWorld.item("\($0)") })
        let leased = try await world.lease(count, perLane: count)
        let read = try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for item in leased where Int(item.id) % writers == writer {
                        try await world.end(item, .delivered, now: 5_000)
                    }
                }
            }
            var read: [OutboxResult] = []
            while read.count < count {
                read += try await world.store.results(after: read.last?.sequence ?? 0, limit: 7)
                try Task.checkCancellation()
                // The store in memory never suspends its caller: two such readers would occupy both threads for tasks.
                await Task.yield()
            }
            try await group.waitForAll()
            return read
        }
        #expect(Set(read.map(\.item.id)).count == count)
        let sequences = read.map(\.sequence)
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
        #expect(try await world.store.results(after: 0, limit: 1_000).map(\.sequence) == sequences)
    }

    @Test(arguments: StoreKind.allCases)
    func `a pause or cancellation of a leased item takes effect when its delivery ends`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        _ = try await world.add(StoreWorld.item("a"), StoreWorld.item("b"), StoreWorld.item("c"))
        let leased = try await world.lease()
        _ = try await world.store.control(.pause, .item(OutboxID(rawValue: leased[0].id)))
        for item in leased.dropFirst() {
            _ = try await world.store.control(.cancel, .item(OutboxID(rawValue: item.id)))
        }
        #expect(try await world.states() == [.leased, .leased, .leased])
        for item in leased.dropLast() { try await world.end(item, .aborted) }
        // Delivered before the worker saw the request.
        try await world.end(leased[2], .delivered)
        #expect(try await world.states() == [.paused, .cancelled, .done])
    }
}
