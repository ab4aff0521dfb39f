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
        ExitHandlers.add { server.end() }
        return server
    }

    /// Whether tests with a server run. If `false` they are skipped; with `WAYBILL_CI=1` they fail instead.
    package static let isExpected = isStrict || programs != nil
    static let isStrict = variable("WAYBILL_CI") == "1"

    /// The reason printed by a skipped test.
    package static let remedy: String = "PostgreSQL is not installed. Run `make setup`."

    /// The password of the only user, for connections with TLS.
    package static let password = "pa55-word"

    /// The port of the socket; with TLS also that of 127.0.0.1.
    package let port: Int
    private let folder: TemporaryDirectory
    private let settings: [String]
    private let process: Locked<ChildProcess>
    private let databases = Locked(0)

    private init(_ folder: TemporaryDirectory, _ port: Int, _ settings: [String], _ process: ChildProcess) {
        (self.folder, self.port, self.settings) = (folder, port, settings)
        self.process = Locked(process)
    }

    /// Creates a cluster and starts a server.
    ///
    /// - Throws: ``HelperFailure`` with the output of the program that failed.
    package convenience init() async throws {
        let folder = try await Self.makeCluster()
        self.init(folder, 5432, [], try await Self.launch(folder.path, []))
    }

    /// Creates a cluster and starts a server that also accepts TLS on a port of 127.0.0.1, for users with a password.
    package convenience init(tls leaf: Certificates.Leaf) async throws {
        let folder = try await Self.makeCluster()
        let certificates = try await Certificates.shared
        let names = ["server.pem": certificates.certificate(leaf), "server.key": certificates.key(leaf)]
        for (name, source) in names {
            try Self.give(try folder.write(name, readFile(source)))
        }
        let encrypted =
            ["-c", "ssl=on"]
            + names.keys.sorted().flatMap { name in
                ["-c", "ssl_\(name.hasSuffix("key") ? "key" : "cert")_file=\(folder.path(name))"]
            }
        let (port, settings, process) = try await Self.launchOnFreePort(folder.path, encrypted)
        self.init(folder, port, settings, process)
    }

    /// Creates a cluster, in a directory of its own.
    private static func makeCluster() async throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory()
        let password = try folder.write("password", Self.password)
        try give(folder.path, password)
        try await run(
            "initdb",
            [
                "-D", folder.path("data"), "-U", Self.role, "--auth-local=trust", "--auth-host=scram-sha-256",
                "--pwfile=\(password)", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8",
            ], in: folder)
        return folder
    }

    /// Starts a standby, which receives the changes of this server.
    package func makeStandby() async throws -> PostgresServer {
        let folder = try TemporaryDirectory()
        try Self.give(folder.path)
        try await Self.run(
            "pg_basebackup",
            [
                "-D", folder.path("data"), "-h", directory, "-p", "\(port)", "-U", Self.role, "--no-sync",
                "--checkpoint=fast", "--write-recovery-conf",
            ], in: folder)
        return PostgresServer(folder, 5432, [], try await Self.launch(folder.path, []))
    }

    /// Makes a standby accept changes.
    package func promote() async throws {
        try await Self.run("pg_ctl", ["promote", "-D", folder.path("data"), "-w"], in: folder)
    }

    deinit { end() }

    /// Ends the server like a crash, without a checkpoint, and starts it again.
    package func restart() async throws {
        try await stop()
        try await start()
    }

    /// Ends the server like a crash, without a checkpoint.
    package func stop() async throws {
        let process = process.withLock { $0 }
        process.signal(SIGQUIT)
        _ = try await process.finish()
    }

    /// Starts the server after ``stop()``.
    package func start() async throws {
        let next = try await Self.launch(folder.path, settings)
        process.withLock { $0 = next }
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
        try await Self.run("createdb", ["-h", folder.path, "-p", "\(port)", "-U", Self.role, name], in: folder)
        return PostgresDatabase(server: self, name: name)
    }

    /// The directory with the socket.
    package var directory: String { folder.path }
    /// The path of the socket.
    package var socket: String { folder.path(".s.PGSQL.\(port)") }

    /// Returns a script that becomes the program of its arguments, and ends it when the input ends: with this process,
    /// even if that is killed.
    package static func endWithInput(by signal: String = "QUIT") -> String {
        """
        exec 3<&0 </dev/null
        (cat <&3; kill -\(signal) $$) >/dev/null 2>&1 &
        exec "$@" 3<&-
        """
    }

    /// Another process may take the port in the meantime.
    private static func launchOnFreePort(
        _ path: String, _ settings: [String]
    ) async throws -> (port: Int, settings: [String], process: ChildProcess) {
        var tries = 0
        while true {
            tries += 1
            let port = try HelperProcess.freePort()
            let settings = ["-h", "127.0.0.1", "-p", "\(port)"] + settings
            do {
                return (port, settings, try await launch(path, settings))
            } catch let failure as HelperFailure {
                if tries == 5 { throw failure }
            }
        }
    }

    private static func launch(_ path: String, _ settings: [String]) async throws -> ChildProcess {
        let words = try command(
            "postgres",
            [
                "-D", "\(path)/data", "-k", path, "-h", "", "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c",
                "max_connections=200", "-c", "lc_messages=C",
            ] + settings)
        let process = try ChildProcess(
            "sh", ["-c", endWithInput(), "sh"] + words, directory: path, keepsInputOpen: true)
        // A standby accepts "read-only connections".
        let progress = try await process.waitUntil { $0.errorText.contains("ready to accept") }
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
        return unprivileged(["\(programs)/\(program)"] + arguments)
    }

    private static func run(_ program: String, _ arguments: [String], in folder: TemporaryDirectory) async throws {
        let words = try command(program, arguments)
        let run = try await ChildProcess.run(words[0], Array(words.dropFirst()), directory: folder.path)
        guard run.exit == .status(0) else {
            throw HelperFailure(message: "\(program) failed: \(run.text)\(run.errorText)")
        }
    }

    /// Returns the command that runs a program as the user of the server.
    static func unprivileged(_ words: [String]) -> [String] {
        guard geteuid() == 0, let user else { return words }
        return ["setpriv", "--reuid=\(user.uid)", "--regid=\(user.gid)", "--clear-groups"] + words
    }

    /// Makes the user of the server the owner of files.
    static func give(_ paths: String...) throws {
        guard geteuid() == 0, let user else { return }
        for path in paths where unsafe chown(path, user.uid, user.gid) != 0 {
            throw SystemCallFailure(call: "chown", code: errno)
        }
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
    package var url: String {
        "postgresql://\(Self.role)@/\(name)?host=\(server.directory)"
            + (server.port == 5432 ? "" : "&port=\(server.port)")
    }

    /// Returns the URL of a server with TLS, with a password.
    ///
    /// - Parameters:
    ///   - host: The host name.
    ///   - password: The password.
    ///   - options: The options, as in `sslmode=require`.
    /// - Returns: The URL.
    package func url(host: String = "127.0.0.1", password: String = PostgresServer.password, _ options: String)
        -> String
    {
        "postgresql://\(Self.role):\(password)@\(host):\(server.port)/\(name)?\(options)"
    }

    /// Returns the URL by a proxy.
    package func url(by proxy: CuttingProxy) -> String {
        "postgresql://\(Self.role)@127.0.0.1:\(proxy.port)/\(name)?sslmode=disable&gssencmode=disable"
    }
}
