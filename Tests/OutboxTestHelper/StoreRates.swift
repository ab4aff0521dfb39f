import Glibc
import Waybill
import WaybillOutbox

/// Measures the throughput of the queue itself, without tasks, sessions or JSON of uploads: the cost of commits.
///
/// Each call of the store is a transaction that is durable when it returns.
struct StoreRates {
    let path: String
    let count: Int

    func run() async throws(OutboxError) {
        let store: any OutboxStore
        if path.hasPrefix("postgresql://") {
            store = try await OutboxTestHelper.sharedStore(path).open()
        } else {
            FileOutput.write("fdatasync of 4 KiB at the end of a file: \(try syncs()) /s\n")
            let file = try SQLiteStore(path: path)
            let durability = try await file.durability()
            FileOutput.write("synchronous \(durability.synchronous), \(durability.journal)\n")
            store = file
        }
        // Like the worker.
        let failure = await Task(executorPreference: store.executor) { () -> OutboxError? in
            do throws(OutboxError) {
                try await measure(store)
                return nil
            } catch {
                return error
            }
        }.value
        await store.close()
        if let failure { throw failure }
    }

    private func measure(_ store: any OutboxStore) async throws(OutboxError) {
        let first = min(count / 4, 2_000)
        let alone = try await seconds { () async throws(OutboxError) in
            for number in 0..<first { _ = try await store.enqueue([Self.item(number)]) }
        }
        var number = first
        let enqueue = try await seconds { () async throws(OutboxError) in
            while number < count {
                let page = (number..<min(number + 500, count)).map(Self.item)
                number += page.count
                _ = try await store.enqueue(page)
            }
        }
        let single = min(count / 4, 5_000)
        let singly = try await seconds { () async throws(OutboxError) in
            try await Self.deliver(single, slots: 1, from: store)
        }
        let grouped = try await seconds { () async throws(OutboxError) in
            try await Self.deliver(count - single, slots: 512, from: store)
        }
        report("enqueue, one at a time", first, alone)
        report("enqueue, 500 at a time", count - first, enqueue)
        report("lease and done, one at a time", single, singly)
        report("lease and done, 512 at a time", count - single, grouped)
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
    private static func deliver(_ count: Int, slots: Int, from store: any OutboxStore) async throws(OutboxError) {
        let response = StoredResponse(UploadResponse(status: .ok))
        var left = count
        var changes: [ItemChange] = []
        while left > 0 || !changes.isEmpty {
            let free = min(slots, left)
            let request = LeaseRequest(token: "t", slots: free, slotsPerLane: free)
            let (applied, leased) = try await store.apply(changes, thenLease: request)
            guard applied.allSatisfy(\.isAccepted) else {
                throw OutboxError(.storageFailed, "A result was not accepted.")
            }
            guard leased.items.count == free else {
                throw OutboxError(.storageFailed, "The store leased \(leased.items.count) items, expected \(free).")
            }
            changes = leased.items.map {
                ItemChange($0.id, .ended(.delivered, lease: $0.life.leaseNumber), lane: .responded, response: response)
            }
            left -= free
        }
    }

    private static func item(_ number: Int) -> NewItem {
        NewItem(
            kind: "form", lane: "backend.example:443", spec: #"{"number":\#(number)}"#,
            idempotencyKey: Delivery.newIdempotencyKey(), size: 1_000)
    }

    private func report(_ name: String, _ count: Int, _ seconds: Double) {
        FileOutput.write("\(name): \(Int(Double(count) / max(seconds, 1e-9))) /s\n")
    }

    private func seconds(_ work: () async throws(OutboxError) -> Void) async throws(OutboxError) -> Double {
        let start = ContinuousClock.now
        try await work()
        return start.duration(to: .now) / .seconds(1)
    }
}
