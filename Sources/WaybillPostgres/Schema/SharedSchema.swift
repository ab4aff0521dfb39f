#if Shared
    import WaybillCore

    /// Creates and migrates the tables of a shared outbox.
    package enum SharedSchema {
        /// The version that this program writes.
        package static var version: Int64 { Int64(migrations.count) }

        /// The statements that lead from each version to the next; the first list begins with nothing.
        static let migrations: [[String]] = {
            var migrations = SchemaStatements.migrations
            migrations[0] += LeaseFunction.statements + SQLFunctions.statements
            return migrations
        }()

        /// Creates the tables, or migrates those of an older version. Concurrent calls wait for each other.
        ///
        /// A program of an older version may keep running as long as the newer schema permits it, in `oldest_version`.
        ///
        /// - Parameters:
        ///   - connection: The connection.
        ///   - creating: Whether the tables are created if there are none.
        /// - Throws: ``PostgresError``; of the kind `wrongSchema` if a newer program has excluded this version, or without
        ///   tables.
        package static func prepare(_ connection: PostgresConnection, creating: Bool = true) async throws(PostgresError)
        {
            try await prepare(connection, migrations, creating: creating)
        }

        /// - Parameters:
        ///   - connection: The connection.
        ///   - migrations: The statements of a release, as ``migrations``.
        ///   - creating: Whether the tables are created if there are none.
        /// - Throws: ``PostgresError``, as ``prepare(_:creating:)``; of the kind `timeLimit` if another session keeps a table locked.
        static func prepare(
            _ connection: PostgresConnection, _ migrations: [[String]], creating: Bool = true
        ) async throws(PostgresError) {
            let deadline = ContinuousClock.now + patience
            for failures in 1... {
                do throws(PostgresError) {
                    return try await migrate(connection, migrations, creating)
                } catch {
                    guard error.sqlState == lockTimeout else { throw error }
                    guard ContinuousClock.now < deadline else { throw locked }
                }
                try? await Task.sleep(for: retryDelay.delay(after: failures, jitter: .random(in: 0...1)))
            }
        }

        private static func migrate(
            _ connection: PostgresConnection, _ migrations: [[String]], _ creating: Bool
        ) async throws(PostgresError) {
            let version = Int64(migrations.count)
            try await connection.transaction { transaction throws(PostgresError) in
                let state = try await transaction.run([lock, findMeta])[1]
                var found: Int64 = 0
                if state[0, 0].bool == true {
                    let versions = try await transaction.run([readVersions])[0]
                    found = versions[0, 0].integer ?? 0
                    guard versions[0, 1].integer ?? 0 <= version else { throw tooNew(found) }
                } else if !creating {
                    throw noTables
                }
                let missing = migrations.dropFirst(Int(found)).joined().map { PostgresStatement($0) }
                try await transaction.run((found > 0 && !missing.isEmpty ? [limitLocks] : []) + missing + [raiseBase])
            }
        }

        // The number has no meaning; it is the same for all versions.
        static let lockNumber: Int64 = 8_243_187_519_231
        static let lock = PostgresStatement("SELECT pg_advisory_xact_lock(\(lockNumber))")
        private static let findMeta = PostgresStatement("SELECT to_regclass('waybill.meta') IS NOT NULL")
        private static let readVersions = PostgresStatement(
            """
            SELECT max(value) FILTER (WHERE name = 'version'), max(value) FILTER (WHERE name = 'oldest_version')
            FROM waybill.meta
            """)

        // Workers lock the same tables in other orders. A migration gives up before the server finds a deadlock after a second
        // (`deadlock_timeout`) and rolls back one of both.
        private static let limitLocks = PostgresStatement("SET LOCAL lock_timeout = 500")
        private static let lockTimeout = "55P03"
        // Another program's migration, for which this one waits under the advisory lock, counts, too.
        private static let patience = Duration.seconds(60)
        private static let retryDelay = Backoff(from: .milliseconds(50), to: .seconds(1))
        private static let locked = PostgresError(
            .timeLimit,
            "Other sessions keep the tables of the outbox locked, so that they could not be migrated. End long transactions, and try again."
        )

        // Ends are numbered by `seq_base + (transaction ID << 20) + ordinal`, so that they are ordered as readers see them.
        // After a restore into another cluster, transaction IDs are smaller than those of the numbers that exist.
        private static let raiseBase = PostgresStatement(
            """
            UPDATE waybill.meta SET value = known.top
            FROM (
                SELECT greatest(
                    (SELECT coalesce(max(seq), 0) FROM waybill.ended),
                    (SELECT coalesce(max(mark), 0) FROM waybill.consumer)) AS top
            ) known
            WHERE name = 'seq_base' AND value + (pg_current_xact_id()::text::bigint << 20) <= known.top
            """)

        private static let noTables = PostgresError(
            .wrongSchema,
            "The database has no outbox. Correct its URL, or enqueue an upload, which creates the tables.")

        private static func tooNew(_ found: Int64) -> PostgresError {
            PostgresError(
                .wrongSchema,
                "The outbox in PostgreSQL has version \(found), which this release does not support. Update Waybill.")
        }
    }
#endif
