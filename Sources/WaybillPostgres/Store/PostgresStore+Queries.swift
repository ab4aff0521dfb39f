#if Shared
    import Waybill
    import WaybillCore
    package import WaybillOutbox

    // Queries.

    extension PostgresStore {
        private func query(_ statement: PostgresStatement) async throws(OutboxError) -> PostgresRows {
            try await attempt { [side] (_) async throws(PostgresError) in try await side.run(statement) }
        }

        package func items(
            _ selection: ItemSelection, after id: Int64, limit: Int
        ) async throws(OutboxError) -> [OutboxItem] {
            try await query(ItemQuery.rows(selection, after: id, limit: limit)).rows.map { SharedItem($0).full.item }
        }

        package func detail(_ id: Int64) async throws(OutboxError) -> StoredDetail? {
            let rows = try await query(ItemQuery.rows(.item(OutboxID(rawValue: id)), after: id - 1, limit: 1))
            guard let found = rows.rows.first.map(SharedItem.init) else { return nil }
            return StoredDetail(found.full, found.response)
        }

        package func tally(batch: String?) async throws(OutboxError) -> OutboxTally {
            let sum = ItemWrites.sum("size")
            let statement =
                if let batch {
                    PostgresStatement(
                        """
                        SELECT state, count(*), \(sum) FROM waybill.item WHERE batch = $1 GROUP BY state
                        UNION ALL SELECT state, count(*), \(sum) FROM waybill.ended WHERE batch = $1 GROUP BY state
                        """, .text(batch))
                } else {
                    PostgresStatement(
                        """
                        SELECT state, count(*), \(sum) FROM waybill.item GROUP BY state
                        UNION ALL SELECT state, sum(items)::bigint, \(ItemWrites.sum("bytes")) FROM waybill.tally_delta
                            GROUP BY state HAVING sum(items) > 0
                        """)
                }
            var tally = OutboxTally()
            let rows = try await attempt { [side] (_) async throws(PostgresError) in
                // Counts all items: see `PostgresConfiguration`.
                try await side.run([PostgresStatement("SET LOCAL enable_seqscan = on"), statement])[1].rows
            }
            for row in rows {
                let state = OutboxState(number: Int(row[0].integer ?? 0))
                tally.counts[state] = Int(row[1].integer ?? 0)
                tally.bytes[state] = row[2].integer ?? 0
            }
            return tally
        }

        /// Returns results that no later one can precede: those of transactions before the oldest one that is running. If
        /// there are others, waits for that transaction, but not long.
        package func results(after sequence: Int64, limit: Int) async throws(OutboxError) -> [OutboxResult] {
            let deadline = ContinuousClock.now + options.resultPatience
            var count = 0
            while true {
                let rows = try await query(
                    PostgresStatement(Self.resultsText, .int8(sequence), .int8(Int64(limit)))
                ).rows
                let isComplete = rows.first.map { $0[SharedItem.columnCount].bool == true } ?? true
                let found = rows.map(SharedItem.init).filter { $0.row.sequence != nil }
                if isComplete || found.count == limit || ContinuousClock.now >= deadline {
                    return found.map { OutboxResult($0.full, $0.response) }
                }
                count += 1
                let isInterrupted = (try? await Task.sleep(for: Self.delay.delay(after: count))) == nil
                if isInterrupted { return found.map { OutboxResult($0.full, $0.response) } }
            }
        }

        private static let delay = Backoff(from: .milliseconds(1), to: .milliseconds(50))

        /// The first number that a transaction which is still running can use.
        static let horizon = """
            (SELECT value FROM waybill.meta WHERE name = 'seq_base')
                + (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 20)
            """

        // One more row, without a number, if no result is complete but others exist.
        private static let resultsText = """
            WITH horizon AS MATERIALIZED (SELECT \(horizon) AS value),
            state AS MATERIALIZED (
                SELECT NOT EXISTS(
                    SELECT FROM waybill.ended WHERE seq > $1 AND seq >= (SELECT value FROM horizon)) AS is_complete)
            SELECT \(SharedItem.ofEnded("e")), state.is_complete
            FROM state LEFT JOIN LATERAL (
                SELECT * FROM waybill.ended
                WHERE seq > $1 AND seq < (SELECT value FROM horizon) ORDER BY seq LIMIT $2) e ON true
            ORDER BY e.seq
            """

        package func mark(_ name: String) async throws(OutboxError) -> Int64 {
            let statement =
                name == OutboxMark.sequence
                ? PostgresStatement(
                    """
                    SELECT greatest((SELECT max(seq) FROM waybill.ended WHERE seq < (SELECT \(Self.horizon))),
                        (SELECT mark FROM waybill.consumer WHERE name = $1))
                    """, .text(name))
                : PostgresStatement("SELECT mark FROM waybill.consumer WHERE name = $1", .text(name))
            return try await query(statement).rows.first?[0].integer ?? 0
        }

        package func raise(_ name: String, to value: Int64) async throws(OutboxError) {
            _ = try await query(
                PostgresStatement(
                    """
                    INSERT INTO waybill.consumer AS c (name, mark) VALUES ($1, $2)
                    ON CONFLICT (name) DO UPDATE SET mark = excluded.mark WHERE c.mark < excluded.mark
                    """, .text(name), .int8(value)))
        }

        package func claim(_ name: String, token: String) async throws(OutboxError) -> Bool {
            let keep = LeaseStatements.keep(token, host, options.leaseDuration)
            let parameters: [PostgresValue] = [.text(name), .text(token)]
            return try await attempt { [side] (_) async throws(PostgresError) in
                try await side.run([
                    keep, PostgresStatement(Self.claimText, parameters: parameters),
                    PostgresStatement(
                        "SELECT token = $2 FROM waybill.consumer WHERE name = $1", parameters: parameters),
                ])[2][0, 0].bool == true
            }
        }

        private static let claimText = """
            INSERT INTO waybill.consumer AS c (name, token) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE SET token = excluded.token
            WHERE c.token IS DISTINCT FROM excluded.token AND NOT EXISTS(
                SELECT FROM waybill.worker w WHERE w.token = c.token AND w.until > waybill.wb_now())
            """

        package func release(_ name: String, token: String) async throws(OutboxError) {
            _ = try await query(
                PostgresStatement(
                    "UPDATE waybill.consumer SET token = NULL WHERE name = $1 AND token = $2", .text(name),
                    .text(token)))
        }

        package func body(
            _ name: String, of lease: HeldLease, token: String
        ) async throws(OutboxError) -> [UInt8]? {
            try await query(
                PostgresStatement(
                    """
                    SELECT b.bytes FROM waybill.body b JOIN waybill.item i ON i.id = b.item
                    WHERE b.name = $1 AND b.item = $2 AND i.lease_no = $3 AND i.token = $4
                    """, .text(name), .int8(lease.item), .int8(lease.number), .text(token))
            ).rows.first?[0].bytes
        }

        package func stagedInUse(_ names: [String]) async throws(OutboxError) -> Set<String> {
            // Array operators, because only they use the index.
            let rows = try await query(
                PostgresStatement(
                    """
                    SELECT DISTINCT name FROM (
                        SELECT unnest(staged) AS name FROM waybill.item WHERE staged <> '{}' AND staged && $1
                        UNION ALL
                        SELECT unnest(staged) FROM waybill.ended WHERE staged <> '{}' AND staged && $1) used
                    WHERE name = ANY($1)
                    """, .array(names)))
            return Set(rows.rows.compactMap { $0[0].text })
        }

        package func checkIntegrity() async throws(OutboxError) -> String {
            var damage: [String] = []
            for (name, condition) in Self.invariants {
                let count =
                    try await query(PostgresStatement("SELECT count(*) FROM \(condition)")).rows[0][0].integer ?? 0
                if count > 0 { damage.append("\(count) items: \(name)") }
            }
            return damage.isEmpty ? "ok" : damage.joined(separator: "\n")
        }

        private static let invariants = [
            ("ended, but among the unfinished items", "waybill.item WHERE state NOT BETWEEN 0 AND 4"),
            ("unfinished, but among the ended items", "waybill.ended WHERE state NOT BETWEEN 5 AND 7"),
            (
                "leased without a worker, or the reverse",
                "waybill.item WHERE (token IS NOT NULL) <> (state = 1 OR verifying)"
            ),
            (
                "waiting for an item that does not exist",
                "waybill.item i WHERE after IS NOT NULL AND NOT EXISTS(SELECT FROM waybill.item o WHERE o.id = i.after)"
            ),
            (
                "both unfinished and ended",
                "waybill.item i WHERE EXISTS(SELECT FROM waybill.ended e WHERE e.id = i.id OR e.idem_key = i.idem_key)"
            ),
            (
                "without a lane",
                "waybill.item i WHERE NOT EXISTS(SELECT FROM waybill.lane l WHERE l.name = i.lane)"
            ),
        ]
    }
#endif
