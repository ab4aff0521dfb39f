import GRDB
import TestSupport
import Testing

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct SchemaTests {
    @Test func `a version 1 file opens with its items, its counts and the current tables`() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("old.db")
        try Self.fill(path) { db in
            try db.execute(sql: FirstSchema.statements + "PRAGMA user_version = 1;")
            try db.execute(sql: "INSERT INTO lane(name) VALUES('h:80')")
            for (id, state, size) in [(1, 0, 7), (2, 0, nil), (3, 5, 30), (4, 6, 500), (5, 6, nil)]
                as [(Int, Int, Int?)]
            {
                try db.execute(
                    sql: """
                        INSERT INTO item(id, kind, lane, spec, idem_key, state, attempts, lease_no, verifying, asked, run_at,
                        doubtful, vain, max_attempts, on_unknown, on_change, priority, rank, tags, size, created_at)
                        VALUES(?, 'test', 'h:80', ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 3, 'fail', 'fail', 5, 1500000, '', ?, 0)
                        """, arguments: [id, "s\(id)", "key \(id)", state, size])
            }
        }
        let store = try SQLiteStore(path: path)
        let tally = try await store.tally(batch: nil)
        #expect(tally.counts == [.ready: 2, .done: 1, .failed: 2])
        #expect(tally.bytes == [.ready: 7, .done: 30, .failed: 500])
        #expect(try await store.items(.failed, after: 0, limit: 9).map(\.id.rawValue) == [4, 5])
        let leased = try await store.lease(LeaseRequest(token: "t", slots: 9, slotsPerLane: 9, now: 0)).items
        #expect(leased.map(\.spec) == ["s1", "s2"])
        #expect(try await store.tally(batch: nil).counts == [.leased: 2, .done: 1, .failed: 2])
        #expect(try await store.checkIntegrity() == "ok")
        await store.close()
        let fresh = folder.path("new.db")
        await (try SQLiteStore(path: fresh)).close()
        let tables = try Self.tables(path)
        #expect(try Self.tables(fresh) == tables && tables.count > 10)
    }

    @Test func `a file of a newer release is refused and unchanged`() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("queue.db")
        try Self.fill(path) { try $0.execute(sql: "PRAGMA user_version = \(Schema.version + 1)") }
        let error = #expect(throws: OutboxError.self) { _ = try SQLiteStore(path: path) }
        #expect(error?.code == .queueUnusable)
        #expect(try Self.tables(path).isEmpty)
    }

    @Test func `the log grows by a bounded size per item`() async throws {
        var random = SeededGenerator()
        let folder = try TemporaryDirectory()
        let store = try SQLiteStore(path: folder.path("queue.db"))
        let count = 10_000
        for _ in 0..<count / 500 {
            let page = (0..<500).map { _ in StoreWorld.item(size: Int64.random(in: 0..<1_000_000, using: &random)) }
            _ = try await store.enqueue(page, now: 0)
        }
        let afterEnqueue = try folder.size("queue.db-wal")
        // Random keys, or an index of sizes, would write to pages everywhere: two to three times as much.
        #expect(afterEnqueue / count < 500, "\(afterEnqueue / count) bytes an item")
        for _ in 0..<count / 500 {
            let leased = try await store.lease(LeaseRequest(token: "t", slots: 500, slotsPerLane: 500, now: 1)).items
            let changes = leased.map {
                ItemChange($0.id, .ended(.delivered, lease: $0.life.leaseNumber), answer: StoredResponse())
            }
            _ = try await store.apply(changes, now: 2)
        }
        let delivery = try (folder.size("queue.db-wal") - afterEnqueue) / count
        #expect(delivery > 0 && delivery < 750, "\(delivery) bytes an item")
        #expect(try await store.tally(batch: nil).counts == [.done: count])
    }

    private static func fill(_ path: String, _ work: (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction(work)
        try queue.close()
    }

    /// The definitions of all tables and indexes.
    private static func tables(_ path: String) throws -> [String] {
        let queue = try DatabaseQueue(path: path)
        let found = try queue.read {
            try String.fetchAll($0, sql: "SELECT name || ': ' || IFNULL(sql, '') FROM sqlite_master ORDER BY name")
        }
        try queue.close()
        return found
    }
}
