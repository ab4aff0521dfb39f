import Glibc
import Waybill
import WaybillOutbox

/// Measures how long a lease of eight items takes beside many unfinished ones, half of which wait for a later time. The
/// ends of the items that were leased before are part of its transaction, as in the worker.
struct LeaseTimes {
    let store: any OutboxStore
    /// The number of unfinished items.
    let count: Int
    static let leases = 1_000
    static let slots = 8

    func run() async throws(OutboxError) {
        // The server plans its statements for an empty queue, as for a worker that starts first.
        let request = LeaseRequest(token: "bench", slots: Self.slots, slotsPerLane: Self.slots)
        var ends = try await store.lease(request).items.map(StoreRates.delivered)
        let before = try await store.tally(batch: nil).counts.filter { !$0.key.isTerminal }.values.reduce(0, +)
        for first in stride(from: before, to: count, by: 500) {
            _ = try await store.enqueue((first..<min(first + 500, count)).map(Self.item))
        }
        var times: [Duration] = []
        for _ in 0..<Self.leases {
            let start = ContinuousClock.now
            let (applied, leased) = try await store.apply(ends, thenLease: request)
            times.append(start.duration(to: .now))
            guard applied.allSatisfy(\.isAccepted), leased.items.count == Self.slots else {
                throw OutboxError(.storageFailed, "The store leased \(leased.items.count) items of \(Self.slots).")
            }
            ends = leased.items.map(StoreRates.delivered)
            // Ready items, so that the number stays the same.
            _ = try await store.enqueue((0..<Self.slots).map { Self.item($0 * 2) })
        }
        _ = try await store.apply(ends)
        times.sort()
        let text = [times[times.count / 2], times[times.count * 99 / 100]].map { Int($0 / .microseconds(1)) }
        FileOutput.write("lease with \(count) unfinished: median \(text[0]) us, p99 \(text[1]) us\n")
    }

    /// An item that is ready if its number is even.
    private static func item(_ number: Int) -> NewItem {
        var item = StoreRates.item(number)
        if number % 2 == 1 { item.delay = 86_400_000 }
        return item
    }
}
