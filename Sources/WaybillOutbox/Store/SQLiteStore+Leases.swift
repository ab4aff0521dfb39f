import GRDB
import Waybill

// Selection and leasing of the next items.

extension SQLiteStore {
    package func lease(_ request: LeaseRequest) async throws(OutboxError) -> LeaseResult {
        try await change { try Self.lease(request, &$0) }
    }

    package func apply(
        _ changes: [ItemChange], thenLease request: LeaseRequest
    ) async throws(OutboxError) -> (applied: [AppliedChange], leased: LeaseResult) {
        try await change { transaction in
            (try Self.apply(changes, &transaction), try Self.lease(request, &transaction))
        }
    }

    /// Reports the status of leases, which last as long as their worker's process.
    package func renew(_ leases: [HeldLease], token: String) async throws(OutboxError) -> [LeaseStatus] {
        try await change { transaction in
            try leases.map { lease in
                guard let row = try transaction.item(lease.item), row.token == token else { return .lost }
                return row.life.status(ofLease: lease.number)
            }
        }
    }

    /// Returns `true`: one worker delivers from a queue file.
    package func claim(_ name: String, token: String) async throws(OutboxError) -> Bool { true }

    package func release(_ name: String, token: String) async throws(OutboxError) {}

    private static func lease(_ request: LeaseRequest, _ transaction: inout ItemTransaction) throws -> LeaseResult {
        let now = transaction.now
        try wake(&transaction)
        var result = LeaseResult()
        // A lease of one item never changes the order of other items that are the first of their duplicates.
        let lanes = try allLanes(transaction.db)
        for var item in try candidates(request, lanes, &transaction) {
            let (effects, _) = try apply(.lease, to: &item.row, &transaction, token: request.token)
            guard let effect = effects.first else { continue }
            if case .finished = effect {
                result.ended += 1
                continue
            }
            result.items.append(LeasedItem(item, effect, at: now))
        }
        let next = try nextStart(after: result.items, lanes, transaction)
        result.nextDue = [try nextDue(now, transaction.db), next.due].compactMap(\.self).min().map { $0 - now }
        let probes = [
            try endOfSuspension(now, isBlocked: true, transaction.db), try endOfDelay(transaction.db),
            next.probe,
        ]
        result.nextProbe = probes.compactMap(\.self).min().map { $0 - now }
        return result
    }

    /// Applies the event `due` to all items. Uses two ranges of each index, because `OR` would read all waiting items.
    private static func wake(_ transaction: inout ItemTransaction) throws {
        let now = transaction.now
        let ranges = [
            ("not_before IS NULL AND run_at <=", now),
            ("not_before IS NULL AND run_at >", now + ItemLife.longestWait),
            ("not_before IS NOT NULL AND not_before <=", now),
            ("not_before IS NOT NULL AND not_before >", now + ItemLife.longestDelay),
        ]
        for (condition, time) in ranges {
            var due = try PreparedStatement(
                transaction.db, "SELECT id, size FROM item WHERE state = 2 AND \(condition) ?")
            due.bind(time)
            for (id, size) in try due.all({ ($0[0] as Int64, $0[1] as Int64?) }) {
                var update = try PreparedStatement(
                    transaction.db, "UPDATE item SET state = 0, not_before = NULL WHERE id = ?")
                update.bind(id)
                try update.run()
                transaction.count(.waiting, -1, size)
                transaction.count(.ready, 1, size)
            }
        }
    }

    /// Returns the most urgent items of all lanes with free slots; items to be verified precede others.
    private static func candidates(
        _ request: LeaseRequest, _ lanes: [(name: String, life: LaneLife)], _ transaction: inout ItemTransaction
    ) throws -> [FullItemRow] {
        let now = transaction.now
        let open = lanes.map { OpenLane(name: $0.name, life: $0.life, request, now) }.filter { $0.availableSlots > 0 }
        // For a single lane, these items are final and can be read completely. For many lanes, they would be many more
        // than are leased.
        if open.count == 1 {
            return try first(of: open[0], now, FullItemRow.columns, transaction.db) { FullItemRow($0) }
        }
        let order = "CASE state WHEN 0 THEN rank ELSE \(Int64.min) END, CASE state WHEN 0 THEN 0 ELSE run_at END, id"
        var found: [(rank: Int64, runAt: Int64, id: Int64)] = []
        for lane in open { found += try first(of: lane, now, order, transaction.db) { ($0[0], $0[1], $0[2]) } }
        return try found.sorted { $0 < $1 }.prefix(request.slots).compactMap { try transaction.fullItem($0.id) }
    }

