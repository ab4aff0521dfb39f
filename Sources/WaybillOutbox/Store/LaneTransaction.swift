import GRDB

/// The lanes within one transaction: each is read once, and written when it changes.
struct LaneTransaction {
    private var known: [String: LaneLife] = [:]

    mutating func apply(_ event: LaneLife.Event, to name: String, _ transaction: ItemTransaction) throws {
        let db = transaction.db
        let before: LaneLife
        if let life = known[name] { before = life } else { before = try Self.read(name, db) }
        var life = before
        life.handle(event, at: transaction.now)
        known[name] = life
        guard life != before else { return }
        var update = try PreparedStatement(
            db,
            """
            INSERT INTO lane(\(LaneLife.columns)) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(name) DO UPDATE SET
            blocked = excluded.blocked, rests_until = excluded.rests_until, failures = excluded.failures,
            refusals = excluded.refusals, rate_count = excluded.rate_count, rate_period = excluded.rate_period,
            full_at = excluded.full_at, max_running = excluded.max_running
            """)
        update.bind(name)
        update.bind(life.blocked)
        update.bind(life.suspendedUntil)
        update.bind(life.failures)
        update.bind(life.refusals)
        update.bind(life.rate?.count)
        update.bind(life.rate?.period.milliseconds)
        update.bind(life.bucketFullAt)
        update.bind(life.maxRunning)
        try update.run()
    }

    private static func read(_ name: String, _ db: Database) throws -> LaneLife {
        var query = try PreparedStatement(db, "SELECT \(LaneLife.columns) FROM lane WHERE name = ?")
        query.bind(name)
        return try query.first(LaneLife.init) ?? LaneLife()
    }
}

extension LaneLife {
    static let columns = "name, blocked, rests_until, failures, refusals, rate_count, rate_period, full_at, max_running"

    init(_ row: PreparedStatement) {
        self.init()
        blocked = row[1]
        suspendedUntil = row[2]
        failures = row[3]
        refusals = row[4]
        rate = (row[5] as Int?).map { LaneRate($0, per: .milliseconds(row[6] as Int64)) }
        bucketFullAt = row[7]
        maxRunning = row[8]
    }
}

// The rates of lanes.

extension SQLiteStore {
    /// Returns all lanes.
    static func allLanes(_ db: Database) throws -> [(name: String, life: LaneLife)] {
        var lanes = try PreparedStatement(db, "SELECT \(LaneLife.columns) FROM lane")
        return try lanes.all { ($0[0], LaneLife($0)) }
    }

    /// Counts leased items against the rates of their lanes.
    ///
    /// - Returns: The time at which a lane with pending items may start the next one, of open and of blocked lanes.
    static func nextStart(
        after items: [LeasedItem], _ lanes: [(name: String, life: LaneLife)], _ transaction: ItemTransaction
    ) throws -> (due: Int64?, probe: Int64?) {
        var next: (due: Int64?, probe: Int64?) = (nil, nil)
        var changes = LaneTransaction()
        for var lane in lanes where lane.life.rate != nil {
            let starts = items.count { $0.lane == lane.name }
            if starts > 0 {
                try changes.apply(.started(starts), to: lane.name, transaction)
                lane.life.handle(.started(starts), at: transaction.now)
            }
            guard lane.life.isOpen(transaction.now), lane.life.availableStarts(transaction.now) < 1,
                let time = lane.life.nextStart, try hasPending(lane.name, transaction.db)
            else { continue }
            if lane.life.blocked == nil {
                next.due = min(next.due ?? .max, time)
            } else {
                next.probe = min(next.probe ?? .max, time)
            }
        }
        return next
    }

    private static func hasPending(_ lane: String, _ db: Database) throws -> Bool {
        var query = try PreparedStatement(
            db,
            """
            SELECT EXISTS(SELECT 1 FROM item WHERE lane = ?1 AND \(Schema.isFirst) AND state = 0)
            OR EXISTS(SELECT 1 FROM item WHERE lane = ?1 AND state = 3 AND verifying = 0)
            """)
        query.bind(lane)
        return try query.first { $0[0] as Bool } ?? false
    }
}
