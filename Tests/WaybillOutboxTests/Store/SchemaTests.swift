import GRDB
import TestSupport
import Testing
import WaybillCore

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct SchemaTests {
    @Test func `a version 1 file opens with its items, its counts and the current tables`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("old.db")
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
        let leased = try await store.lease(LeaseRequest(token: "t", slots: 9, slotsPerLane: 9)).items
        #expect(leased.map(\.spec) == ["s1", "s2"])
        #expect(try await store.tally(batch: nil).counts == [.leased: 2, .done: 1, .failed: 2])
        #expect(try await store.checkIntegrity() == "ok")
        await store.close()
        let fresh = directory.path("new.db")
        await (try SQLiteStore(path: fresh)).close()
        let tables = try Self.tables(path)
        #expect(try Self.tables(fresh) == tables && tables.count > 10)
    }

    @Test(arguments: [true, false])
    func `all unused space is returned on request, also by a file of release 0.1`(hasVacuum: Bool) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("queue.db")
        if !hasVacuum {
            try Self.fill(path) { try $0.execute(sql: FirstSchema.statements + "PRAGMA user_version = 1;") }
        }
        let clock = Locked<Int64>(0)
        let store = try SQLiteStore(path: path, now: { clock.withLock { $0 } })
        let large = String(repeating: "x", count: 20_000)
        let added = try await store.enqueue((0..<300).map { StoreWorld.item("\($0)" + large) })
        _ = try await store.enqueue([StoreWorld.item("kept")])
        _ = try await store.apply(added.map { ItemChange($0.id, .cancel) })
        clock.withLock { $0 = 10 }
        let before = try await store.storedBytes()
        #expect(try await store.purge(olderThan: .zero) == 300)
        try await store.reclaim()
        let after = try await store.storedBytes()
        #expect(before > 6_000_000 && after < 400_000, "\(before) \(after)")
        #expect(try await store.durability().synchronous == 2)
        #expect(try await store.items(.all, after: 0, limit: 9).map(\.id.rawValue) == [301])
        #expect(try await store.checkIntegrity() == "ok")
        await store.close()
        await #expect(throws: OutboxError.self) { try await store.reclaim() }
    }

    @Test func `a file of a newer release is refused and unchanged`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("queue.db")
        try Self.fill(path) { try $0.execute(sql: "PRAGMA user_version = \(Schema.version + 1)") }
        let error = #expect(throws: OutboxError.self) { _ = try SQLiteStore(path: path) }
        #expect(error?.code == .queueUnusable)
        #expect(try Self.tables(path).isEmpty)
    }

    @Test func `the log grows by a bounded size per item`() async throws {
        var random = SeededGenerator()
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.path("queue.db"), now: { 0 })
        let count = 10_000
        for _ in 0..<count / 500 {
            let page = (0..<500).map { _ in StoreWorld.item(size: Int64.random(in: 0..<1_000_000, using: &random)) }
            _ = try await store.enqueue(page)
        }
        let afterEnqueue = try directory.size("queue.db-wal")
        // Random keys, or an index of sizes, would write to pages everywhere: two to three times as much.
        #expect(afterEnqueue / count < 500, "\(afterEnqueue / count) bytes an item")
        for _ in 0..<count / 500 {
            let leased = try await store.lease(LeaseRequest(token: "t", slots: 500, slotsPerLane: 500)).items
            let changes = leased.map {
                ItemChange($0.id, .ended(.delivered, lease: $0.life.leaseNumber), response: StoredResponse())
            }
            _ = try await store.apply(changes)
        }
        let delivery = try (directory.size("queue.db-wal") - afterEnqueue) / count
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

/// The tables of a queue file of version 1, as existing installations have them.
private enum FirstSchema {
    static let statements = """
        CREATE TABLE item(
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          kind TEXT NOT NULL, lane TEXT NOT NULL, spec TEXT NOT NULL, idem_key TEXT NOT NULL UNIQUE,
          state INTEGER NOT NULL, attempts INTEGER NOT NULL, lease_no INTEGER NOT NULL, verifying INTEGER NOT NULL,
          asked INTEGER NOT NULL, run_at INTEGER NOT NULL, first_at INTEGER, doubtful INTEGER NOT NULL,
          vain INTEGER NOT NULL, reason TEXT, max_attempts INTEGER NOT NULL, deadline INTEGER,
          on_unknown TEXT NOT NULL, on_change TEXT NOT NULL,
          priority INTEGER NOT NULL, rank INTEGER NOT NULL, batch TEXT, tags TEXT NOT NULL, dedupe_key TEXT, after INTEGER, size INTEGER,
          token TEXT, resume BLOB, created_at INTEGER NOT NULL, ended_at INTEGER, seq INTEGER,
          status INTEGER, headers TEXT, body BLOB, message TEXT, changed_after INTEGER NOT NULL DEFAULT 0);
        CREATE INDEX item_ready ON item(lane, rank, id) WHERE state = 0 AND after IS NULL;
        CREATE INDEX item_leased ON item(id) WHERE state = 1;
        CREATE INDEX item_waiting ON item(run_at) WHERE state = 2;
        CREATE INDEX item_verify ON item(lane, run_at) WHERE state = 3 AND verifying = 0;
        CREATE INDEX item_verifying ON item(id) WHERE verifying = 1;
        CREATE UNIQUE INDEX item_dedupe ON item(dedupe_key)
          WHERE dedupe_key IS NOT NULL AND after IS NULL AND state < 5;
        CREATE INDEX item_same ON item(dedupe_key, id) WHERE dedupe_key IS NOT NULL;
        CREATE INDEX item_after ON item(after) WHERE after IS NOT NULL;
        CREATE UNIQUE INDEX item_seq ON item(seq) WHERE seq IS NOT NULL;
        CREATE INDEX item_ended ON item(ended_at) WHERE ended_at IS NOT NULL;
        CREATE INDEX item_tally ON item(state, size);
        CREATE INDEX item_batch ON item(batch, state, size) WHERE batch IS NOT NULL;
        CREATE TABLE lane(
          name TEXT PRIMARY KEY, blocked TEXT, rests_until INTEGER NOT NULL DEFAULT 0,
          failures INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
        CREATE TABLE staged(name TEXT PRIMARY KEY, item INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX staged_item ON staged(item);
        CREATE TABLE mark(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        """
}
