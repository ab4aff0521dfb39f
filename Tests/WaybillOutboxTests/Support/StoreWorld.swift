import GRDB
import TestSupport
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// The stores that one suite tests by the same rules.
enum StoreKind: CaseIterable, Sendable {
    case memory, disk
}

/// A store of either kind, with helpers for tests.
final class StoreWorld: Sendable {
    let store: any OutboxStore
    /// The clock of the store.
    private let clock = Watched<Int64>(0)
    private let directory: TemporaryDirectory?
    static let token = "this run"

    init(_ kind: StoreKind) throws {
        switch kind {
        case .memory:
            store = MemoryStore(now: { [clock] in clock.value })
            directory = nil
        case .disk:
            let directory = try TemporaryDirectory()
            store = try SQLiteStore(path: directory.path("queue.db"), now: { [clock] in clock.value })
            self.directory = directory
        }
    }

    /// Sets the clock of the store and returns the store.
    func at(_ now: Int64) async throws -> any OutboxStore {
        clock.update { $0 = now }
        return store
    }

    /// An item with a text as its spec.
    static func item(
        _ name: String = "a", lane: String = "h:80", key: String? = nil, duplicates: DuplicatePolicy = .keep,
        priority: Int = 5, batch: String? = nil, tags: [String] = [], size: Int64? = 10, life: ItemLife = ItemLife(),
        staged: [String] = []
    ) -> NewItem {
        NewItem(
            kind: "test", lane: lane, spec: name, life: life, priority: priority, batch: batch, tags: tags,
            deduplicationKey: key, duplicates: duplicates, idempotencyKey: Delivery.newIdempotencyKey(), size: size,
            staged: staged)
    }

    func add(_ items: NewItem..., now: Int64 = 0) async throws -> [Int64] {
        try await at(now).enqueue(items).map(\.id)
    }

    func lease(
        _ slots: Int = 100, perLane: Int = 100, running: [String: Int] = [:], now: Int64 = 1_000
    ) async throws -> [LeasedItem] {
        try await at(now).lease(
            LeaseRequest(token: Self.token, slots: slots, slotsPerLane: perLane, running: running)
        ).items
    }

    @discardableResult
    func end(_ item: LeasedItem, _ ending: ItemLife.Ending, now: Int64 = 2_000) async throws -> AppliedChange {
        try await at(now).apply([ItemChange(item.id, .ended(ending, lease: item.life.leaseNumber))])[0]
    }

    func item(_ id: Int64) async throws -> OutboxItem? {
        try await store.items(.item(OutboxID(rawValue: id)), after: 0, limit: 1).first
    }

    func states() async throws -> [OutboxState] {
        try await store.items(.all, after: 0, limit: 1_000).map(\.state)
    }
}

extension SQLiteStore {
    /// Changes the limit on the file's size, for tests of full disks.
    func limit(pages: Int) async throws(OutboxError) {
        try await group.perform { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
    }

    /// Writes the log into the file and releases all pages in memory, for tests of damaged files.
    func releasePages() async throws(OutboxError) {
        let queue = group.queue
        try await BlockingThread.run { () throws(OutboxError) in
            do {
                try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
                queue.releaseMemory()
            } catch {
                throw OutboxError(storage: error)
            }
        }
    }
}
