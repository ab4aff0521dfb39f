#if Shared
    import TestSupport
    import Testing
    import Waybill
    import WaybillOutbox

    @testable import WaybillPostgres

    /// Access to the server by TLS, by a pooler, and by a list of hosts.
    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct ServerAccessTests {
        private let select = PostgresStatement("SELECT $1::int8", .int8(7))

        @Test func `TLS with a verified certificate connects, and an untrusted one is an error with a remedy`()
            async throws
        {
            let certificates = try await Certificates.shared
            let server = try await PostgresServer(tls: .valid)
            let database = try await server.makeDatabase()
            let verified = "sslmode=verify-full&sslrootcert="
            let trusted = verified + certificates.authority
            let store = try await PostgresStore(database.url(trusted))
            await store.close()
            let cases: [(String, OutboxError.Code, String)] = [
                (
                    database.url(verified + certificates.certificate(.unknownAuthority)), .queueUnusable,
                    "that sslrootcert in the URL names"
                ),
                (database.url(verified + "/nonexistent"), .queueUnusable, "Correct sslrootcert"),
                (database.url("sslmode=nonsense"), .queueUnusable, "Correct the URL"),
                (database.url(password: "s3cr3t", trusted), .queueUnusable, "Check the user, and the password"),
            ]
            for (url, code, remedy) in cases { try await expect(url, code, remedy) }
        }

        @Test(arguments: [
            (Certificates.Leaf.expired, "is valid now"), (.wrongName, "Use a host name of the certificate"),
        ])
        func `a certificate that is expired or for another host is an error with a remedy`(
            _ leaf: Certificates.Leaf, _ remedy: String
        ) async throws {
            let certificates = try await Certificates.shared
            let database = try await PostgresServer(tls: leaf).makeDatabase()
            try await expect(
                database.url("sslmode=verify-full&sslrootcert=\(certificates.authority)"), .queueUnusable, remedy)
        }

        @Test func `a pooler that the URL does not declare is an error that names the option`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let strict = try await PgBouncer.shared.url(database)
            try await expect(strict, .queueUnusable, "add pooler=transaction to the URL")
            let store = try await PostgresStore(strict + "&pooler=transaction")
            #expect(store.options.usesPooler)
            await store.close()
        }

        @Test func `a host that does not respond does not keep a connection from the next one`() async throws {
            let database = try await PostgresServer.shared.makeDatabase()
            let silent = try UnresponsivePort()
            let url =
                "postgresql://waybill@/\(database.name)?host=127.0.0.1,\(database.server.directory)&port=\(silent.port),5432"
            var configuration = PostgresConfiguration(try PostgresAddress(url))
            configuration.connectLimit = .seconds(1)
            let connection = try PostgresConnection(configuration)
            #expect(try await connection.run(select).rows == [[.int8(7)]])
            withExtendedLifetime(silent) {}
        }

        @Test func `a session that becomes read-only is replaced by another one`() async throws {
            let connection = try await PostgresServer.shared.makeDatabase().connect()
            try await connection.run(PostgresStatement("SET default_transaction_read_only = on"))
            let create = PostgresStatement("CREATE TABLE t(a int)")
            let error = await #expect(throws: PostgresError.self) { try await connection.run(create) }
            #expect(error?.kind == .readOnly)
            try await connection.run(create)
        }

        @Test func `a commit is not looked up on a server that has taken over`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            let now = try await store.main.run(
                PostgresStatement(
                    "SELECT pg_current_xact_id()::text, left(pg_walfile_name(pg_current_wal_lsn()), 8)"))
            let (id, timeline) = (now[0, 0].text ?? "", now[0, 1].text ?? "")
            #expect(try await store.isCommitted(PostgresStore.Transaction(id: id, timeline: timeline), store.main))
            let error = await #expect(throws: PostgresError.self) {
                try await store.isCommitted(PostgresStore.Transaction(id: id, timeline: "00000000"), store.main)
            }
            #expect(error?.kind == .conflict && error?.isOutcomeUnknown == true)
        }

        private func expect(_ url: String, _ code: OutboxError.Code, _ remedy: String) async throws {
            let error = await #expect(throws: OutboxError.self) { _ = try await PostgresStore(url) }
            #expect(error?.code == code && error?.message.contains(remedy) == true, "\(String(describing: error))")
            let text = error.map { "\($0) \(String(reflecting: $0))" } ?? ""
            #expect(!text.contains("s3cr3t") && !text.contains(PostgresServer.password))
        }
    }
#endif
