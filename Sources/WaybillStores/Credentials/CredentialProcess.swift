import Glibc
import WaybillCore

/// A command that prints credentials, run without a shell.
///
/// Its standard input is empty, its standard error is discarded (it may contain secrets), and it is killed with its
/// process group when the time limit is exceeded.
struct CredentialProcess: Sendable {
    let arguments: [String]
    let limit: Duration

    private static let longest = 64 << 10

    /// Runs the command and parses its output as credentials.
    func run() async throws(StoreError) -> StoreCredentials {
        let output = try await BlockingThread.run { () throws(StoreError) in try self.output() }
        return try StoreCredentials(json: output)
    }

    private func output() throws(StoreError) -> [UInt8] {
        guard arguments.first?.utf8.first == UInt8(ascii: "/") else {
            throw failure("the path is not absolute. Specify the absolute path of the command.")
        }
        var pipe: [Int32] = [-1, -1]
        guard unsafe Glibc.pipe(&pipe) == 0 else { throw failure("creating a pipe failed (errno \(errno)).") }
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
                let hasExited = status & 0x7F == 0
                let end =
                    hasExited ? "exited with status \((status >> 8) & 0xFF)" : "was killed by signal \(status & 0x7F)"
                throw failure("it \(end). Run the command manually to see its error output.")
            }
            return bytes
        } catch {
            // Kill the whole process group. The child has already been reaped, or is reaped below.
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
        // The waiting thread blocks signals; reset the mask for the command.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        // Put the command into its own process group, so that its descendants can be killed with it.
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        var child = pid_t()
        let code = unsafe posix_spawn(&child, arguments[0], &actions, &attributes, &pointers, environ)
        guard code == 0 else { throw failure("the command can't be started (errno \(code)).") }
        return child
    }

    /// Returns the output up to the exit of the command. Descendants can keep the pipe open for longer.
    private func read(_ descriptor: Int32, until child: pid_t, _ status: inout Int32) throws(StoreError) -> [UInt8] {
        let end = ContinuousClock.now + limit
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var hasEnded = false
        while true {
            guard ContinuousClock.now < end else {
                throw StoreError(
                    .credentialsTimedOut, "\(name) exceeded the time limit of \(limit). Check why it hangs.")
            }
            if !hasEnded { hasEnded = unsafe waitpid(child, &status, WNOHANG) == child }
            var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&watched, 1, hasEnded ? 0 : 20) > 0 else {
                if hasEnded { return bytes }
                continue
            }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                // The command has closed its output but may need a moment to exit.
                if count == 0, !hasEnded { poll(nil, 0, 5) }
                if hasEnded { return bytes }
                continue
            }
            bytes += buffer[..<count]
            guard bytes.count <= Self.longest else { throw failure("its output exceeds 64 KiB.") }
        }
    }

    private var name: String { "The credential command \(StoreError.shown(arguments.first ?? "", atMost: 100))" }

    private func failure(_ reason: String) -> StoreError {
        StoreError(.credentialsUnavailable, "\(name) returned no credentials: \(reason)")
    }
}

extension CredentialProvider {
    /// Returns a provider that runs a command and parses its output as JSON in one of the formats of
    /// ``StoreCredentials/init(json:)``. Credentials are cached and renewed before they expire.
    ///
    /// ```swift
    /// let credentials: CredentialProvider = .process(["/usr/local/bin/oss-login", "--role", "uploader"])
    /// ```
    ///
    /// - Parameters:
    ///   - arguments: The absolute path of the command, followed by its arguments. They are not interpreted by a shell.
    ///   - pace: The timing of fetches; the command is killed after ``CredentialPace/limit``.
    /// - Returns: A provider with a cache. Create it only once.
    public static func process(
        _ arguments: [String], pace: CredentialPace = CredentialPace()
    ) -> CredentialProvider {
        let process = CredentialProcess(arguments: arguments, limit: pace.limit)
        return .federated(pace: pace) { try await process.run() }
    }
}
