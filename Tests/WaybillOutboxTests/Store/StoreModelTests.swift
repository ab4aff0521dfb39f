import TestSupport
import Testing

@testable import WaybillOutbox

/// The store on disk against the one in memory, which is too simple to fail in the same way.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct StoreModelTests {
    @Test(arguments: 0..<4)
    func `disk and memory stores agree after any sequence of calls`(share: Int) async throws {
        var random = SeededGenerator()
        let pair = (disk: try await StoreWorld(.disk), memory: try await StoreWorld(.memory))
        var now: Int64 = 1_000_000
        var leases: [(id: Int64, lease: Int64)] = []
        var hasPurged = false
        _ = try await both([pair.disk.store, pair.memory.store]) { store in
            try await store.lane("l1", .setRate(LaneRate(30, per: .seconds(600))))
        }
        for step in 0..<250 {
            now += Int64.random(in: 0...30_000, using: &random)
            let stores = try await both([pair.disk, pair.memory]) { try await $0.at(now) }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                var item = StoreWorld.item(
                    "s\(step)", lane: "l\(Int.random(in: 0..<3, using: &random))",
                    key: Bool.random(using: &random) ? "k\(Int.random(in: 0..<4, using: &random))" : nil,
                    duplicates: [.keep, .replace, .append].randomElement(using: &random)!,
                    priority: Int.random(in: 0..<3, using: &random), batch: Bool.random(using: &random) ? "b" : nil,
                    size: Bool.random(using: &random) ? Int64.random(in: 0..<1_000, using: &random) : nil,
                    life: ItemLife(
                        maxAttempts: Int.random(in: 1...3, using: &random), deadline: now + 400_000,
                        onUnknown: [.fail, .retry, .ask].randomElement(using: &random)!))
                if item.deduplicationKey != nil, Bool.random(using: &random) {
                    item.keyPeriod = Int64.random(in: 0..<300_000, using: &random)
                }
                if Bool.random(using: &random) { item.delay = Int64.random(in: 0..<120_000, using: &random) }
                let added = try await both(stores) { [item] in try await $0.enqueue([item]) }
                #expect(added[0] == added[1], "step \(step)")
            case 3..<6:
                let request = LeaseRequest(
                    token: "t", slots: Int.random(in: 1...4, using: &random), slotsPerLane: 2)
                let results = try await both(stores) { try await $0.lease(request) }
                // Doubtful items of several lanes that are due at the same time have no defined order.
                let items = results.map { $0.items.sorted { $0.id < $1.id } }
                try #require(items[0] == items[1], "step \(step)")
                #expect(results[0].nextDue == results[1].nextDue, "step \(step)")
                #expect(results[0].nextProbe == results[1].nextProbe, "step \(step)")
                leases += items[0].map { ($0.id, $0.life.leaseNumber) }
            case 6 where Bool.random(using: &random):
                let age = Duration.milliseconds(Int64.random(in: 300_000...3_000_000, using: &random))
                let purged = try await both(stores) { try await $0.purge(olderThan: age) }
                #expect(purged[0] == purged[1], "step \(step)")
                hasPurged = hasPurged || purged[0] > 0
            case 6..<9:
                guard let lease = leases.randomElement(using: &random) else { continue }
                let change = ItemChange(
                    lease.id, Self.report(lease.lease, using: &random),
                    lane: Bool.random(using: &random) ? nil : .suspend(Int64.random(in: 0..<60_000, using: &random)))
                if Bool.random(using: &random) {
                    let applied = try await both(stores) { try await $0.apply([change]) }
                    #expect(applied[0] == applied[1], "step \(step)")
                } else {
                    let request = LeaseRequest(token: "t", slots: 2, slotsPerLane: 2)
                    let results = try await both(stores) { try await $0.apply([change], thenLease: request) }
                    #expect(results[0].applied == results[1].applied, "step \(step)")
                    let items = results.map { $0.leased.items.sorted { $0.id < $1.id } }
                    try #require(items[0] == items[1], "step \(step)")
                    leases += items[0].map { ($0.id, $0.life.leaseNumber) }
                }
            default:
                let event: ItemLife.Event = [.pause, .resume, .cancel, .retry].randomElement(using: &random)!
                let selection = ItemSelection(lane: "l\(Int.random(in: 0..<3, using: &random))")
                let results = try await both(stores) { try await $0.control(event, selection) }
                #expect(results[0] == results[1], "step \(step)")
            }
            let seen = try await both(stores) { try await $0.items(.all, after: 0, limit: 1_000).map(ItemSummary.init) }
            try #require(seen[0] == seen[1], "step \(step)")
            for batch in [nil, "b"] {
                let tallies = try await both(stores) { try await $0.tally(batch: batch) }
                try #require(tallies[0] == tallies[1], "step \(step)")
            }
        }
        let results = try await both([pair.disk.store, pair.memory.store]) {
            try await $0.results(after: 0, limit: 1_000).map { "\($0.sequence) \($0.item.id) \($0.item.state)" }
        }
        // A purge in one of the last steps may have removed all results.
        #expect(results[0] == results[1] && (hasPurged || !results[0].isEmpty))
        #expect(try await pair.disk.store.checkIntegrity() == "ok")
    }

    private struct ItemSummary: Equatable {
        let text: String
        init(_ item: OutboxItem) {
            text = """
                \(item.id) \(item.state) \(item.reason ?? "-") \(item.attempts) \(item.isDoubtful) \(item.dueAt ?? 0) \
                \(item.endedAt ?? 0)
                """
        }
    }

    private func both<Store, Value>(
        _ stores: [Store], _ body: (Store) async throws -> Value
    ) async throws -> [Value] {
        [try await body(stores[0]), try await body(stores[1])]
    }

    private static func report(_ lease: Int64, using random: inout SeededGenerator) -> ItemLife.Event {
        let delay = Int64.random(in: 0...20_000, using: &random)
        let events: [ItemLife.Event] = [
            .ended(.delivered, lease: lease), .ended(.unknown("reset"), lease: lease), .ended(.aborted, lease: lease),
            .ended(.transient("status503", delay: delay), lease: lease), .ended(.refused("status400"), lease: lease),
            .ended(.offline("cannotConnect"), lease: lease), .verdict(.absent, lease: lease),
            .verdict(.cannotTell("x"), lease: lease), .verdict(.delivered, lease: lease),
            .verdict(.later("x", delay: delay), lease: lease), .lost,
        ]
        return events.randomElement(using: &random)!
    }
}
