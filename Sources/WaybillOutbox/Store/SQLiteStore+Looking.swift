import GRDB
import Waybill

// What can be asked.

extension SQLiteStore {
    package func items(
        _ selection: ItemSelection, after id: Int64, limit: Int
    ) async throws(OutboxError) -> [OutboxItem] {
        try await group.perform { db in try Self.rows(selection, after: id, limit: limit, db).map(\.item) }
    }

    package func tally(batch: String?) async throws(OutboxError) -> OutboxTally {
        try await group.perform { db in
            var query: Prepared
            if let batch {
                query = try Prepared(
                    db, "SELECT state, COUNT(*), TOTAL(size) FROM item WHERE batch = ? GROUP BY state")
                query.bind(batch)
            } else {
                query = try Prepared(db, "SELECT state, items, bytes FROM tally WHERE items > 0")
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
            var query = try Prepared(
                db,
                """
                SELECT \(ItemRow.columns), \(ItemRow.answerColumns) FROM item WHERE seq > ? ORDER BY seq LIMIT ?
                """)
            query.bind(sequence)
            query.bind(limit)
            return try query.all { row in
                let (found, answer) = (ItemRow(row), KeptAnswer(row))
                return OutboxResult(
                    sequence: found.sequence ?? 0, item: found.item, status: answer.status, headers: answer.headers,
                    body: answer.body, message: answer.message,
                    sourceChangedAfterwards: answer.sourceChangedAfterwards)
            }
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

    package func purge(endedBefore: Int64) async throws(OutboxError) -> Int {
        var count = 0
        while true {
            let page = try await change { book in
                let ids = try Int64.fetchAll(
                    book.db, sql: "SELECT id FROM item WHERE ended_at < ? LIMIT \(Self.pageSize)",
                    arguments: [endedBefore])
                var files = try Prepared(book.db, "DELETE FROM staged WHERE item = ?")
                var item = try Prepared(book.db, "DELETE FROM item WHERE id = ? RETURNING state, size")
                for id in ids {
                    files.bind(id)
                    try files.run()
                    item.bind(id)
                    for (state, size) in try item.all({ (OutboxState(number: $0[0]), $0[1] as Int64?) }) {
                        book.count(state, -1, size)
                    }
                }
                return ids.count
            }
            count += page
            if page < Self.pageSize { return count }
        }
    }

    package func stagedInUse(_ names: [String]) async throws(OutboxError) -> Set<String> {
        try await group.perform { db in
            let statement = try db.cachedStatement(sql: "SELECT 1 FROM staged WHERE name = ?")
            return Set(try names.filter { try Int.fetchOne(statement, arguments: [$0]) != nil })
        }
    }

    static func rows(_ selection: ItemSelection, after id: Int64, limit: Int, _ db: Database) throws -> [ItemRow] {
        var conditions = ["id > ?"]
        if let ids = selection.ids {
            conditions.append("id IN (\(ids.map { "\($0.rawValue)" }.joined(separator: ",")))")
        }
        if let states = selection.states {
            conditions.append("state IN (\(states.map { "\($0.number)" }.sorted().joined(separator: ",")))")
            // In the words of the index, or SQLite won't look there.
            if states.isDisjoint(with: [.ready, .done]) { conditions.append(Schema.isRare) }
        }
        // With a sign before the name no index of it is taken, and the order of the numbers is free.
        if selection.batch != nil { conditions.append("+batch = ?") }
        if selection.lane != nil { conditions.append("+lane = ?") }
        if selection.tag != nil { conditions.append("instr(tags, ?) > 0") }
        var query = try Prepared(
            once: """
                SELECT \(ItemRow.columns) FROM item WHERE \(conditions.joined(separator: " AND ")) ORDER BY id LIMIT ?
                """, db)
        query.bind(id)
        if let batch = selection.batch { query.bind(batch) }
        if let lane = selection.lane { query.bind(lane) }
        if let tag = selection.tag { query.bind(ItemRow.separator + tag + ItemRow.separator) }
        query.bind(limit)
        return try query.all(ItemRow.init)
    }
}
