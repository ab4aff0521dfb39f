#if Shared
    import Glibc
    import TestSupport
    import Testing

    @testable import WaybillPostgres

    @Suite(
        .timeLimit(.minutes(5 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct ConnectionFaultTests {
        private let select = PostgresStatement("SELECT $1::int8", .int8(7))
        private let sleep = PostgresStatement("SELECT pg_sleep(600)")

        @Test func `an ended backend is a lost connection, and the next statement connects again`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let connection = try database.connect()
            let first = try await backend(of: connection)
            async let sleeping: Void = expectLost { try await connection.run(sleep) }
            try await untilRunning(first, in: database)
            database.server.signal(SIGTERM, backend: first)
            try await sleeping
            #expect(try await backend(of: connection) != first)

            // A backend that ends while its connection is idle.
            let second = try await backend(of: connection)
            database.server.signal(SIGTERM, backend: second)
            try await untilGone(second, in: database)
            var third = try? await backend(of: connection)
            if third == nil { third = try await backend(of: connection) }
            #expect(third != nil && third != second)
        }

        @Test func `a stopped backend ends at the time limit, and its statement is cancelled`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let connection = try database.connect()
            let first = try await backend(of: connection)
            database.server.signal(SIGSTOP, backend: first)
            let error = await #expect(throws: PostgresError.self) {
                try await connection.run(select, within: .milliseconds(200))
            }
            #expect(error?.kind == .timeLimit && error?.isOutcomeUnknown == true)
            #expect(try await backend(of: connection) != first)
            database.server.signal(SIGCONT, backend: first)
            try await untilGone(first, in: database)
        }

        @Test func `a cancelled task ends, and the server cancels its statement`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let connection = try database.connect()
            let first = try await backend(of: connection)
            let task = Task { try await connection.run(sleep) }
            try await untilRunning(first, in: database)
            task.cancel()
            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.kind == .cancelled)
            try await untilGone(first, in: database)
            #expect(try await connection.run(select).rows == [[.int8(7)]])
        }

        @Test func `a task that is cancelled before its statement is sent performs nothing`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let connection = try database.connect()
            try await connection.run(PostgresStatement("CREATE TABLE t(a int)"))
            let task = Task {
                // Ends when the task is cancelled.
                _ = try? await Watched(0).waitUntil { $0 == 1 }
                return try await connection.run(PostgresStatement("INSERT INTO t VALUES (1)"))
            }
            task.cancel()
            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.kind == .cancelled && error?.isOutcomeUnknown == false)
            #expect(try await connection.run(PostgresStatement("SELECT count(*) FROM t")).rows == [[.int8(0)]])
        }

        @Test func `a transaction whose task is cancelled between two statements is rolled back`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let connection = try database.connect()
            try await connection.run(PostgresStatement("CREATE TABLE t(a int)"))
            let task = Task {
                try await connection.transaction { transaction throws(PostgresError) in
                    try await transaction.run([PostgresStatement("INSERT INTO t VALUES (1)")])
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                    try await transaction.run([select])
                }
            }
            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.kind == .cancelled)
            #expect(try await connection.run(PostgresStatement("SELECT count(*) FROM t")).rows == [[.int8(0)]])
        }

        @Test func `a listener connects again after a restart of the server, and reports it`() async throws {
            let server = try await PostgresServer()
            let database = try await server.makeDatabase()
            let (listener, sender) = (try database.connect(), try database.connect())
            try await listener.listen(to: "a")
            try await server.restart()
            var signals = listener.signals.makeAsyncIterator()
            #expect(await signals.next() == .reconnected)
            try await retry { try await sender.run(PostgresStatement("NOTIFY a, 'x'")) }
            #expect(await signals.next() == .notification(channel: "a", payload: "x"))
            await listener.close()
            #expect(await signals.next() == nil)
        }

        @Test func `a crashed backend ends all connections, which connect again`() async throws {
            let server = try await PostgresServer()
            let database = try await server.makeDatabase()
            let connections = try (0..<4).map { _ in try database.connect() }
            let first = try await backend(of: connections[0])
            for connection in connections { try await connection.run(select) }
            server.signal(SIGKILL, backend: first)
            for connection in connections {
                try await retry { try await connection.run(select) }
            }
        }

        @Test func `no server, an unknown database and a server that does not respond are typed errors`() async throws {
            let server = try await PostgresServer.shared
            let folder = try TemporaryDirectory()
            let absent = try PostgresAddress("postgresql://waybill@/a?host=\(folder.path)")
            let unknown = try PostgresAddress("postgresql://waybill@/unknown?host=\(server.directory)")
            var silent = PostgresConfiguration(absent)
            let port = try UnresponsivePort()
            silent.address = try PostgresAddress("postgresql://waybill@127.0.0.1:\(port.port)/a")
            silent.connectLimit = .milliseconds(200)
            for (configuration, kind) in [
                (PostgresConfiguration(absent), .connectionLost), (PostgresConfiguration(unknown), .rejected),
                (silent, .connectionLost),
            ] as [(PostgresConfiguration, PostgresError.Kind)] {
                let connection = try PostgresConnection(configuration)
                let error = await #expect(throws: PostgresError.self) { try await connection.run(select) }
                #expect(error?.kind == kind && error?.isOutcomeUnknown == false, "\(String(describing: error))")
            }
            withExtendedLifetime(port) {}
        }

        @Test func `a connection that is cut at any byte is a typed error, and its socket is closed`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let proxy = try CuttingProxy(to: database.server.socket)
            try await exchange(database, proxy)
            try await proxy.counts.waitUntil { $0.ended == 1 }
            let whole = proxy.counts.value
            let cuts =
                (0..<whole.responseBytes).map(CuttingProxy.Cut.response)
                + (0..<whole.requestBytes).map(CuttingProxy.Cut.request)
            #expect(cuts.count > 300)
            let lanes = 8
            try await withThrowingTaskGroup { group in
                for lane in 0..<lanes {
                    let own = stride(from: lane, to: cuts.count, by: lanes).map { cuts[$0] }
                    group.addTask { try await cut(own, of: whole, in: database) }
                }
                try await group.waitForAll()
            }
        }

        private func cut(
            _ cuts: [CuttingProxy.Cut], of whole: CuttingProxy.Counts, in database: PostgresDatabase
        ) async throws {
            let proxy = try CuttingProxy(to: database.server.socket)
            for cut in cuts {
                try Task.checkCancellation()
                proxy.cut(cut)
                do {
                    try await exchange(database, proxy)
                    // The end of the session needs no response.
                    guard case .request(let count) = cut, count >= whole.requestBytes - Self.terminateBytes else {
                        Issue.record("\(cut) of \(whole) was not noticed")
                        continue
                    }
                } catch let error as PostgresError {
                    #expect(error.kind == .connectionLost, "\(cut): \(error)")
                }
            }
            try await proxy.counts.waitUntil { $0.ended == $0.accepted }
        }

        /// A message `Terminate`, which a client sends before it closes its socket.
        private static let terminateBytes = 5

        private func exchange(_ database: PostgresDatabase, _ proxy: CuttingProxy) async throws {
            let connection = try database.connect(by: proxy)
            let result: Result<[PostgresRows], any Error>
            do {
                result = .success(try await connection.run([select, PostgresStatement("SELECT 'a'")]))
            } catch {
                result = .failure(error)
            }
            await connection.close()
            #expect(try result.get().map { $0.rows.count } == [1, 1])
        }

        private func backend(of connection: PostgresConnection) async throws -> Int {
            let rows = try await connection.run(PostgresStatement("SELECT pg_backend_pid()"))
            return Int(try #require(rows[0, 0].integer))
        }

        private func expectLost(_ work: () async throws -> PostgresRows) async throws {
            let error = await #expect(throws: PostgresError.self) { _ = try await work() }
            #expect(error?.kind == .connectionLost && error?.sqlState == "57P01", "\(String(describing: error))")
        }

        /// Waits until the server shows a running statement of a backend.
        private func untilRunning(_ backend: Int, in database: PostgresDatabase) async throws {
            try await until("SELECT state = 'active' FROM pg_stat_activity WHERE pid = $1", backend, in: database)
        }

        private func untilGone(_ backend: Int, in database: PostgresDatabase) async throws {
            try await until("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $1", backend, in: database)
        }

        private func until(_ condition: String, _ backend: Int, in database: PostgresDatabase) async throws {
            let observer = try database.connect()
            let statement = PostgresStatement(condition, .int4(Int32(backend)))
            while try await observer.run(statement).rows.first?.first?.bool != true {
                _ = try await observer.run(PostgresStatement("SELECT pg_sleep(0.01)"))
            }
        }

        /// Repeats work while its connection is lost.
        private func retry(_ work: () async throws -> Void) async throws {
            while true {
                do { return try await work() } catch let error as PostgresError where error.kind == .connectionLost {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
        }
    }
#endif
