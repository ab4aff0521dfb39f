import FoundationEssentials
import GRDB
import Waybill

// What happens to items: each call one transaction.

extension SQLiteStore {
    package func enqueue(_ items: [NewItem], now: Int64) async throws(OutboxError) -> [EnqueuedItem] {
        try await group.perform { db in
            for lane in Set(items.map(\.lane)) {
                try db.cachedStatement(sql: "INSERT OR IGNORE INTO lane(name) VALUES(?)").execute(arguments: [lane])
            }
            return try items.map { try Self.insert($0, now, db) }
        }
    }

    package func apply(_ changes: [ItemChange], now: Int64) async throws(OutboxError) -> [AppliedChange] {
        try await group.perform { db in
            var lanes = LaneBook()
            var rows = try ItemRow.fetch(db, ids: changes.map(\.id))
            return try changes.map { change in
                guard var row = try rows.removeValue(forKey: change.id) ?? ItemRow.fetch(db, id: change.id) else {
                    return AppliedChange(life: nil, effects: [], isHeard: false)
                }
                // What becomes of one item may move another up in the line of their key: those are read again.
                if row.dedupeKey != nil { rows = [:] }
                let before = row.life
                if let event = change.lane { try lanes.happen(event, to: row.lane, now, db) }
                let (effects, freed) = try Self.happen(change.event, to: &row, now, db)
                let isHeard = before.hears(change.event)
                if isHeard { try Self.attach(change, to: row, db) }
                return AppliedChange(life: row.life, effects: effects, isHeard: isHeard, freed: freed)
            }
        }
    }

    package func control(
        _ event: ItemLife.Event, _ selection: ItemSelection, now: Int64
    ) async throws(OutboxError) -> ControlAnswer {
        var answer = ControlAnswer()
        var last: Int64 = 0
        while true {
            // In pages, so that nobody else waits for long.
            let from = last
            let (page, ids) = try await group.perform { db in
                var page = ControlAnswer()
                let ids = try Self.rows(selection, after: from, limit: Self.pageSize, db).map(\.id)
                for id in ids {
                    // Read again: what became of one item may have moved another up in its line.
                    guard var row = try ItemRow.fetch(db, id: id) else { continue }
                    let before = row.life
                    let (effects, freed) = try Self.happen(event, to: &row, now, db)
                    if row.life != before { page.changed += 1 }
                    if effects.contains(.abort) { page.aborts.append(row.id) }
                    page.freed += freed
                }
                return (page, ids)
            }
            answer.changed += page.changed
            answer.aborts += page.aborts
            answer.freed += page.freed
            guard ids.count == Self.pageSize, let end = ids.last else { return answer }
            last = end
        }
    }

    package func recover(token: String, now: Int64) async throws(OutboxError) -> Int {
        try await group.perform { db in
            let held = try Int64.fetchAll(
                db, sql: "SELECT id FROM item WHERE state = 1 AND token IS NOT ?", arguments: [token])
            let asking = try Int64.fetchAll(
                db, sql: "SELECT id FROM item WHERE verifying = 1 AND token IS NOT ?", arguments: [token])
            for id in held + asking {
                guard var row = try ItemRow.fetch(db, id: id) else { continue }
                _ = try Self.happen(.lost, to: &row, now, db)
            }
            return held.count
        }
    }

    /// Has an event happen to a row and saves it.
    ///
    /// - Returns: The effects, and the staged files that nobody needs any more.
    static func happen(
        _ event: ItemLife.Event, to row: inout ItemRow, _ now: Int64, _ db: Database, token: String? = nil
    ) throws -> (effects: [ItemLife.Effect], freed: [String]) {
        let before = row.life
        let effects = row.life.handle(event, at: now)
        guard row.life != before else { return (effects, []) }
        var freed: [String] = []
        if row.life.state.isTerminal, !before.state.isTerminal {
            row.endedAt = now
            row.sequence = try nextSequence(db)
            if row.life.state != .failed { freed = try free(row.id, db) }
        } else if !row.life.state.isTerminal, before.state.isTerminal {
            row.endedAt = nil
            row.sequence = nil
            row.after = try lastInLine(row.dedupeKey, db)
        }
        let holds = row.life.state == .leased || row.life.isVerifying
        try row.save(db, token: holds ? try token ?? currentToken(row.id, db) : nil)
        // Only what has a key can have somebody behind it in line.
        if row.dedupeKey != nil, row.endedAt != nil, !before.state.isTerminal {
            try db.cachedStatement(sql: "UPDATE item SET after = ? WHERE after = ?").execute(
                arguments: [row.after, row.id])
        }
        return (effects, freed)
    }

