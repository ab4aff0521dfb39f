#if Shared
    import WaybillOutbox

    /// The statements for lanes.
    enum LaneStatements {
        static let columns =
            "name, blocked, rests_until, failures, refusals, rate_count, rate_period, full_at, max_running"

        /// The lanes with a limit for all workers. Literally the condition of their index.
        static let isLimited = "(max_running IS NOT NULL OR rate_count IS NOT NULL)"

        /// Selects the lanes that have a rate, with the items that may start and the time at which the bucket is full, by
        /// the rules of ``LaneRate``, at the time `now_ms`.
        static let rated = """
            SELECT r.name, r.is_blocked, r.rests_until, r.burst, r.step, r.full_at,
                (r.top - r.full_at) / r.step AS free
            FROM (
                SELECT r.*, now_ms * 1000 + r.burst * r.step AS top,
                    least(greatest(r.last_full_at, now_ms * 1000), now_ms * 1000 + r.burst * r.step) AS full_at
                FROM (
                    SELECT l.name, l.blocked IS NOT NULL AS is_blocked, l.rests_until, l.full_at AS last_full_at, b.burst,
                        (l.rate_period * 1000 + l.rate_count - b.burst) / (l.rate_count - b.burst + 1) AS step
                    FROM waybill.lane l, LATERAL (SELECT greatest(1, l.rate_count / 20) AS burst) b
                    WHERE l.rate_count IS NOT NULL) r) r
            """

        /// Reads a row with ``columns``.
        static func read(_ row: [PostgresValue]) -> (name: String, life: LaneLife) {
            var life = LaneLife()
            life.blocked = row[1].text
            life.suspendedUntil = row[2].integer ?? 0
            life.failures = Int(row[3].integer ?? 0)
            life.refusals = Int(row[4].integer ?? 0)
            if let count = row[5].integer, let period = row[6].integer {
                life.rate = LaneRate(Int(count), per: .milliseconds(period))
            }
            life.bucketFullAt = row[7].integer
            life.maxRunning = row[8].integer.map(Int.init)
            return (row[0].text ?? "", life)
        }

        static func read(_ rows: PostgresRows) -> [String: LaneLife] {
            Dictionary(rows.rows.map(read), uniquingKeysWith: { $1 })
        }

        /// Creates lanes that do not exist.
        static func create(_ names: Set<String>) -> PostgresStatement {
            PostgresStatement(
                "INSERT INTO waybill.lane(name) SELECT name FROM unnest($1) AS name ON CONFLICT DO NOTHING",
                .array(names.sorted()))
        }

        /// Locks lanes.
        static func lock(_ names: [String]) -> PostgresStatement {
            PostgresStatement(
                "SELECT \(columns) FROM waybill.lane WHERE name = ANY($1) ORDER BY name FOR UPDATE", .array(names))
        }

        /// Locks the lanes of items.
        static func lock(of items: [Int64]) -> PostgresStatement {
            PostgresStatement(
                """
                SELECT \(columns) FROM waybill.lane WHERE name IN (
                    SELECT lane FROM waybill.item WHERE id = ANY($1)
                    UNION ALL SELECT lane FROM waybill.ended WHERE id = ANY($1))
                ORDER BY name FOR UPDATE
                """, .array(items))
        }

        static func write(_ name: String, _ life: LaneLife) -> PostgresStatement {
            PostgresStatement(
                """
                INSERT INTO waybill.lane(\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                ON CONFLICT (name) DO UPDATE SET
                    blocked = excluded.blocked, rests_until = excluded.rests_until, failures = excluded.failures,
                    refusals = excluded.refusals, rate_count = excluded.rate_count,
                    rate_period = excluded.rate_period, full_at = excluded.full_at,
                    max_running = excluded.max_running
                """,
                .text(name), life.blocked.map { .text($0.withoutNUL) } ?? .null(.text), .int8(life.suspendedUntil),
                .int4(Int32(clamping: life.failures)), .int4(Int32(clamping: life.refusals)),
                life.rate.map { .int4(Int32(clamping: $0.count)) } ?? .null(.int4),
                life.rate.map { .int8($0.period.milliseconds) } ?? .null(.int8),
                life.bucketFullAt.map(PostgresValue.int8) ?? .null(.int8),
                life.maxRunning.map { .int4(Int32(clamping: $0)) } ?? .null(.int4))
        }
    }
#endif
