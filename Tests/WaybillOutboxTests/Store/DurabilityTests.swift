import Dispatch
import TestSupport
import Testing
import WaybillCore

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct DurabilityTests {
    @Test func `SQLite syncs each commit, also after reopening`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.path("queue.db"))
        let found = try await store.durability()
        #expect(found.synchronous == 2 && found.journal == "wal")
        await store.close()
        // At every start, not only at the first.
        let again = try SQLiteStore(path: directory.path("queue.db"))
        #expect(try await again.durability().synchronous == 2)
    }

    @Test func `committed items exist after reopening the store`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.path("queue.db"), now: { 3 })
        _ = try await store.enqueue([StoreWorld.item("kept", staged: ["f"])])
        await store.close()
        let again = try SQLiteStore(path: directory.path("queue.db"))
        #expect(try await again.items(.all, after: 0, limit: 9).map(\.createdAt) == [3])
        #expect(try await again.stagedInUse(["f"]) == ["f"])
    }

    @Test func `purging old items shrinks the queue file`() async throws {
        let directory = try TemporaryDirectory()
        let clock = Locked<Int64>(100)
        let store = try SQLiteStore(path: directory.path("queue.db"), now: { clock.withLock { $0 } })
        let large = String(repeating: "x", count: 20_000)
        let items = (0..<1_000).map { StoreWorld.item("\($0)" + large) }
        let added = try await store.enqueue(items)
        let kept = try await store.enqueue([StoreWorld.item("kept")])[0].id
        _ = try await store.apply(added.map { ItemChange($0.id, .cancel) })
        #expect(try await store.purge(olderThan: .zero) == 0)
        clock.withLock { $0 += 1 }
        #expect(try await store.purge(olderThan: .milliseconds(1)) == 0)
        #expect(try await store.purge(olderThan: .zero) == 1_000)
        #expect(try await store.checkIntegrity() == "ok")
        await store.close()
        #expect(try directory.size("queue.db") < 5 << 20)
        let again = try SQLiteStore(path: directory.path("queue.db"))
        #expect(try await again.items(.all, after: 0, limit: 9).map(\.id.rawValue) == [kept])
    }

    @Test func `a hundred callers share commits, and a failing one does not affect the others`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.path("queue.db"))
        let taken = StoreWorld.item("taken", staged: ["the same"])
        _ = try await store.enqueue([taken])
        let failures = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                // The name of a staged file must be unique: every tenth violates that.
                let item = StoreWorld.item("\(number)", staged: number % 10 == 0 ? ["the same"] : [])
                group.addTask { (try? await store.enqueue([item])) == nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(failures == 10)
        #expect(try await store.tally(batch: nil).total == 91)
    }

    @Test func `a full disk refuses new items, loses nothing, and recovers when there is space`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.path("queue.db"))
        try await store.limit(pages: 60)
        var added = 0
        let large = String(repeating: "x", count: 8_000)
        let error = await #expect(throws: OutboxError.self) {
            while added < 1_000 {
                _ = try await store.enqueue([StoreWorld.item(large)])
                added += 1
            }
        }
        #expect(error?.code == .diskFull && added > 5)
        #expect(try await store.tally(batch: nil).total == added)
        try await store.limit(pages: 1_000_000)
        _ = try await store.enqueue([StoreWorld.item(large)])
        #expect(try await store.tally(batch: nil).total == added + 1)
        #expect(try await store.checkIntegrity() == "ok")
    }

    @Test(arguments: [true, false])
    func `a rolled back change is not kept, alone or in a shared transaction`(_ isAlone: Bool) async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.path("queue.db"))
        let id = try await store.enqueue([StoreWorld.item()])[0].id
        @Sendable func failed() async -> OutboxError? {
            do throws(OutboxError) {
                try await store.change { transaction in
                    guard var row = try transaction.item(id) else { return }
                    _ = try SQLiteStore.apply(.lease, to: &row, &transaction, token: "t")
                    throw OutboxError(.storageFailed, "after the write")
                }
                return nil
            } catch {
                return error
            }
        }
        if isAlone {
            #expect(await failed()?.message == "after the write")
        } else {
            // Behind a job that keeps the connection busy, so that they share a transaction.
            let begun = Watched(false)
            let gate = DispatchSemaphore(value: 0)
            async let busy: Void = store.group.perform { _ in
                begun.update { $0 = true }
                gate.wait()
            }
            try await begun.waitUntil { $0 }
            async let first = failed()
            async let second = store.mark("any")
            while store.group.state.withLock({ $0.jobs.count }) < 2 { await Task.yield() }
            gate.signal()
            try await busy
            #expect(await first?.message == "after the write")
            #expect(try await second == 0)
        }
        let life = try await store.change { try $0.item(id)?.life }
        #expect(life?.state == .ready && life?.leaseNumber == 0)
        #expect(try await store.lease(LeaseRequest(token: "t", slots: 1, slotsPerLane: 1)).items.count == 1)
        await store.close()
    }

    @Test func `a file that is not a queue is refused and unchanged`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("queue.db", String(repeating: "this is no database. ", count: 500))
        let error = #expect(throws: OutboxError.self) { _ = try SQLiteStore(path: path) }
        #expect(error?.code == .queueUnusable)
        #expect(try directory.read("queue.db").count == 21 * 500)
    }

    @Test func `a closed store fails as closed`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.path("queue.db"))
        await store.close()
        await store.close()
        let error = await #expect(throws: OutboxError.self) { _ = try await store.enqueue([StoreWorld.item()]) }
        #expect(error?.code == .closed)
    }
}
