internal import CTestSupport
internal import Glibc
internal import WaybillCore

/// A server program of the system that runs during the lifetime of the value: a TLS front, a proxy.
///
/// It is given a free port of 127.0.0.1, is ready when it accepts connections there, and is ended by its process
/// number. Its output is written to `log` in its directory and quoted if it does not start.
package final class HelperProcess: Sendable {
    package let port: Int
    package let folder: TemporaryDirectory
    private let child: Locked<cts_child?>

    /// Starts a program, and retries with another port if it does not start: another process may have taken the port
    /// in the meantime.
    ///
    /// - Parameters:
    ///   - program: Its name, looked up in `PATH` and in Debian's directories of servers.
    ///   - arguments: Returns the arguments for a port and a directory, in which it can write files.
    /// - Returns: The running program.
    /// - Throws: ``HelperFailure`` with the output of the program.
    package static func start(
        _ program: String, arguments: @escaping @Sendable (Int, TemporaryDirectory) throws -> [String]
    ) async throws -> HelperProcess {
        let path = try find(program)
        return try await onOwnThread {
            Result {
                var tries = 0
                while true {
                    tries += 1
                    do { return try HelperProcess(path, arguments) } catch let failure as HelperFailure {
                        if tries == 5 { throw failure }
                    }
                }
            }
        }.get()
    }

    private init(
        _ path: String, _ arguments: (Int, TemporaryDirectory) throws -> [String]
    ) throws {
        folder = try TemporaryDirectory()
        port = try Self.freePort()
        let words = try arguments(port, folder)
        child = Locked(try Self.spawn(path, words, in: folder))
        guard isReady() else {
            stop()
            throw HelperFailure(message: "\(path) did not start: \(output)")
        }
    }

    deinit { stop() }

    /// The output of the program so far.
    package var output: String { (try? String(decoding: folder.read("log"), as: UTF8.self)) ?? "" }

    /// Kills the program like a crash: its connections are reset.
    package func kill() { end(by: SIGKILL) }

    /// Terminates the program.
    package func stop() { end(by: SIGTERM) }

    private func end(by signal: Int32) {
        guard let child = child.withLock({ $0.take() }) else { return }
        _ = Glibc.kill(child.pid, signal)
        if cts_wait(-1, 0, child.pidfd, -1, 2_000) == 0 { _ = Glibc.kill(child.pid, SIGKILL) }
        var end = cts_child_end()
        _ = unsafe cts_collect(child.pid, &end)
        cts_close(child.pidfd)
    }

    /// Waits until connections are accepted, or the program has ended.
    private func isReady() -> Bool {
        guard let pidfd = child.withLock({ $0?.pidfd }) else { return false }
        for _ in 0..<2_000 {
            let socket = cts_connect(UInt16(port), 1)
            if socket >= 0 {
                cts_close(socket)
                // Another process may be listening there while this one is about to fail.
                return cts_wait(-1, 0, pidfd, -1, 0) == 0
            }
            if cts_wait(-1, 0, pidfd, -1, 5) != 0 { return false }
        }
        return false
    }

    private static func spawn(_ path: String, _ arguments: [String], in folder: TemporaryDirectory) throws -> cts_child
    {
        let nothing = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        let log = unsafe open(folder.path("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { for file in [nothing, log] where file >= 0 { close(file) } }
        guard nothing >= 0, log >= 0 else { throw SystemCallFailure(call: "open", code: errno) }
        var child = cts_child()
        let words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        let code = unsafe words.withUnsafeBufferPointer { words in
            unsafe cts_spawn(path, words.baseAddress!, environ, nil, [nothing, log, log], &child)
        }
        guard code == 0 else { throw SystemCallFailure(call: "spawn \(path)", code: -code) }
        return child
    }

    static func find(_ program: String) throws -> String {
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/bin"]
        guard let folder = folders.first(where: { unsafe access("\($0)/\(program)", X_OK) == 0 }) else {
            throw HelperFailure(message: "\(program) is not installed. Run `make setup`.")
        }
        return "\(folder)/\(program)"
    }

    /// Returns a free port below the ephemeral range, so that no connection of a concurrent test is assigned it by
    /// chance.
    static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 10_000..<32_000)
            let socket = cts_connect(UInt16(port), 1)
            if socket == -ECONNREFUSED { return port }
            if socket >= 0 { cts_close(socket) }
        }
        throw HelperFailure(message: "no free port was found")
    }
}

/// A server program that did not start, with its output.
package struct HelperFailure: Error, CustomStringConvertible {
    package let message: String
    package var description: String { message }
}
