internal import CTestSupport
internal import Glibc
internal import WaybillCore

/// A PostgreSQL server in a temporary directory, on a Unix socket. It refuses to run as root, so root starts it as another
/// user.
///
/// ```swift
/// let database = try await PostgresServer.shared.makeDatabase()
/// ```
package final class PostgresServer: Sendable {
    /// The server of this test process. Tests that stop the server or kill a backend start one of their own: the crash of
    /// one backend ends the connections of all.
    package static var shared: PostgresServer {
        get async throws { try await start.value }
    }

    private static let start = Task {
        let server = try await PostgresServer()
        stoppedAtExit.withLock { $0 = server }
        atexit { stoppedAtExit.withLock { $0 }?.end() }
        return server
    }

    /// Whether tests with a server run. If `false` they are skipped; with `WAYBILL_CI=1` they fail instead.
    package static let isExpected = variable("WAYBILL_CI") == "1" || programs != nil

    /// The reason printed by a skipped test.
    package static let remedy: String = "PostgreSQL is not installed. Run `make setup`."

    private let folder: TemporaryDirectory
    private let process: Locked<ChildProcess>
    private let databases = Locked(0)

    /// Creates a cluster and starts a server.
    ///
    /// - Throws: ``HelperFailure`` with the output of the program that failed.
    package init() async throws {
        folder = try TemporaryDirectory()
        let path = folder.path
        if geteuid() == 0, let user = Self.user, unsafe chown(path, user.uid, user.gid) != 0 {
            throw SystemCallFailure(call: "chown", code: errno)
        }
        let words = try Self.command(
            "initdb",
            [
                "-D", "\(path)/data", "-U", Self.role, "--auth=trust", "--no-sync", "--encoding=UTF8",
                "--locale=C.UTF-8",
            ])
        let run = try await ChildProcess.run(words[0], Array(words.dropFirst()), directory: path)
        guard run.exit == .status(0) else {
            throw HelperFailure(message: "initdb failed: \(run.text)\(run.errorText)")
        }
        process = Locked(try await Self.launch(path))
    }

    deinit { end() }

    /// Ends the server like a crash, without a checkpoint, and starts it again.
    package func restart() async throws {
        let process = process.withLock { $0 }
        process.signal(SIGQUIT)
        _ = try await process.finish()
        let next = try await Self.launch(folder.path)
        self.process.withLock { $0 = next }
    }

    /// Sends a signal to a backend, by the number that `pg_backend_pid()` returns.
    package func signal(_ number: Int32, backend: Int) {
        kill(Int32(backend), number)
    }

    /// Creates an empty database.
    package func makeDatabase() async throws -> PostgresDatabase {
        let name = databases.withLock { count in
            count += 1
            return "test\(count)"
        }
        let words = try Self.command("createdb", ["-h", folder.path, "-U", Self.role, name])
        let run = try await ChildProcess.run(words[0], Array(words.dropFirst()), directory: folder.path)
        guard run.exit == .status(0) else { throw HelperFailure(message: "createdb failed: \(run.errorText)") }
        return PostgresDatabase(server: self, name: name)
    }

    /// The directory with the socket.
    package var directory: String { folder.path }
    /// The path of the socket.
    package var socket: String { folder.path(".s.PGSQL.5432") }

    /// A script that becomes the program of its arguments, and ends it when the input ends: with this process, even if
    /// that is killed.
    package static let endWithInput = """
        exec 3<&0 </dev/null
        (cat <&3; kill -QUIT $$) >/dev/null 2>&1 &
        exec "$@" 3<&-
        """

    private static func launch(_ path: String) async throws -> ChildProcess {
        let words = try command(
            "postgres",
            [
                "-D", "\(path)/data", "-k", path, "-h", "", "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c",
                "max_connections=200", "-c", "lc_messages=C",
            ])
        let process = try ChildProcess(
            "sh", ["-c", endWithInput, "sh"] + words, directory: path, keepsInputOpen: true)
        let progress = try await process.waitUntil { $0.errorText.contains("ready to accept connections") }
        guard progress.finished == nil else {
            throw HelperFailure(message: "postgres did not start: \(progress.errorText)")
        }
        return process
    }

    /// Ends the server and waits for it, so that its directory can be removed.
    private func end() {
        let process = process.withLock { $0 }
        process.signal(SIGQUIT)
        for _ in 0..<10_000 where process.writtenSoFar.finished == nil { usleep(1_000) }
        unsafe cts_remove_tree(folder.path)
    }

    private static let role = PostgresDatabase.role
    /// The user that runs the server if the tests run as root: that of Debian's package, or else one
    /// without rights.
    private static let user: (uid: uid_t, gid: gid_t)? = {
        for name in ["postgres", "nobody"] {
            if let entry = unsafe getpwnam(name) { return unsafe (entry.pointee.pw_uid, entry.pointee.pw_gid) }
        }
        return nil
    }()

    /// The directory of the newest programs: on Debian, each version has one.
    private static let programs: String? = {
        let versions = (10...40).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        let others = variable("PATH").split(separator: ":").map(String.init) + ["/usr/pgsql/bin", "/usr/bin"]
        return (versions + others).first { unsafe access("\($0)/initdb", X_OK) == 0 }
    }()

    private static func command(_ program: String, _ arguments: [String]) throws -> [String] {
        guard let programs else { throw HelperFailure(message: remedy) }
        let words = ["\(programs)/\(program)"] + arguments
        guard geteuid() == 0, let user else { return words }
        return ["setpriv", "--reuid=\(user.uid)", "--regid=\(user.gid)", "--clear-groups"] + words
    }

    private static func variable(_ name: String) -> String {
        unsafe getenv(name).map { unsafe String(cString: $0) } ?? ""
    }
}

/// A database of a ``PostgresServer``.
package struct PostgresDatabase: Sendable {
    package let server: PostgresServer
    package let name: String
    static let role = "waybill"

    /// The URL by the socket of the server.
    package var url: String { "postgresql://\(Self.role)@/\(name)?host=\(server.directory)" }

    /// Returns the URL by a proxy.
    package func url(by proxy: CuttingProxy) -> String {
        "postgresql://\(Self.role)@127.0.0.1:\(proxy.port)/\(name)?sslmode=disable&gssencmode=disable"
    }
}

private let stoppedAtExit = Locked<PostgresServer?>(nil)
