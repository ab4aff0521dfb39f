#if Shared
    import TestSupport
    import Testing

    @testable import WaybillPostgres

    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct SharedOutboxHealthTests {
        private func outbox() async throws -> PostgresConnection {
            let connection = try await PostgresServer.shared.makeDatabase().connect()
            try await SharedSchema.prepare(connection)
            return connection
        }

        private func finding(_ name: String, _ connection: PostgresConnection) async throws
            -> SharedOutboxHealth.Finding
        {
            let all = try await SharedOutboxHealth.findings(connection)
            return try #require(all.first { $0.name == name }, "\(all)")
        }

        /// Inserts an item that is due since its creation.
        private func insert(age: Int64, _ connection: PostgresConnection, token: String? = nil) async throws {
            try await connection.run(
                PostgresStatement(
                    """
                    INSERT INTO waybill.item(kind, lane, spec, idem_key, max_attempts, on_unknown, on_change, priority, rank,
                        created_at, state, token)
                    VALUES ('form', 'a:80', '{}', gen_random_uuid()::text, 5, 'ask', 'fail', 5, 0, waybill.wb_now() - $1,
                        CASE WHEN $2::text IS NULL THEN 0 ELSE 1 END, $2)
                    """, .int8(age), token.map { .text($0) } ?? .null(.text)))
        }

        @Test func `an empty outbox has no failed finding`() async throws {
            let findings = try await SharedOutboxHealth.findings(try await outbox())
            // The server of the tests has fsync off.
            #expect(findings.filter { $0.verdict == .failed }.map(\.name) == ["durability"])
            #expect(findings.contains { $0.name == "items" && $0.text == "none unfinished" })
        }

        @Test func `late items without a worker are a failure that names the remedy`() async throws {
            let connection = try await outbox()
            try await insert(age: 10_000, connection)
            #expect(try await finding("lag", connection).verdict == .ok)
            try await insert(age: 3 * 3_600_000, connection)
            let late = try await finding("lag", connection)
            #expect(late.verdict == .failed)
            #expect(late.text == "2 items are due, the first for 3 h. No worker runs: start waybill outbox run.")
        }

        @Test func `items of a blocked lane are not due`() async throws {
            let connection = try await outbox()
            try await insert(age: 3_600_000, connection)
            try await connection.run(
                PostgresStatement("INSERT INTO waybill.lane(name, blocked) VALUES ('a:80', 'unauthorized')"))
            #expect(try await finding("lag", connection).text == "no item is due")
        }

        @Test func `leases of workers that are gone are counted`() async throws {
            let connection = try await outbox()
            try await connection.run(
                PostgresStatement(
                    """
                    INSERT INTO waybill.worker(token, host, until)
                    VALUES ('a', 'h1', waybill.wb_now() + 60000), ('b', 'h2', 0)
                    """))
            for token in ["a", "b", "c"] { try await insert(age: 0, connection, token: token) }
            let text = try await finding("workers", connection).text
            #expect(text == "1 on 1 hosts; 2 leases ended with their workers, and are verified next")
        }

        @Test func `the oldest open transaction is named`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let (connection, other) = (try database.connect(), try database.connect())
            try await SharedSchema.prepare(connection)
            try await other.transaction { transaction throws(PostgresError) in
                try await transaction.run([
                    PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"), PostgresStatement("SELECT 1"),
                ])
                let found = try await connection.run(SharedOutboxHealth.snapshot)
                #expect(found.rows.first?[0].text?.contains("session") == true)
                #expect(found.rows.first?[2].text?.contains("pg_terminate_backend") == true)
            }
            let long = PostgresRows(rows: [[.text("session 7"), .int8(61_000), .text("End it.")]], tag: "")
            let text = SharedOutboxHealth.snapshot(long).text
            #expect(text.hasPrefix("The session 7 has been open for 61 s,") && text.hasSuffix("slower. End it."))
            #expect(SharedOutboxHealth.snapshot(try await connection.run(SharedOutboxHealth.snapshot)).verdict == .ok)
        }
    }
#endif
