#if Shared
    import WaybillOutbox

    /// The statements for lanes.
    enum LaneStatements {
        static let columns = "name, blocked, rests_until, failures, refusals"

        /// Reads a row with ``columns``.
        static func read(_ row: [PostgresValue]) -> (name: String, life: LaneLife) {
            var life = LaneLife()
            life.blocked = row[1].text
            life.suspendedUntil = row[2].integer ?? 0
            life.failures = Int(row[3].integer ?? 0)
            life.refusals = Int(row[4].integer ?? 0)
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
                INSERT INTO waybill.lane(\(columns)) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO UPDATE
                SET blocked = excluded.blocked, rests_until = excluded.rests_until, failures = excluded.failures,
                    refusals = excluded.refusals
                """,
                .text(name), life.blocked.map { .text($0.withoutNUL) } ?? .null(.text), .int8(life.suspendedUntil),
                .int4(Int32(clamping: life.failures)), .int4(Int32(clamping: life.refusals)))
        }
    }
#endif
