import GRDB
import Waybill

// Selection and leasing of the next items.

extension SQLiteStore {
    /// Leases items that can be worked on, so that no other call leases them.
    package func lease(_ wish: LeaseRequest) async throws(OutboxError) -> LeaseResult {
        try await change { try Self.lease(wish, &$0) }
    }

    /// Applies changes and leases items in one transaction, which costs one sync of the disk instead of two.
    package func apply(
        _ changes: [ItemChange], thenLease wish: LeaseRequest
    ) async throws(OutboxError) -> (applied: [AppliedChange], leased: LeaseResult) {
        try await change { book in
            (try Self.apply(changes, wish.now, &book), try Self.lease(wish, &book))
        }
    }

    private static func lease(_ wish: LeaseRequest, _ book: inout ItemTransaction) throws -> LeaseResult {
        try wake(wish.now, &book)
        var answer = LeaseResult()
        // A lease of one item never changes the order of other items that are the first of their duplicates.
        for var item in try candidates(wish, &book) {
            let (effects, _) = try happen(.lease, to: &item.row, wish.now, &book, token: wish.token)
            guard let effect = effects.first else { continue }
            if case .finished = effect {
                answer.ended += 1
                continue
            }
            answer.items.append(
                LeasedItem(
                    id: item.row.id, kind: item.kind, lane: item.row.lane, spec: item.spec, life: item.row.life,
                    effect: effect,
                    idempotencyKey: item.idempotencyKey, resume: item.resume, size: item.row.size, batch: item.batch))
        }
        answer.nextDue = try nextDue(wish.now, book.db)
        answer.nextProbe = try endOfRest(wish.now, isBlocked: true, book.db)
        return answer
    }

    /// Applies the event `due` to all items. Uses two ranges of the index, because `OR` would read all waiting items.
    private static func wake(_ now: Int64, _ book: inout ItemTransaction) throws {
        let ends = [("<=", now), (">", now + ItemLife.longestWait)]
        for (comparison, time) in ends {
            var due = try Prepared(book.db, "SELECT id, size FROM item WHERE state = 2 AND run_at \(comparison) ?")
            due.bind(time)
            for (id, size) in try due.all({ ($0[0] as Int64, $0[1] as Int64?) }) {
                var update = try Prepared(book.db, "UPDATE item SET state = 0 WHERE id = ?")
                update.bind(id)
                try update.run()
                book.count(.waiting, -1, size)
                book.count(.ready, 1, size)
            }
        }
    }

    /// Returns the most urgent items of all lanes with free slots; items to be verified precede others.
    private static func candidates(_ wish: LeaseRequest, _ book: inout ItemTransaction) throws -> [FullItemRow] {
        var lanes = try Prepared(book.db, "SELECT \(LaneLife.columns) FROM lane")
        let open = try lanes.all { OpenLane(name: $0[0], life: LaneLife($0), wish) }.filter { $0.room > 0 }
        // For a single lane, these items are final and can be read completely. For many lanes, they would be many more
        // than are leased.
        if open.count == 1 {
            return try first(of: open[0], wish.now, FullItemRow.columns, book.db) { FullItemRow($0) }
        }
        let place = "CASE state WHEN 0 THEN rank ELSE \(Int64.min) END, CASE state WHEN 0 THEN 0 ELSE run_at END, id"
        var found: [(rank: Int64, runAt: Int64, id: Int64)] = []
        for lane in open { found += try first(of: lane, wish.now, place, book.db) { ($0[0], $0[1], $0[2]) } }
        return try found.sorted { $0 < $1 }.prefix(wish.slots).compactMap { try book.whole($0.id) }
    }

    private static func first<Row>(
        of lane: OpenLane, _ now: Int64, _ columns: String, _ db: Database, _ read: (Prepared) -> Row
    ) throws -> [Row] {
        var doubts = try Prepared(
            db,
            """
            SELECT \(columns) FROM item WHERE lane = ? AND state = 3 AND verifying = 0 AND (run_at <= ? OR run_at > ?)
            ORDER BY run_at, id LIMIT ?
            """)
        doubts.bind(lane.name)
        doubts.bind(now)
        doubts.bind(now + ItemLife.longestWait)
        doubts.bind(lane.room)
        let found = try doubts.all(read)
        guard found.count < lane.room else { return found }
        // A blocked lane is probed with an item that has not failed yet: a failure may be specific to an item.
        for condition in lane.isBlocked ? ["AND reason IS NULL", ""] : [""] {
            var ready = try Prepared(
                db,
                """
                SELECT \(columns) FROM item WHERE lane = ? AND \(Schema.isFirst) AND state = 0 \(condition)
                ORDER BY rank, id LIMIT ?
                """)
            ready.bind(lane.name)
            ready.bind(lane.room - found.count)
            let items = try ready.all(read)
            if !items.isEmpty { return found + items }
        }
        return found
    }

