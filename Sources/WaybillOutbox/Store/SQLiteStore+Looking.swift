import FoundationEssentials
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
            let condition = batch == nil ? "" : "WHERE batch = ?"
            let rows = try Row.fetchAll(
                try db.cachedStatement(
                    sql: "SELECT state, COUNT(*), TOTAL(size) FROM item \(condition) GROUP BY state"),
                arguments: batch.map { [$0] } ?? [])
            var tally = OutboxTally()
            for row in rows {
                let state = OutboxState(number: row[0])
                tally.counts[state] = row[1]
                tally.bytes[state] = Int64(row[2] as Double)
            }
            return tally
        }
    }

    package func results(after sequence: Int64, limit: Int) async throws(OutboxError) -> [OutboxResult] {
        try await group.perform { db in
            let rows = try Row.fetchAll(
                try db.cachedStatement(
                    sql: """
                        SELECT \(ItemRow.columns), status, headers, body, message, changed_after FROM item
                        WHERE seq > ? ORDER BY seq LIMIT ?
                        """), arguments: [sequence, limit])
            return rows.map { row in
                let found = ItemRow(row)
                let headers = (row["headers"] as String?).flatMap {
                    try? JSONDecoder().decode([OutboxResult.Header].self, from: Data($0.utf8))
                }
                return OutboxResult(
                    sequence: found.sequence ?? 0, item: found.item, status: row["status"], headers: headers ?? [],
                    body: row["body"] ?? Data(), message: row["message"], sourceChangedAfterwards: row["changed_after"])
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
            let page = try await group.perform { db in
                let ids = try Int64.fetchAll(
                    db, sql: "SELECT id FROM item WHERE ended_at < ? LIMIT \(Self.pageSize)", arguments: [endedBefore])
                for id in ids {
                    try db.cachedStatement(sql: "DELETE FROM staged WHERE item = ?").execute(arguments: [id])
                    try db.cachedStatement(sql: "DELETE FROM item WHERE id = ?").execute(arguments: [id])
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
        var arguments: [(any DatabaseValueConvertible)?] = [id]
        if let ids = selection.ids {
            conditions.append("id IN (\(ids.map { "\($0.rawValue)" }.joined(separator: ",")))")
        }
        if let states = selection.states {
            conditions.append("state IN (\(states.map { "\($0.number)" }.sorted().joined(separator: ",")))")
        }
        for (column, value) in [("batch", selection.batch), ("lane", selection.lane)] {
            guard let value else { continue }
            conditions.append("+\(column) = ?")
            arguments.append(value)
        }
        if let tag = selection.tag {
            conditions.append("instr(tags, ?) > 0")
            arguments.append(ItemRow.separator + tag + ItemRow.separator)
        }
        arguments.append(limit)
        let statement = try db.makeStatement(
            sql: """
                SELECT \(ItemRow.columns) FROM item WHERE \(conditions.joined(separator: " AND ")) ORDER BY id LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: StatementArguments(arguments)).map(ItemRow.init)
    }
}
