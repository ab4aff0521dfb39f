import GRDB
import Waybill
import WaybillCore

// Queries.

extension SQLiteStore {
    package func items(
        _ selection: ItemSelection, after id: Int64, limit: Int
    ) async throws(OutboxError) -> [OutboxItem] {
        try await group.perform { db in try Self.rows(selection, after: id, limit: limit, db).map(\.item) }
    }

    package func detail(_ id: Int64) async throws(OutboxError) -> StoredDetail? {
        try await group.perform { db in
            var query = try PreparedStatement(
                db, "SELECT \(FullItemRow.columns), \(FullItemRow.responseColumns) FROM item WHERE id = ?")
            query.bind(id)
            return try query.first { StoredDetail(FullItemRow($0), StoredResponse($0)) }
        }
    }

    package func tally(batch: String?) async throws(OutboxError) -> OutboxTally {
        try await group.perform { db in
            var query: PreparedStatement
            if let batch {
                query = try PreparedStatement(
                    db, "SELECT state, COUNT(*), TOTAL(size) FROM item WHERE batch = ? GROUP BY state")
                query.bind(batch)
            } else {
                query = try PreparedStatement(db, "SELECT state, items, bytes FROM tally WHERE items > 0")
            }
            var tally = OutboxTally()
            for (state, items, bytes) in try query.all({
                (OutboxState(number: $0[0]), $0[1] as Int, $0[2] as Int64)
            }) {
                tally.counts[state] = items
                tally.bytes[state] = bytes
            }
            return tally
        }
    }

    package func results(after sequence: Int64, limit: Int) async throws(OutboxError) -> [OutboxResult] {
        try await group.perform { db in
            var query = try PreparedStatement(
                db,
                """
                SELECT \(FullItemRow.columns), \(FullItemRow.responseColumns) FROM item
                WHERE seq > ? ORDER BY seq LIMIT ?
                """)
            query.bind(sequence)
            query.bind(limit)
            return try query.all { OutboxResult(FullItemRow($0), StoredResponse($0)) }
        }
    }

    package func mark(_ name: String) async throws(OutboxError) -> Int64 {
        try await group.perform { db in
            try Int64.fetchOne(db, sql: "SELECT value FROM mark WHERE name = ?", arguments: [name]) ?? 0
        }
    }

    package func raise(_ name: String, to value: Int64) async throws(OutboxError) {
        try await group.perform { db in
            try db.execute(
                sql: """
                    INSERT INTO mark(name, value) VALUES(?, ?)
                    ON CONFLICT(name) DO UPDATE SET value = MAX(value, excluded.value)
                    """, arguments: [name, value])
        }
    }

    package func purge(olderThan age: Duration) async throws(OutboxError) -> Int {
        var (count, last) = (0, Int64(0))
        while true {
            let from = last
            let page = try await change { try Self.purge(age.milliseconds, after: from, &$0) }
            count += page.purged
            guard let next = page.last else { break }
            last = next
        }
        try await change { try $0.removeEndedReservations() }
        try await shrink(keeping: Self.reservedPages)
        return count
    }

    /// Returns all free pages to the file system. A file created by release 0.1 lacks `auto_vacuum`: it is rewritten once,
    /// which needs free space for two copies, and all other calls wait.
    package func reclaim() async throws(OutboxError) {
        let isIncremental = try await group.perform { try Int.fetchOne($0, sql: "PRAGMA auto_vacuum") == 2 }
        if isIncremental {
            try await shrink(keeping: 0)
        } else {
            try await group.performWithoutTransaction { db in
                try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
                try db.execute(sql: "VACUUM")
            }
        }
        // Only a checkpoint truncates the file.
        try await group.performWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }

    /// Returns free pages to the file system, except for a reserve that new items use without growing the file. Works
    /// in pages, so that other transactions wait only a few milliseconds. A file created by release 0.1 keeps its size
    /// because it lacks `auto_vacuum`.
    private func shrink(keeping reserve: Int) async throws(OutboxError) {
        var isDone = false
        while !isDone {
            isDone = try await group.perform { db in
                let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
                guard free > reserve else { return true }
                let count = min(free - reserve, Self.pageSize)
                try db.execute(sql: "PRAGMA incremental_vacuum(\(count))")
                return try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0 >= free
            }
        }
    }

