#if Shared
    import TestSupport
    import Testing
    import Waybill
    import WaybillCore

    @testable import WaybillOutbox
    @testable import WaybillPostgres

    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct SharedSchemaTests {
        @Test func `concurrent programs create the tables once`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        let connection = try database.connect()
                        try await SharedSchema.prepare(connection)
                        await connection.close()
                    }
                }
                try await group.waitForAll()
            }
            let connection = try database.connect()
            #expect(try await value("SELECT value FROM waybill.meta WHERE name = 'version'", connection) == .int8(1))
            let tables =
                "SELECT count(*) FROM pg_class WHERE relnamespace = 'waybill'::regnamespace AND relkind IN ('r', 'p')"
            #expect(try await value(tables, connection) == .int8(9))
        }

        @Test func `the schema of a newer program is accepted while it permits this version`() async throws {
            let connection = try await PostgresServer.shared.makeDatabase().connect()
            try await SharedSchema.prepare(connection)
            try await connection.run(PostgresStatement("UPDATE waybill.meta SET value = 2 WHERE name = 'version'"))
            try await SharedSchema.prepare(connection)
            try await connection.run(
                PostgresStatement("UPDATE waybill.meta SET value = 2 WHERE name = 'oldest_version'"))
            let error = await #expect(throws: PostgresError.self) { try await SharedSchema.prepare(connection) }
            #expect(error?.kind == .wrongSchema && error?.message.contains("version 2") == true)
        }

        @Test func `a database without tables, or whose tables were dropped, is reported with a remedy`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            var options = PostgresOptions()
            options.createsTables = false
            let missing = await #expect(throws: OutboxError.self) {
                try await PostgresStore(database.url, options: options)
            }
            #expect(
                missing?.code == .queueUnusable && missing?.message.hasPrefix("The database has no outbox. ") == true)
            let connection = try database.connect()
            #expect(try await value("SELECT to_regnamespace('waybill') IS NULL", connection) == .bool(true))

            let store = try await PostgresStore(database.url)
            await (try await PostgresStore(database.url, options: options)).close()
            try await connection.run(PostgresStatement("DROP SCHEMA waybill CASCADE"))
            let dropped = await #expect(throws: OutboxError.self) { try await store.lease(SharedWorld.request("w")) }
            #expect(dropped?.code == .queueUnusable && dropped?.message.contains("Restore a backup") == true)
            await store.close()
        }

        @Test func `workers of the version before keep running during and after a migration`() async throws {
            let world = try await SharedWorld()
            let workers = try await [world.open(), world.open(), world.open()]
            _ = try await workers[0].enqueue(SharedWorld.items(60))
            // Columns of the tables that each statement of a worker uses, and an index.
            let next = [
                "ALTER TABLE waybill.item ADD COLUMN extra text", "ALTER TABLE waybill.ended ADD COLUMN extra text",
                "ALTER TABLE waybill.lane ADD COLUMN extra text",
                "CREATE INDEX item_extra ON waybill.item(extra) WHERE extra IS NOT NULL",
                "UPDATE waybill.meta SET value = 2 WHERE name = 'version'",
            ]
            let migrated = Progress()
            let ended = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for (number, worker) in workers.enumerated() {
                    group.addTask { try await Self.work(worker, "w\(number)", until: migrated) }
                }
                try await SharedSchema.prepare(world.observer, SharedSchema.migrations + [next])
                migrated.isOver.withLock { $0 = true }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let late = try await world.open()
            let total = ended.count + (try await SharedWorld.deliverAll(late, "late")).count
            #expect(Set(ended).count == ended.count && total >= 66)
            #expect(try await late.tally(batch: nil).counts == [.done: total])
            #expect(try await late.checkIntegrity() == "ok")
        }

        @Test func `a failed migration leaves nothing behind`() async throws {
            let connection = try await PostgresServer.shared.makeDatabase().connect()
            try await connection.run([
                PostgresStatement("CREATE SCHEMA waybill"), PostgresStatement("CREATE TABLE waybill.consumer(a int)"),
            ])
            await #expect(throws: PostgresError.self) { try await SharedSchema.prepare(connection) }
            #expect(try await value("SELECT to_regclass('waybill.item') IS NULL", connection) == .bool(true))
        }

        @Test func `numbers of ends grow after a restore into a cluster with smaller transaction IDs`() async throws {
            let connection = try await PostgresServer.shared.makeDatabase().connect()
            try await SharedSchema.prepare(connection)
            let base = "SELECT value FROM waybill.meta WHERE name = 'seq_base'"
            #expect(try await value(base, connection) == .int8(0))
            try await connection.run(
                PostgresStatement("INSERT INTO waybill.consumer(name, mark) VALUES ('a', $1)", .int8(1 << 60)))
            try await SharedSchema.prepare(connection)
            #expect(try await value(base, connection) == .int8(1 << 60))
            try await SharedSchema.prepare(connection)
            #expect(try await value(base, connection) == .int8(1 << 60))
        }

        @Test func `tests replace the clock of the server`() async throws {
            let connection = try await PostgresServer.shared.makeDatabase().connect()
            try await SharedSchema.prepare(connection)
            let now = "SELECT abs(waybill.wb_now() - extract(epoch FROM clock_timestamp()) * 1000) < 60000"
            #expect(try await value(now, connection) == .bool(true))
            try await connection.run(
                PostgresStatement(
                    "CREATE OR REPLACE FUNCTION waybill.wb_now() RETURNS bigint LANGUAGE sql AS 'SELECT 5::bigint'"))
            #expect(try await value("SELECT waybill.wb_now()", connection) == .int8(5))
        }

        @Test func `a migration and a transaction that lock tables in other orders both succeed`() async throws {
            let world = try await SharedWorld()
            let (other, migrating) = (try world.database.connect(), try world.database.connect())
            let next = [
                "ALTER TABLE waybill.item ADD COLUMN extra text", "ALTER TABLE waybill.lane ADD COLUMN extra text",
                "UPDATE waybill.meta SET value = 2 WHERE name = 'version'",
            ]
            async let migration: Void = SharedSchema.prepare(migrating, SharedSchema.migrations + [next])
            try await other.transaction { transaction throws(PostgresError) in
                try await transaction.run([PostgresStatement("LOCK TABLE waybill.lane IN ROW EXCLUSIVE MODE")])
                let isWaiting = """
                    SELECT EXISTS(SELECT FROM pg_locks WHERE relation = 'waybill.lane'::regclass AND NOT granted)
                    """
                while try await world.observer.run(PostgresStatement(isWaiting))[0, 0] != .bool(true) {}
                try await transaction.run([PostgresStatement("LOCK TABLE waybill.item IN ROW EXCLUSIVE MODE")])
            }
            try await migration
            #expect(try await world.value("SELECT value FROM waybill.meta WHERE name = 'version'") == 2)
            let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            #expect(try await world.value(deadlocks) == 0)
        }

        private final class Progress: Sendable {
            let isOver = Locked(false)
        }

        /// Enqueues and delivers items until a while after something else is over.
        private static func work(
            _ worker: PostgresStore, _ token: String, until progress: Progress
        ) async throws -> [Int64] {
            var ended: [Int64] = []
            while true {
                // The last round begins afterwards.
                let isLast = progress.isOver.withLock { $0 }
                try Task.checkCancellation()
                _ = try await worker.enqueue(SharedWorld.items(2))
                ended += try await SharedWorld.deliverAll(worker, token, slots: 2)
                if isLast { return ended }
            }
        }

        private func value(_ sql: String, _ connection: PostgresConnection) async throws -> PostgresValue {
            try await connection.run(PostgresStatement(sql))[0, 0]
        }
    }
#endif
