#if Shared
    import TestSupport
    import Testing

    @testable import WaybillPostgres

    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct ConnectionTests {
        @Test(arguments: [true, false])
        func `values of every type survive a round trip, prepared or not`(_ isPreparing: Bool) async throws {
            let connection = try await connect { $0.preparesStatements = isPreparing }
            var random = SeededGenerator()
            for _ in 0..<20 {
                let values = (0..<20).map { _ in PostgresValue.random(using: &random) }
                let columns = (1...values.count).map { "$\($0)" }.joined(separator: ", ")
                let rows = try await connection.run(PostgresStatement("SELECT \(columns)", parameters: values))
                #expect(rows.rows == [values])
            }
            await connection.close()
        }

        @Test func `rows have types and a tag`() async throws {
            let connection = try await connect()
            let rows = try await connection.run(
                PostgresStatement("SELECT n AS number, 'a'::varchar AS name, null::uuid FROM generate_series(1, 3) n"))
            #expect(rows.rows.map { $0[0].integer } == [1, 2, 3])
            #expect(rows[2, 1].text == "a" && rows[2, 2].isNull)
            #expect(rows.tag == "SELECT 3")
        }

        @Test func `a failed statement rolls its batch back, and the next batch succeeds`() async throws {
            let connection = try await connect()
            try await connection.run(PostgresStatement("CREATE TABLE t(a int PRIMARY KEY)"))
            let error = await #expect(throws: PostgresError.self) {
                try await connection.run([
                    PostgresStatement("INSERT INTO t VALUES ($1)", .int4(1)),
                    PostgresStatement("INSERT INTO t VALUES ($1)", .int4(1)),
                    PostgresStatement("INSERT INTO t VALUES ($1)", .int4(2)),
                ])
            }
            #expect(
                error?.kind == .uniqueViolation && error?.constraint == "t_pkey" && error?.isOutcomeUnknown == false)
            try await connection.run(PostgresStatement("INSERT INTO t VALUES ($1)", .int4(3)))
            #expect(try await connection.run(PostgresStatement("SELECT a FROM t")).rows == [[.int4(3)]])
            let missing = await #expect(throws: PostgresError.self) {
                try await connection.run(PostgresStatement("SELECT b FROM t"))
            }
            #expect(missing?.kind == .wrongSchema)
        }

        @Test func `a statement is prepared again after a change of its table`() async throws {
            let connection = try await connect()
            let select = PostgresStatement("SELECT * FROM t")
            try await connection.run([PostgresStatement("CREATE TABLE t AS SELECT 1 AS a"), select])
            try await connection.run(PostgresStatement("ALTER TABLE t ADD b int"))
            let error = await #expect(throws: PostgresError.self) { try await connection.run(select) }
            #expect(error?.kind == .conflict && error?.sqlState == "0A000")
            #expect(try await connection.run(select).rows == [[.int4(1), .null(.int4)]])
        }

        @Test func `a constraint that is checked at the commit fails the batch`() async throws {
            let connection = try await connect()
            try await connection.run(
                PostgresStatement("CREATE TABLE t(a int UNIQUE DEFERRABLE INITIALLY DEFERRED)"))
            let insert = PostgresStatement("INSERT INTO t VALUES ($1)", .int4(1))
            let error = await #expect(throws: PostgresError.self) { try await connection.run([insert, insert]) }
            #expect(error?.kind == .uniqueViolation)
            #expect(try await connection.run(PostgresStatement("SELECT count(*) FROM t")).rows == [[.int8(0)]])
        }

        @Test func `batches of concurrent callers share a connection, each with its own results`() async throws {
            let connection = try await connect()
            try await withThrowingTaskGroup { group in
                for number in 0..<200 {
                    group.addTask {
                        let statements = (0..<3).map {
                            PostgresStatement(
                                "SELECT $1::int8 / ($2::int8 % 7)", .int8(Int64(number + $0)), .int8(Int64(number)))
                        }
                        let rows = try? await connection.run(statements)
                        guard number % 7 != 0 else { return rows == nil }
                        return rows?.map { $0[0, 0].integer } == (0..<3).map { Int64((number + $0) / (number % 7)) }
                    }
                }
                for try await isCorrect in group { #expect(isCorrect) }
            }
        }

        @Test func `a transaction of several round trips is isolated, and an error rolls it back`() async throws {
            let connection = try await connect()
            try await connection.run(PostgresStatement("CREATE TABLE t(a int8)"))
            try await withThrowingTaskGroup { group in
                for _ in 0..<10 {
                    group.addTask {
                        try await connection.transaction { transaction throws(PostgresError) in
                            let found = try await transaction.run([PostgresStatement("SELECT count(*) FROM t")])
                            let insert = PostgresStatement("INSERT INTO t VALUES ($1)", found[0][0, 0])
                            _ = try await transaction.run([insert])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let rolledBack = await #expect(throws: PostgresError.self) {
                try await connection.transaction { transaction throws(PostgresError) in
                    _ = try await transaction.run([PostgresStatement("INSERT INTO t VALUES (99)")])
                    _ = try? await transaction.run([PostgresStatement("SELECT 1/0")])
                }
            }
            #expect(rolledBack?.kind == .rejected)
            let rows = try await connection.run(PostgresStatement("SELECT a FROM t ORDER BY a"))
            #expect(rows.rows.map { $0[0].integer } == Array(0..<10))
        }

        @Test func `ten thousand statements fill the buffers of both sides and end`() async throws {
            let connection = try await connect()
            let block = SeededGenerator.pattern(1_024)
            let statements = (0..<10_000).map { PostgresStatement("SELECT $1, $2", .int8($0), .bytea(block)) }
            let rows = try await connection.run(statements, within: .seconds(120 * Slowness.factor))
            #expect(rows.count == 10_000)
            #expect(rows.enumerated().allSatisfy { $1[0, 0] == .int8(Int64($0)) && $1[0, 1].bytes?.count == 1_024 })
        }

        @Test func `notifications arrive at a connection that listens`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let (listener, sender) = (try database.connect(), try database.connect())
            try await listener.listen(to: "a \"channel\"")
            try await sender.run(PostgresStatement("SELECT pg_notify($1, $2)", .text("a \"channel\""), .text("x")))
            for await signal in listener.signals {
                #expect(signal == .notification(channel: "a \"channel\"", payload: "x"))
                await listener.close()
            }
        }

        @Test func `a statement that cannot be sent is an error, and the connection remains`() async throws {
            let connection = try await connect()
            let many = PostgresStatement("SELECT 1", parameters: Array(repeating: .int4(1), count: 65))
            for statement in [many, PostgresStatement("SELECT 1\0")] {
                let error = await #expect(throws: PostgresError.self) { try await connection.run(statement) }
                #expect(error?.kind == .rejected)
            }
            #expect(try await connection.run([]) == [])
            #expect(try await connection.run(PostgresStatement("SELECT 1")).rows == [[.int4(1)]])
        }

        @Test func `a closed connection rejects statements`() async throws {
            let connection = try await connect()
            try await connection.run(PostgresStatement("SELECT 1"))
            await connection.close()
            await connection.close()
            let error = await #expect(throws: PostgresError.self) {
                try await connection.run(PostgresStatement("SELECT 1"))
            }
            #expect(error?.kind == .closed)
        }

        private func connect(_ change: (inout PostgresConfiguration) -> Void = { _ in }) async throws
            -> PostgresConnection
        {
            try await PostgresServer.shared.makeDatabase().connect(change)
        }
    }

    extension PostgresDatabase {
        /// Returns a connection by the socket, or by a proxy.
        func connect(
            by proxy: CuttingProxy? = nil, _ change: (inout PostgresConfiguration) -> Void = { _ in }
        ) throws -> PostgresConnection {
            var configuration = PostgresConfiguration(try PostgresAddress(proxy.map(url) ?? url))
            configuration.connectLimit = .seconds(30 * Slowness.factor)
            configuration.statementLimit = .seconds(60 * Slowness.factor)
            change(&configuration)
            return try PostgresConnection(configuration)
        }
    }
#endif