    /// A lane that can be contacted now.
    private struct OpenLane {
        let name: String
        let room: Int
        let isBlocked: Bool

        init(name: String, life: LaneLife, _ wish: LeaseRequest) {
            self.name = name
            isBlocked = life.blocked != nil
            room = min(wish.slots, life.room(wish.now, slots: wish.slotsPerLane) - (wish.running[name] ?? 0))
        }
    }

    private static func nextDue(_ now: Int64, _ db: Database) throws -> Int64? {
        var waiting = try Prepared(db, "SELECT MIN(run_at) FROM item WHERE state = 2")
        var doubts = try Prepared(
            db, "SELECT MIN(run_at) FROM item WHERE state = 3 AND verifying = 0 AND run_at > ?")
        doubts.bind(now)
        let times: [Int64?] = [
            try waiting.first { $0[0] as Int64? } ?? nil, try doubts.first { $0[0] as Int64? } ?? nil,
            try endOfRest(now, isBlocked: false, db),
        ]
        return times.compactMap(\.self).min()
    }

    /// Returns the time at which the first lane with pending work can be contacted again.
    private static func endOfRest(_ now: Int64, isBlocked: Bool, _ db: Database) throws -> Int64? {
        var rests = try Prepared(
            db,
            """
            SELECT MIN(rests_until) FROM lane WHERE blocked IS \(isBlocked ? "NOT " : "")NULL AND rests_until > ?
            AND (EXISTS(SELECT 1 FROM item WHERE lane = name AND \(Schema.isFirst) AND state = 0)
            OR EXISTS(SELECT 1 FROM item WHERE lane = name AND state = 3 AND verifying = 0))
            """)
        rests.bind(now)
        return try rests.first { $0[0] as Int64? } ?? nil
    }

    /// Returns the lanes that are not in their initial state.
    package func lanes() async throws(OutboxError) -> [String: LaneLife] {
        try await group.perform { db in
            var query = try Prepared(
                db,
                """
                SELECT \(LaneLife.columns) FROM lane
                WHERE blocked IS NOT NULL OR rests_until > 0 OR failures > 0 OR refusals > 0
                """)
            let rows = try query.all { ($0[0] as String, LaneLife($0)) }
            return Dictionary(uniqueKeysWithValues: rows).filter { $0.value != LaneLife() }
        }
    }

    package func lane(_ name: String, _ event: LaneLife.Event, now: Int64) async throws(OutboxError) {
        try await group.perform { db in
            var lanes = LaneTransaction()
            try lanes.happen(event, to: name, now, db)
        }
    }
}

/// The lanes within one transaction: each is read once, and written when it changes.
struct LaneTransaction {
    private var known: [String: LaneLife] = [:]

    mutating func happen(_ event: LaneLife.Event, to name: String, _ now: Int64, _ db: Database) throws {
        let before: LaneLife
        if let life = known[name] { before = life } else { before = try Self.read(name, db) }
        var life = before
        life.handle(event, at: now)
        known[name] = life
        guard life != before else { return }
        var update = try Prepared(
            db,
            """
            INSERT INTO lane(\(LaneLife.columns)) VALUES(?, ?, ?, ?, ?) ON CONFLICT(name) DO UPDATE SET
            blocked = excluded.blocked, rests_until = excluded.rests_until, failures = excluded.failures,
            refusals = excluded.refusals
            """)
        update.bind(name)
        update.bind(life.blocked)
        update.bind(life.restsUntil)
        update.bind(life.failures)
        update.bind(life.refusals)
        try update.run()
    }

    private static func read(_ name: String, _ db: Database) throws -> LaneLife {
        var query = try Prepared(db, "SELECT \(LaneLife.columns) FROM lane WHERE name = ?")
        query.bind(name)
        return try query.first(LaneLife.init) ?? LaneLife()
    }
}

extension LaneLife {
    fileprivate static let columns = "name, blocked, rests_until, failures, refusals"

    fileprivate init(_ row: Prepared) {
        self.init()
        blocked = row[1]
        restsUntil = row[2]
        failures = row[3]
        refusals = row[4]
    }
}
