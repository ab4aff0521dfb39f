import GRDB
import TestSupport
import Testing
import WaybillCore

@testable import WaybillOutbox

/// The loop of the worker: what a transaction contains, and how a damaged queue ends the run.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct LoopTests {
    @Test func `consecutive deliveries cost one transaction each`() async throws {
        let world = try OutboxWorld()
        var configuration = OutboxWorld.quick
        configuration.maximumConcurrentDeliveries = 1
        let outbox = try await world.open(configuration)
        let count = 20
        for number in 0..<count { try await outbox.enqueue(try await world.form("\(number)")) }
        let store = try #require(outbox.owner?.store as? SQLiteStore)
        let commits = WritingCommits()
        try await store.group.perform { $0.add(transactionObserver: commits, extent: .databaseLifetime) }
        // The first write reveals how many changes there were before.
        try await outbox.acknowledge(through: 0)
        let before = commits.count
        try await world.deliver(outbox)
        #expect(try await outbox.states() == Array(repeating: .done, count: count))
        // The end of one and the lease of the next; one more for the first lease.
        #expect(commits.count - before == count + 1)
        await outbox.close()
    }

    @Test(arguments: [true, false])
    func `a damaged queue ends the run, with and without onResult`(
        _ hasHandler: Bool
    ) async throws {
        let world = try OutboxWorld(.neverRespond)
        var configuration = OutboxWorld.quick
        if hasHandler { configuration.onResult = { _ in } }
        let outbox = try await world.open(configuration)
        try await outbox.enqueue(try await world.form())
        let run = Task { try await outbox.run(session: world.session) }
        try await world.server.waitUntil { $0.requests.first?.isComplete == true }
        let store = try #require(outbox.owner?.store as? SQLiteStore)
        // Bypasses the connection, which has no page of the file in memory.
        try await store.releasePages()
        let size = try world.directory.size("outbox/queue.db")
        try world.directory.overwrite("outbox/queue.db", at: 0, [UInt8](repeating: 0xA5, count: size))
        outbox.owner?.signalChange()
        let error = await #expect(throws: OutboxError.self) { try await run.value }
        #expect(error?.code == .queueUnusable)
        #expect(outbox.owner?.running.withLock { $0.isEmpty } == true)
        await outbox.close()
    }

    @Test func `a delivery cancelled before it begins is cancelled when it begins`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        let core = try #require(outbox.owner)
        let ids = try await outbox.enqueue(try await world.form())
        let request = LeaseRequest(token: core.token, slots: 1, slotsPerLane: 1)
        let leased = try await core.store.lease(request).items[0]
        // Between the lease and the start.
        try await outbox.cancel(.item(ids.id))
        let isCancelled = Watched<Bool?>(nil)
        let shown = RunningItem(
            id: ids.id, attempt: 1, isVerifying: false, acknowledged: 0, total: nil, bytesPerSecond: 0, batch: nil)
        core.begin(leased.id, RunningDelivery(item: shown, lane: leased.lane, lease: leased.life.leaseNumber)) {
            let forever = Observed(false)
            await forever.wait { $0 }
            isCancelled.update { $0 = Task.isCancelled }
        }
        try await isCancelled.waitUntil { $0 != nil }
        #expect(isCancelled.value == true)
        await outbox.close()
    }
}

/// Counts the commits that wrote something.
private final class WritingCommits: TransactionObserver, Sendable {
    private let state = Locked((commits: 0, changes: 0))

    var count: Int { state.withLock { $0.commits } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) {
        let changes = db.totalChangesCount
        state.withLock { state in
            if changes > state.changes { state.commits += 1 }
            state.changes = changes
        }
    }
    func databaseDidRollback(_ db: Database) {}
}
