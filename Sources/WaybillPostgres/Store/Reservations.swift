#if Shared
    import WaybillOutbox

    /// The deduplication keys that delivered items reserve.
    struct Reservations {
        private var keys: [String: (item: Int64, until: Int64)] = [:]

        /// Reserves the key of an item that was delivered now.
        mutating func add(_ row: ItemRow, at now: Int64) {
            guard let key = row.deduplicationKey, let period = row.keyPeriod else { return }
            keys[key] = (row.id, now + min(period, .max / 4))
        }

        /// The statement that stores the reservations; `nil` if there are none.
        var statement: PostgresStatement? {
            guard !keys.isEmpty else { return nil }
            let keys = keys.sorted { $0.key < $1.key }
            return PostgresStatement(
                """
                INSERT INTO waybill.reservation(key, item, until)
                SELECT * FROM unnest($1::text[], $2::int8[], $3::int8[])
                ON CONFLICT (key) DO UPDATE SET item = excluded.item, until = excluded.until
                """, .array(keys.map(\.key)), .array(keys.map(\.value.item)), .array(keys.map(\.value.until)))
        }

        /// Deletes some reservations that have ended, and returns their number. Those of an enqueue in progress are left.
        static func removeEnded(limit: Int) -> PostgresStatement {
            PostgresStatement(
                """
                WITH gone AS (
                    DELETE FROM waybill.reservation WHERE key = ANY(ARRAY(
                        SELECT key FROM waybill.reservation WHERE until <= (SELECT waybill.wb_now())
                        LIMIT $1 FOR UPDATE SKIP LOCKED))
                    RETURNING 1)
                SELECT count(*) FROM gone
                """, .int8(Int64(limit)))
        }
    }
#endif