    private static func first<Row>(
        of lane: OpenLane, _ now: Int64, _ columns: String, _ db: Database, _ read: (PreparedStatement) -> Row
    ) throws -> [Row] {
        var doubtful = try PreparedStatement(
            db,
            """
            SELECT \(columns) FROM item WHERE lane = ? AND state = 3 AND verifying = 0 AND (run_at <= ? OR run_at > ?)
            ORDER BY run_at, id LIMIT ?
            """)
        doubtful.bind(lane.name)
        doubtful.bind(now)
        doubtful.bind(now + ItemLife.longestWait)
        doubtful.bind(lane.availableSlots)
        let found = try doubtful.all(read)
        guard found.count < lane.availableSlots else { return found }
        // A blocked lane is probed with an item that has not failed yet: a failure may be specific to an item.
        for condition in lane.isBlocked ? ["AND reason IS NULL", ""] : [""] {
            var ready = try PreparedStatement(
                db,
                """
                SELECT \(columns) FROM item WHERE lane = ? AND \(Schema.isFirst) AND state = 0 \(condition)
                ORDER BY rank, id LIMIT ?
                """)
            ready.bind(lane.name)
            ready.bind(lane.availableSlots - found.count)
            let items = try ready.all(read)
            if !items.isEmpty { return found + items }
        }
        return found
    }

    /// A lane that can be contacted now.
    private struct OpenLane {
        let name: String
        let availableSlots: Int
        let isBlocked: Bool

        init(name: String, life: LaneLife, _ request: LeaseRequest, _ now: Int64) {
            self.name = name
            isBlocked = life.blocked != nil
            let ofLane = life.availableSlots(now, of: request.slotsPerLane)
            // One worker delivers from a queue file: what it has in progress is all that is. Leased items have no index,
            // so that counting them would read all ready items of the lane.
            let running = request.running[name] ?? 0
            availableSlots = min(
                request.slots, ofLane - running, life.availableSlots(running: running), life.availableStarts(now))
        }
    }

    /// Returns the time at which the first delay ends.
    private static func endOfDelay(_ db: Database) throws -> Int64? {
        var delayed = try PreparedStatement(
            db, "SELECT MIN(not_before) FROM item WHERE state = 2 AND not_before IS NOT NULL")
        return try delayed.first { $0[0] as Int64? } ?? nil
    }

    private static func nextDue(_ now: Int64, _ db: Database) throws -> Int64? {
        var waiting = try PreparedStatement(db, "SELECT MIN(run_at) FROM item WHERE state = 2 AND not_before IS NULL")
        var doubtful = try PreparedStatement(
            db, "SELECT MIN(run_at) FROM item WHERE state = 3 AND verifying = 0 AND run_at > ?")
        doubtful.bind(now)
        let times: [Int64?] = [
            try waiting.first { $0[0] as Int64? } ?? nil, try doubtful.first { $0[0] as Int64? } ?? nil,
            try endOfSuspension(now, isBlocked: false, db),
        ]
        return times.compactMap(\.self).min()
    }

    /// Returns the time at which the first lane with pending work can be contacted again.
    private static func endOfSuspension(_ now: Int64, isBlocked: Bool, _ db: Database) throws -> Int64? {
        var suspensions = try PreparedStatement(
            db,
            """
            SELECT MIN(rests_until) FROM lane WHERE blocked IS \(isBlocked ? "NOT " : "")NULL AND rests_until > ?
            AND (EXISTS(SELECT 1 FROM item WHERE lane = name AND \(Schema.isFirst) AND state = 0)
            OR EXISTS(SELECT 1 FROM item WHERE lane = name AND state = 3 AND verifying = 0))
            """)
        suspensions.bind(now)
        return try suspensions.first { $0[0] as Int64? } ?? nil
    }

    package func lanes() async throws(OutboxError) -> [String: LaneLife] {
        try await group.perform { db in
            var query = try PreparedStatement(
                db,
                """
                SELECT \(LaneLife.columns) FROM lane
                WHERE blocked IS NOT NULL OR rests_until > 0 OR failures > 0 OR refusals > 0
                OR rate_count IS NOT NULL OR max_running IS NOT NULL
                """)
            let rows = try query.all { ($0[0] as String, LaneLife($0)) }
            return Dictionary(uniqueKeysWithValues: rows).filter { $0.value != LaneLife() }
        }
    }

    package func lane(_ name: String, _ event: LaneLife.Event) async throws(OutboxError) {
        try await change { transaction in
            var lanes = LaneTransaction()
            try lanes.apply(event, to: name, transaction)
        }
    }
}