    /// 4 MiB.
    private static let reservedPages = 1_024

    /// Purges one page in the order of results. This is also the order of their times, unless the clock was ahead for a
    /// while: results with times later than that of the newest result may be followed by old ones.
    ///
    /// - Returns: The last sequence number of the page, if old results may follow it.
    private static func purge(
        _ age: Int64, after sequence: Int64, _ transaction: inout ItemTransaction
    ) throws -> (purged: Int, last: Int64?) {
        var query = try PreparedStatement(
            transaction.db,
            "SELECT id, ended_at, seq, state, size FROM item WHERE seq > ? ORDER BY seq LIMIT \(pageSize)")
        query.bind(sequence)
        let page = try query.all { row in
            (
                id: row[0] as Int64, endedAt: row[1] as Int64, sequence: row[2] as Int64,
                state: OutboxState(number: row[3]), size: row[4] as Int64?
            )
        }
        var files = try PreparedStatement(transaction.db, "DELETE FROM staged WHERE item = ?")
        var deletion = try PreparedStatement(transaction.db, "DELETE FROM item WHERE id = ?")
        let old = page.filter { $0.endedAt < transaction.now - age }
        for item in old {
            files.bind(item.id)
            try files.run()
            deletion.bind(item.id)
            try deletion.run()
            transaction.count(item.state, -1, item.size)
        }
        guard page.count == pageSize else { return (old.count, nil) }
        var last = try PreparedStatement(
            transaction.db, "SELECT ended_at FROM item WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1")
        let newest = try last.first { $0[0] as Int64 } ?? 0
        let canContinue = !old.isEmpty || page.contains { $0.endedAt > newest }
        return (old.count, canContinue ? page.last?.sequence : nil)
    }

    /// Copies the file with SQLite's backup API. Other calls wait until all pages are copied.
    package func copy(
        to path: String, finish: @escaping @Sendable ([String]) throws -> Void
    ) async throws(OutboxError) {
        try await group.performWithoutTransaction { db in
            let copy = try DatabaseQueue(path: path)
            try copy.writeWithoutTransaction { try db.backup(to: $0) }
            try copy.close()
            try finish(try String.fetchAll(db, sql: "SELECT name FROM staged"))
        }
    }

    package func stagedInUse(_ names: [String]) async throws(OutboxError) -> Set<String> {
        try await group.perform { db in
            let statement = try db.cachedStatement(sql: "SELECT 1 FROM staged WHERE name = ?")
            return Set(try names.filter { try Int.fetchOne(statement, arguments: [$0]) != nil })
        }
    }

    static func rows(_ selection: ItemSelection, after id: Int64, limit: Int, _ db: Database) throws -> [FullItemRow] {
        var conditions = ["id > ?"]
        if let ids = selection.ids {
            conditions.append("id IN (\(ids.map { "\($0.rawValue)" }.joined(separator: ",")))")
        }
        if let states = selection.states {
            conditions.append("state IN (\(states.map { "\($0.number)" }.sorted().joined(separator: ",")))")
            // Repeats the condition of the partial index literally, or else SQLite does not use the index.
            if states.isDisjoint(with: [.ready, .leased, .done]) { conditions.append(Schema.isRare) }
        }
        // Unary plus prevents the use of an index, so that rows are read in the order of their IDs without sorting.
        if selection.batch != nil { conditions.append("+batch = ?") }
        if selection.lane != nil { conditions.append("+lane = ?") }
        if selection.tag != nil { conditions.append("instr(tags, ?) > 0") }
        var query = try PreparedStatement(
            once: """
                SELECT \(FullItemRow.columns) FROM item WHERE \(conditions.joined(separator: " AND ")) ORDER BY id LIMIT ?
                """, db)
        query.bind(id)
        if let batch = selection.batch { query.bind(batch) }
        if let lane = selection.lane { query.bind(lane) }
        if let tag = selection.tag { query.bind(FullItemRow.separator + tag + FullItemRow.separator) }
        query.bind(limit)
        return try query.all(FullItemRow.init)
    }
}
