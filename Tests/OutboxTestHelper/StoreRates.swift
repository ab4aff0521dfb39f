import Glibc
import Waybill
import WaybillOutbox

/// Measures the throughput of the queue itself, without tasks, sessions or JSON of uploads: the cost of commits.
///
/// Each call of the store is a transaction that is durable when it returns.
struct StoreRates {
    let path: String
    let count: Int
    /// The number of stores in PostgreSQL that work concurrently, each with connections of its own.
    var workers = 1

    func run() async throws(OutboxError) {
        var stores: [any OutboxStore] = []
        if path.hasPrefix("postgresql://") {
            for _ in 0..<workers { stores.append(try await OutboxTestHelper.sharedStore(path).open()) }
        } else {
            FileOutput.write("fdatasync of 4 KiB at the end of a file: \(try syncs()) /s\n")
            let file = try SQLiteStore(path: path)
            let durability = try await file.durability()
            FileOutput.write("synchronous \(durability.synchronous), \(durability.journal)\n")
            stores = [file]
        }
        let single = min(count / 4, 5_000)
        try await measure("enqueue, one at a time", single, stores) { store, _, count throws(OutboxError) in
            for number in 0..<count { _ = try await store.enqueue([Self.item(number)]) }
        }
        try await measure("enqueue, 500 at a time", count - single, stores) { store, _, count throws(OutboxError) in
            for first in stride(from: 0, to: count, by: 500) {
                _ = try await store.enqueue((first..<min(first + 500, count)).map(Self.item))
            }
        }
        try await measure("lease and done, one at a time", single, stores) { store, worker, count throws(OutboxError) in
            try await Self.deliver(count, slots: 1, from: store, by: "worker\(worker)")
        }
        try await measure("lease and done, 512 at a time", count - single, stores) {
            store, worker, count throws(OutboxError) in
            try await Self.deliver(count, slots: 512, from: store, by: "worker\(worker)")
        }
        for store in stores { await store.close() }
    }

    /// Divides the items among the stores, and reports how many per second they processed together.
    private func measure(
        _ name: String, _ count: Int, _ stores: [any OutboxStore],
        _ work: @escaping @Sendable (any OutboxStore, _ worker: Int, _ count: Int) async throws(OutboxError) -> Void
    ) async throws(OutboxError) {
        let share = count / stores.count
        let start = ContinuousClock.now
        // On the executor of the store, like the worker.
        let tasks = stores.enumerated().map { worker, store in
            Task(executorPreference: store.executor) { () -> Result<Void, OutboxError> in
                do throws(OutboxError) {
                    return .success(try await work(store, worker, share))
                } catch {
                    return .failure(error)
                }
            }
        }
        for task in tasks { try await task.value.get() }
        let seconds = start.duration(to: .now) / .seconds(1)
        FileOutput.write("\(name): \(Int(Double(share * stores.count) / max(seconds, 1e-9))) /s\n")
    }

    /// The number of small appends per second that the disk makes durable one after another: no commit is faster.
    private func syncs() throws(OutboxError) -> Int {
        let name = path + ".syncs"
        let file = unsafe open(name, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { throw OutboxError(.storageFailed, "Could not create \(name) (errno \(errno)).") }
        defer {
            close(file)
            unsafe unlink(name)
        }
        let block = [UInt8](repeating: 1, count: 4_096)
        let start = ContinuousClock.now
        for _ in 0..<200 {
            guard unsafe write(file, block, block.count) == block.count, fdatasync(file) == 0 else {
                throw OutboxError(.storageFailed, "Could not write \(name) (errno \(errno)).")
            }
        }
        return Int(200 / (start.duration(to: .now) / .seconds(1)))
    }

    /// Like the worker: the results of earlier items and the lease of the next ones share a transaction.
    private static func deliver(
        _ count: Int, slots: Int, from store: any OutboxStore, by token: String
    ) async throws(OutboxError) {
        var left = count
        var changes: [ItemChange] = []
        while left > 0 || !changes.isEmpty {
            let free = min(slots, left)
            let request = LeaseRequest(token: token, slots: free, slotsPerLane: free)
            let (applied, leased) = try await store.apply(changes, thenLease: request)
            guard applied.allSatisfy(\.isAccepted) else {
                throw OutboxError(.storageFailed, "A result was not accepted.")
            }
            // Items that another worker is leasing at this moment are skipped.
            guard leased.items.count <= free else {
                throw OutboxError(.storageFailed, "The store leased \(leased.items.count) items, expected \(free).")
            }
            changes = leased.items.map(delivered)
            left -= leased.items.count
        }
    }

    static func delivered(_ item: LeasedItem) -> ItemChange {
        ItemChange(
            item.id, .ended(.delivered, lease: item.life.leaseNumber), lane: .responded,
            response: StoredResponse(UploadResponse(status: .ok)))
    }

    static func item(_ number: Int) -> NewItem {
        var item = NewItem(
            kind: "form", lane: "backend.example:443", spec: #"{"number":\#(number)}"#,
            idempotencyKey: Delivery.newIdempotencyKey(), size: 1_000)
        item.isKeyNew = true
        return item
    }
}
