#if Shared
    package import WaybillOutbox

    // The partitions of ended items, one for each day by the clock of the server.

    extension PostgresStore {
        /// Removes old results. Whole days are removed at little cost, by dropping their partitions; if `age` is at least a
        /// day, nothing else is removed, so that a result is kept for up to one more day.
        package func purge(olderThan age: Duration) async throws(OutboxError) -> Int {
            try await attempt { [self] (_) async throws(PostgresError) in try await makePartitions() }
            let milliseconds = Int64(max(.zero, age) / .milliseconds(1))
            var count = 0
            let limits = try await attempt { [side] (_) async throws(PostgresError) in
                try await side.run([
                    PostgresStatement(Self.limitsText, .int8(milliseconds)), Self.listPartitions, Self.keepSequence,
                ])
            }
            let (time, day) = (limits[0][0, 0].integer ?? 0, Int(limits[0][0, 1].integer ?? 0))
            for old in limits[1].rows.compactMap({ Self.day($0[0].text ?? "") }).sorted() where old < day {
                count += try await attempt { [self] (_) async throws(PostgresError) in try await drop(old) }
            }
            try await removeReservations()
            guard milliseconds < Self.millisecondsPerDay else { return count }
            var last = Int64.min
            while true {
                let page = try await attempt { [side, last] (_) async throws(PostgresError) in
                    try await side.run(Self.deletePage(before: time, after: last))[1].rows[0]
                }
                count += Int(page[0].integer ?? 0)
                guard let end = page[1].integer else { return count }
                last = end
            }
        }

        private func removeReservations() async throws(OutboxError) {
            var isLast = false
            while !isLast {
                isLast = try await attempt { [side] (_) async throws(PostgresError) in
                    let statement = Reservations.removeEnded(limit: Self.pageSize)
                    return try await side.run(statement)[0, 0].integer ?? 0 < Self.pageSize
                }
            }
        }

        /// Drops the partition of a day.
        ///
        /// - Returns: The number of its items; 0 if other transactions kept its locks, so that it is left for the next time.
        private func drop(_ day: Int) async throws(PostgresError) -> Int {
            let name = Self.name(day)
            do throws(PostgresError) {
                return try await side.transaction { transaction throws(PostgresError) in
                    let rows = try await transaction.run([
                        // Writers of other days wait for this transaction, and all of them behind it if it has to wait.
                        PostgresStatement("SET LOCAL lock_timeout = 2000"),
                        PostgresStatement("LOCK TABLE ONLY waybill.ended IN ACCESS EXCLUSIVE MODE"),
                        PostgresStatement("LOCK TABLE \(name) IN ACCESS EXCLUSIVE MODE"),
                        PostgresStatement(
                            """
                            WITH counts AS (
                                SELECT state, count(*) AS items, \(ItemWrites.sum("size")) AS bytes FROM \(name)
                                GROUP BY state),
                            counted AS (
                                INSERT INTO waybill.tally_delta(state, items, bytes)
                                SELECT state, -items, -bytes FROM counts)
                            SELECT coalesce(sum(items), 0)::bigint FROM counts
                            """),
                    ])
                    try await transaction.run([
                        // Those of failed items.
                        PostgresStatement("DELETE FROM waybill.body b USING \(name) e WHERE b.item = e.id"),
                        PostgresStatement("DROP TABLE \(name)"),
                    ])
                    return Int(rows[3][0, 0].integer ?? 0)
                }
            } catch {
                // Another worker has dropped it, or a reader holds a lock.
                guard error.kind == .timeLimit || error.kind == .wrongSchema else { throw error }
                return 0
            }
        }

        /// Creates the partitions of today and tomorrow. An attached table, unlike one created as a partition, needs no
        /// lock for which transactions that end items would wait.
        func makePartitions() async throws(PostgresError) {
            let found = try await side.run([Self.today, Self.listPartitions])
            guard !Self.missing(found).isEmpty else { return }
            try await side.transaction(reading: [SharedSchema.lock, Self.today, Self.listPartitions]) { rows in
                let statements = Self.missing(Array(rows.dropFirst())).flatMap { day in
                    [
                        "CREATE TABLE \(Self.name(day)) (LIKE waybill.ended INCLUDING DEFAULTS)",
                        "ALTER TABLE waybill.ended ATTACH PARTITION \(Self.name(day)) FOR VALUES FROM (\(day)) TO (\(day + 1))",
                    ]
                }
                return (statements.map { PostgresStatement($0) }, ())
            }
        }

        private static func missing(_ rows: [PostgresRows]) -> [Int] {
            let today = Int(rows[0][0, 0].integer ?? 0)
            let existing = Set(rows[1].rows.compactMap { day($0[0].text ?? "") })
            return [today, today + 1].filter { !existing.contains($0) }
        }

        private static func name(_ day: Int) -> String {
            "waybill.ended_\(day < 0 ? "m\(-day)" : "\(day)")"
        }

        private static func day(_ name: String) -> Int? {
            let text = name.dropFirst("ended_".count)
            return text.hasPrefix("m") ? Int(text.dropFirst()).map { -$0 } : Int(text)
        }

        private static let millisecondsPerDay: Int64 = 86_400_000

        private static let today = PostgresStatement("SELECT floor(waybill.wb_now() / 86400000.0)::int")

        private static let listPartitions = PostgresStatement(
            """
            SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'waybill.ended'::regclass
            """)

        /// Stores the number of the last result, which must be known after its removal.
        private static let keepSequence = PostgresStatement(
            """
            INSERT INTO waybill.consumer AS c (name, mark)
            SELECT '\(OutboxMark.sequence)', max(seq) FROM waybill.ended WHERE seq < (SELECT \(horizon))
            HAVING max(seq) IS NOT NULL
            ON CONFLICT (name) DO UPDATE SET mark = excluded.mark WHERE c.mark < excluded.mark
            """)

        private static let limitsText =
            "SELECT t - $1, floor((t - $1) / 86400000.0)::int FROM (SELECT waybill.wb_now() AS t) clock"

        /// Returns the statements that delete some of the results that ended before a time: those after the last deleted one.
        /// The last statement returns their number, and the last of them.
        static func deletePage(before time: Int64, after last: Int64) -> [PostgresStatement] {
            [
                // Without statistics, the planner would sort all results of a day for each page.
                PostgresStatement(
                    "SELECT set_config('enable_sort', 'off', true), set_config('enable_hashjoin', 'off', true)"),
                PostgresStatement(deleteText, .int8(time), .int8(last)),
            ]
        }

        private static let deleteText = """
            WITH old AS MATERIALIZED (
                SELECT day, seq FROM waybill.ended
                WHERE day <= floor($1 / 86400000.0)::int AND ended_at < $1 AND seq > $2
                ORDER BY seq, day LIMIT \(pageSize) FOR UPDATE SKIP LOCKED),
            gone AS (
                DELETE FROM waybill.ended e USING old WHERE e.day = old.day AND e.seq = old.seq
                RETURNING e.id, e.state, e.size),
            bodies AS (DELETE FROM waybill.body b USING gone WHERE b.item = gone.id),
            counted AS (
                INSERT INTO waybill.tally_delta(state, items, bytes)
                SELECT state, -count(*), -\(ItemWrites.sum("size")) FROM gone GROUP BY state)
            SELECT (SELECT count(*) FROM gone), max(seq) FROM old
            """

        /// Replaces the rows of the tally by their sums when there are many.
        static let foldTally = PostgresStatement(
            """
            WITH gone AS (
                DELETE FROM waybill.tally_delta
                WHERE (SELECT count(*) FROM (SELECT FROM waybill.tally_delta LIMIT 100) c) = 100
                RETURNING state, items, bytes)
            INSERT INTO waybill.tally_delta(state, items, bytes)
            SELECT state, sum(items)::bigint, \(ItemWrites.sum("bytes")) FROM gone GROUP BY state
            """)
    }
#endif
