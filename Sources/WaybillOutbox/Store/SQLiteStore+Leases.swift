import GRDB
import Waybill

// Who goes next.

extension SQLiteStore {
    package func lease(_ wish: LeaseWish) async throws(OutboxError) -> LeaseAnswer {
        try await group.perform { db in
            // The same as the event `due`, for all at once.
            try db.cachedStatement(
                sql: "UPDATE item SET state = 0 WHERE state = 2 AND (run_at <= ? OR run_at > ?)"
            ).execute(arguments: [wish.now, wish.now + ItemLife.longestWait])
            var answer = LeaseAnswer()
            let candidates = try Self.candidates(wish, db)
            let rows = try ItemRow.fetch(db, ids: candidates)
            for id in candidates {
                // Nobody who is first in line is moved by what becomes of another one.
                guard var row = rows[id] else { continue }
                let (effects, _) = try Self.happen(.lease, to: &row, wish.now, db, token: wish.token)
                guard let effect = effects.first else { continue }
                if case .finished = effect {
                    answer.ended += 1
                    continue
                }
                answer.items.append(
                    LeasedItem(
                        id: row.id, kind: row.kind, lane: row.lane, spec: row.spec, life: row.life, effect: effect,
                        idempotencyKey: row.idempotencyKey, resume: row.resume, size: row.size, batch: row.batch))
            }
            answer.nextDue = try Self.nextDue(wish.now, db)
            return answer
        }
    }

    /// The most urgent items of all lanes that have room; doubts before anything new.
    private static func candidates(_ wish: LeaseWish, _ db: Database) throws -> [Int64] {
        var found: [(rank: Int64, runAt: Int64, id: Int64)] = []
        let lanes = try Row.fetchAll(
            try db.cachedStatement(sql: "SELECT name, rests_until FROM lane WHERE blocked IS NULL"))
        for lane in lanes {
            let name: String = lane[0]
            let room = min(wish.slots, wish.slotsPerLane - (wish.running[name] ?? 0))
            guard room > 0, ItemLife.isDue(lane[1], wish.now) else { continue }
            let doubts = try Row.fetchAll(
                try db.cachedStatement(
                    sql: """
                        SELECT id, run_at FROM item
                        WHERE lane = ? AND state = 3 AND verifying = 0 AND (run_at <= ? OR run_at > ?)
                        ORDER BY run_at, id LIMIT ?
                        """), arguments: [name, wish.now, wish.now + ItemLife.longestWait, room])
            found += doubts.map { (Int64.min, $0[1], $0[0]) }
            guard doubts.count < room else { continue }
            let ready = try Row.fetchAll(
                try db.cachedStatement(
                    sql: """
                        SELECT rank, id FROM item WHERE lane = ? AND state = 0 AND after IS NULL
                        ORDER BY rank, id LIMIT ?
                        """), arguments: [name, room - doubts.count])
            found += ready.map { ($0[0], 0, $0[1]) }
        }
        return found.sorted { $0 < $1 }.prefix(wish.slots).map(\.id)
    }

    private static func nextDue(_ now: Int64, _ db: Database) throws -> Int64? {
        let times = [
            "SELECT MIN(run_at) FROM item WHERE state = 2",
            "SELECT MIN(run_at) FROM item WHERE state = 3 AND verifying = 0 AND run_at > \(now)",
            """
            SELECT MIN(rests_until) FROM lane WHERE blocked IS NULL AND rests_until > \(now)
            AND (EXISTS(SELECT 1 FROM item WHERE lane = name AND state = 0 AND after IS NULL)
            OR EXISTS(SELECT 1 FROM item WHERE lane = name AND state = 3 AND verifying = 0))
            """,
        ]
        return try times.compactMap { try Int64.fetchOne(db, sql: $0) }.min()
    }

    package func lanes() async throws(OutboxError) -> [String: LaneLife] {
        try await group.perform { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT name, blocked, rests_until, failures FROM lane
                    WHERE blocked IS NOT NULL OR rests_until > 0 OR failures > 0
                    """)
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0] as String, LaneLife($0)) })
                .filter { $0.value != LaneLife() }
        }
    }

    package func lane(_ name: String, _ event: LaneLife.Event, now: Int64) async throws(OutboxError) {
        try await group.perform { db in
            var lanes = LaneBook()
            try lanes.happen(event, to: name, now, db)
        }
    }
}

/// The lanes as one transaction sees them: each is read once and written when it is no longer what it was.
struct LaneBook {
    private var known: [String: LaneLife] = [:]

    mutating func happen(_ event: LaneLife.Event, to name: String, _ now: Int64, _ db: Database) throws {
        let before: LaneLife
        if let life = known[name] { before = life } else { before = try Self.read(name, db) }
        var life = before
        life.handle(event, at: now)
        known[name] = life
        guard life != before else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO lane(name, blocked, rests_until, failures) VALUES(?, ?, ?, ?) ON CONFLICT(name) DO UPDATE SET
                blocked = excluded.blocked, rests_until = excluded.rests_until, failures = excluded.failures
                """
        ).execute(arguments: [name, life.blocked, life.restsUntil, life.failures])
    }

    private static func read(_ name: String, _ db: Database) throws -> LaneLife {
        let row = try Row.fetchOne(
            try db.cachedStatement(sql: "SELECT name, blocked, rests_until, failures FROM lane WHERE name = ?"),
            arguments: [name])
        return row.map(LaneLife.init) ?? LaneLife()
    }
}

extension LaneLife {
    /// Name, reason of a block, end of a rest, failures in a row.
    fileprivate init(_ row: Row) {
        self.init()
        blocked = row[1]
        restsUntil = row[2]
        failures = row[3]
    }
}