    private static func currentToken(_ id: Int64, _ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "SELECT token FROM item WHERE id = ?", arguments: [id])
    }

    private static func nextSequence(_ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO mark(name, value) VALUES('sequence', 1) ON CONFLICT(name) DO UPDATE SET value = value + 1
                RETURNING value
                """)
        return try Int64.fetchOne(statement) ?? 1
    }

    private static func free(_ id: Int64, _ db: Database) throws -> [String] {
        let names = try String.fetchAll(
            try db.cachedStatement(sql: "SELECT name FROM staged WHERE item = ?"), arguments: [id])
        if !names.isEmpty {
            try db.cachedStatement(sql: "DELETE FROM staged WHERE item = ?").execute(arguments: [id])
        }
        return names
    }

    /// What was learned beside the event.
    private static func attach(_ change: ItemChange, to row: ItemRow, _ db: Database) throws {
        if let answer = change.answer {
            let headers =
                answer.headers.isEmpty ? nil : try String(decoding: JSONEncoder().encode(answer.headers), as: UTF8.self)
            try db.cachedStatement(
                sql: "UPDATE item SET status = ?, headers = ?, body = ?, message = ?, changed_after = ? WHERE id = ?"
            ).execute(arguments: [
                answer.status, headers, answer.body, answer.message, answer.sourceChangedAfterwards, row.id,
            ])
        }
        if let resume = change.resume {
            try db.cachedStatement(sql: "UPDATE item SET resume = ? WHERE id = ?").execute(arguments: [
                Data(resume), row.id,
            ])
        }
        if let spec = change.spec {
            try db.cachedStatement(sql: "UPDATE item SET spec = ? WHERE id = ?").execute(arguments: [spec, row.id])
        }
    }

    private static func unfinished(_ key: String?, _ db: Database) throws -> [Int64] {
        guard let key else { return [] }
        return try Int64.fetchAll(
            try db.cachedStatement(sql: "SELECT id FROM item WHERE dedupe_key = ? AND state < 5 ORDER BY id"),
            arguments: [key])
    }

    /// The unfinished item of a key that no other one waits for. Not the one with the largest number: an old one that is
    /// retried goes to the end.
    private static func lastInLine(_ key: String?, _ db: Database) throws -> Int64? {
        guard let key else { return nil }
        return try Int64.fetchOne(
            try db.cachedStatement(
                sql: """
                    SELECT id FROM item AS one WHERE dedupe_key = ? AND state < 5
                    AND NOT EXISTS(SELECT 1 FROM item WHERE after = one.id AND state < 5) ORDER BY id DESC
                    """), arguments: [key])
    }

    private static func insert(_ item: NewItem, _ now: Int64, _ db: Database) throws -> EnqueuedItem {
        if let known = try known(item, db) { return known }
        var added = EnqueuedItem(id: 0, isNew: true)
        var after: Int64?
        if let there = try lastInLine(item.dedupeKey, db) {
            switch item.duplicates {
            case .keep: return EnqueuedItem(id: there, isNew: false)
            case .append: after = there
            case .replace:
                for id in try unfinished(item.dedupeKey, db) {
                    guard var row = try ItemRow.fetch(db, id: id) else { continue }
                    let (effects, freed) = try happen(.cancel, to: &row, now, db)
                    if effects.contains(.abort) { added.aborts.append(id) }
                    added.freed += freed
                }
                after = try lastInLine(item.dedupeKey, db)
            }
        }
        try db.cachedStatement(
            sql: """
                INSERT INTO item(kind, lane, spec, idem_key, state, attempts, lease_no, verifying, asked, run_at, doubtful,
                vain, max_attempts, deadline, on_unknown, on_change, priority, rank, batch, tags, dedupe_key, after,
                size, created_at) VALUES(?, ?, ?, ?, ?, 0, 0, 0, 0, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            item.kind, item.lane, item.spec, item.idempotencyKey, item.life.state.number, item.life.runAt,
            item.life.maxAttempts, item.life.deadline, item.life.onUnknown.rawValue, item.life.onChange.rawValue,
            item.priority, item.rank(now), item.batch, ItemRow.join(item.tags), item.dedupeKey, after, item.size, now,
        ])
        added.id = db.lastInsertedRowID
        for name in item.staged {
            try db.cachedStatement(sql: "INSERT INTO staged(name, item) VALUES(?, ?)").execute(
                arguments: [name, added.id])
        }
        return added
    }

    /// The item that has this one's idempotency key. Somebody who didn't get our answer asks again with the very same; a key
    /// that was chosen twice belongs to the first.
    private static func known(_ item: NewItem, _ db: Database) throws -> EnqueuedItem? {
        let found = try Int64.fetchOne(
            try db.cachedStatement(sql: "SELECT id FROM item WHERE idem_key = ?"), arguments: [item.idempotencyKey])
        guard let found else { return nil }
        let spec = try String.fetchOne(db, sql: "SELECT spec FROM item WHERE id = ?", arguments: [found])
        let staged = try String.fetchAll(
            try db.cachedStatement(sql: "SELECT name FROM staged WHERE item = ?"), arguments: [found])
        let isSame = spec == item.spec || !staged.isEmpty && Set(staged) == Set(item.staged)
        return EnqueuedItem(id: found, isNew: isSame)
    }

    static let pageSize = 1_000
}
