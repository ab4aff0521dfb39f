internal import Glibc
internal import WaybillCore

/// PgBouncer in transaction mode in front of ``PostgresServer/shared``, on a Unix socket. Each transaction uses another
/// connection to the server, so that a test notices what depends on a session.
package final class PgBouncer: Sendable {
    /// The pooler of this test process.
    package static var shared: PgBouncer {
        get async throws { try await start.value }
    }

    private static let start = Task {
        let pooler = try await PgBouncer(in: PostgresServer.shared)
        ExitHandlers.add { pooler.end() }
        return pooler
    }

    /// Whether tests with a pooler run. If `false` they are skipped; with `WAYBILL_CI=1` they fail instead.
    package static let isExpected =
        PostgresServer.isExpected && (PostgresServer.isStrict || (try? HelperProcess.find("pgbouncer")) != nil)

    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// Starts a pooler.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - settings: Lines for its section `pgbouncer`.
    /// - Throws: ``HelperFailure`` with the output of the program.
    package init(in server: PostgresServer, settings: String = "") async throws {
        folder = try TemporaryDirectory()
        let file = try folder.write(
            "pgbouncer.ini",
            """
            [databases]
            * = host=\(server.directory) port=\(server.port) user=\(PostgresDatabase.role)
            [pgbouncer]
            pool_mode = transaction
            auth_type = any
            unix_socket_dir = \(folder.path)
            listen_port = \(Self.port)
            max_client_conn = 500
            default_pool_size = 4
            server_round_robin = 1
            server_login_retry = 1
            ; Each test has a database, and the number of connections to the server is limited.
            server_idle_timeout = 1
            log_connections = 0
            log_disconnections = 0
            \(settings)

            """)
        // It refuses to run as root.
        try PostgresServer.give(folder.path, file)
        let words = PostgresServer.unprivileged([try HelperProcess.find("pgbouncer"), file])
        process = try ChildProcess(
            "sh", ["-c", PostgresServer.endWithInput(by: "TERM"), "sh"] + words, directory: folder.path,
            keepsInputOpen: true)
        let progress = try await process.waitUntil { $0.errorText.contains("process up") }
        guard progress.finished == nil else {
            throw HelperFailure(message: "pgbouncer did not start: \(progress.errorText)")
        }
    }

    deinit { end() }

    private func end() {
        process.signal(SIGTERM)
        for _ in 0..<10_000 where process.writtenSoFar.finished == nil { usleep(1_000) }
    }

    /// Returns the URL of a database.
    package func url(_ database: PostgresDatabase) -> String {
        "postgresql://\(PostgresDatabase.role)@/\(database.name)?host=\(folder.path)&port=\(Self.port)"
    }

    private static let port = 6432
}
