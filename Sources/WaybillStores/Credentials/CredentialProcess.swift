import Glibc
import WaybillCore

/// A command that prints credentials, run without a shell.
///
/// It gets no input, its complaints are not read (they may hold secrets), and it is killed with all that it has started when
/// time is up.
struct CredentialProcess: Sendable {
    let arguments: [String]
    let limit: Duration

    private static let longest = 64 << 10

    /// What the command printed, as credentials.
    func run() async throws(StoreError) -> StoreCredentials {
        let output = try await BlockingThread.run { () throws(StoreError) in try self.output() }
        return try StoreCredentials(json: output)
    }

    private func output() throws(StoreError) -> [UInt8] {
        guard arguments.first?.utf8.first == UInt8(ascii: "/") else {
            throw failure(
                "a command is named by its absolute path, so that no folder of PATH can put another in its place")
        }
        var pipe: [Int32] = [-1, -1]
        guard unsafe Glibc.pipe(&pipe) == 0 else { throw failure("no pipe can be made (errno \(errno))") }
        for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(pipe[0]) }
        let child: pid_t
        do throws(StoreError) {
            child = try start(writingTo: pipe[1])
        } catch {
            close(pipe[1])
            throw error
        }
        close(pipe[1])
        var status: Int32 = 0
        do throws(StoreError) {
            let bytes = try read(pipe[0], until: child, &status)
            guard status == 0 else {
                let code = status & 0x7F == 0 ? "status \((status >> 8) & 0xFF)" : "signal \(status & 0x7F)"
                throw failure("it ended with \(code): run it by hand to see why")
            }
            return bytes
        } catch {
            // What it has started goes with it. The child itself is collected already, or dies of this.
            kill(-child, SIGKILL)
            while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
            throw error
        }
    }

    private func start(writingTo output: Int32) throws(StoreError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // The thread that waits here blocks signals, and the command must not.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        // A group of its own, so that what it starts can be ended with it.
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        var child = pid_t()
        let code = unsafe posix_spawn(&child, arguments[0], &actions, &attributes, &pointers, environ)
        guard code == 0 else { throw failure("it can't be started (errno \(code))") }
        return child
    }

    /// Everything that it prints up to its own end: what it has started may hold the pipe open for longer.
    private func read(_ descriptor: Int32, until child: pid_t, _ status: inout Int32) throws(StoreError) -> [UInt8] {
        let end = ContinuousClock.now + limit
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var hasEnded = false
        while true {
            guard ContinuousClock.now < end else {
                throw StoreError(.credentialsTimedOut, "\(name) took longer than \(limit): look why it hangs")
            }
            if !hasEnded { hasEnded = unsafe waitpid(child, &status, WNOHANG) == child }
            var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&watched, 1, hasEnded ? 0 : 20) > 0 else {
                if hasEnded { return bytes }
                continue
            }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                // It has closed its output, and may take a moment to end.
                if count == 0, !hasEnded { poll(nil, 0, 5) }
                if hasEnded { return bytes }
                continue
            }
            bytes += buffer[..<count]
            guard bytes.count <= Self.longest else { throw failure("it prints more than 64 KiB") }
        }
    }

    private var name: String { "the credential command \(StoreError.shown(arguments.first ?? "", atMost: 100))" }

    private func failure(_ reason: String) -> StoreError {
        StoreError(.credentialsUnavailable, "\(name) gave no credentials: \(reason)")
    }
}

extension CredentialProvider where Self == FederatedCredentials {
    /// Credentials that a command prints as JSON, in any of the forms of ``StoreCredentials/init(json:)``: kept, and renewed
    /// before they run out.
    ///
    /// ```swift
    /// let credentials: any CredentialProvider = .process(["/usr/local/bin/oss-login", "--role", "uploader"])
    /// ```
    ///
    /// - Parameters:
    ///   - arguments: The command by its absolute path, and its arguments. No shell is in between.
    ///   - pace: How early and how often; the command is killed after ``CredentialPace/limit``.
    /// - Returns: Credentials that are kept; make it once.
    public static func process(
        _ arguments: [String], pace: CredentialPace = CredentialPace()
    ) -> FederatedCredentials {
        let process = CredentialProcess(arguments: arguments, limit: pace.limit)
        return FederatedCredentials(pace: pace) { try await process.run() }
    }
}
