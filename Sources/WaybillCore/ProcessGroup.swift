import Glibc

/// The process group of a child process that writes to a pipe.
///
/// `wait` kills the group if the child exceeds a limit or the caller stops it and, with `endsGroup`, when the child has
/// ended.
package struct ProcessGroup: Sendable {
    /// The way in which the child ended.
    package enum End: Sendable, Hashable {
        case exited(Int32)
        case killed(signal: Int32)
        case timedOut
        case outputExceeded
        case stopped
    }

    /// A pipe whose ends are closed on execve.
    package struct Pipe {
        package let reader: FileDescriptor
        package let writer: FileDescriptor

        package init() throws(SystemError) {
            var ends: [Int32] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { throw SystemError.last }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            // A hostile child can empty the pipe between `poll` and `read`, which would then wait.
            _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
            reader = FileDescriptor(owning: ends[0])
            writer = FileDescriptor(owning: ends[1])
        }
    }

    private let id: Int32
    private let output: FileDescriptor

    /// - Parameters:
    ///   - id: The child's number, which is that of its group.
    ///   - output: The reading end of the child's output. The writing end must be closed in this process.
    package init(_ id: Int32, output: FileDescriptor) {
        self.id = id
        self.output = output
    }

    /// Waits for the child on this thread, and reads its output. Descendants can keep the pipe open for longer than the
    /// child lives; they are not waited for.
    ///
    /// - Parameters:
    ///   - limit: The maximum time.
    ///   - longest: The maximum number of bytes of output.
    ///   - endsGroup: Whether descendants that are still running at the child's end are killed.
    ///   - isStopped: Called about 50 times a second; `true` kills the group.
    /// - Returns: The end of the child, and its output.
    package func wait(
        limit: Duration, longest: Int, endsGroup: Bool = false, unless isStopped: () -> Bool = { false }
    ) -> (end: End, output: [UInt8]) {
        var bytes: [UInt8] = []
        let failure = read(&bytes, until: .now + limit, longest, isStopped)
        // The child has not been reaped, so the kernel can't have reused its number, which is that of the group.
        if failure != nil || endsGroup { kill(-id, SIGKILL) }
        var status: Int32 = 0
        var reaped: pid_t
        repeat { reaped = unsafe waitpid(id, &status, 0) } while reaped == -1 && errno == EINTR
        // A program that ignores SIGCHLD cannot know how its children ended.
        guard reaped == id else { return (failure ?? .exited(-1), bytes) }
        let signal = status & 0x7F
        return (failure ?? (signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)), bytes)
    }

    /// Reads until the child has ended. Returns `nil`, or the limit that was exceeded.
    private func read(
        _ bytes: inout [UInt8], until deadline: ContinuousClock.Instant, _ longest: Int, _ isStopped: () -> Bool
    ) -> End? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var isOpen = true
        while true {
            if isStopped() { return .stopped }
            guard ContinuousClock.now < deadline else { return .timedOut }
            let hasEnded = hasEnded
            var watched = pollfd(fd: isOpen ? output.raw : -1, events: Int16(POLLIN), revents: 0)
            // Once the pipe is closed, the child needs only a moment to end.
            guard unsafe poll(&watched, 1, hasEnded ? 0 : isOpen ? 20 : 5) > 0 else {
                if hasEnded { return nil }
                continue
            }
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe Glibc.read(output.raw, $0.baseAddress, $0.count)
            }
            if count == 0 { isOpen = false }
            guard count > 0 else { continue }
            bytes += buffer[..<count]
            guard bytes.count <= longest else { return .outputExceeded }
        }
    }

    /// Whether the child has ended. Does not reap it.
    private var hasEnded: Bool {
        var information = unsafe siginfo_t()
        let code = unsafe waitid(P_PID, id_t(id), &information, WEXITED | WNOHANG | WNOWAIT)
        return unsafe code == -1 ? errno == ECHILD : information._sifields._sigchld.si_pid == id
    }
}
