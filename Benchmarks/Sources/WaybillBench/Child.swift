import Glibc

/// One run of a program, with what it cost.
struct Run {
    var wall: Duration
    /// User and system time of the process.
    var cpu: Duration
    /// The most memory it held, in bytes.
    var peakMemory: Int
    var output: String
}

enum Child {
    /// Runs a program to its end, by way of the launcher that was built beside this one.
    ///
    /// - Throws: When it can't be started or does not end with 0; its own complaint has gone to stderr.
    static func run(_ program: String, _ arguments: [String]) throws(BenchError) -> Run {
        let output = try Pipe()
        let costs = try Pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The read ends close themselves at exec; so do the write ends, whose copies stay.
        posix_spawn_file_actions_adddup2(&actions, output.writing, 1)
        posix_spawn_file_actions_adddup2(&actions, costs.writing, 3)

        var words = ([launcher, program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child = pid_t()
        let code = posix_spawn(&child, words[0]!, &actions, nil, &words, environ)
        output.closeWriting()
        costs.closeWriting()
        guard code == 0 else { throw BenchError("\(launcher) can't be started (errno \(code)).") }
        let text = output.readAll()
        let figures = costs.readAll().split(separator: " ").compactMap { Int($0) }
        var status: Int32 = 0
        guard waitpid(child, &status, 0) == child, status == 0, figures.count == 4 else {
            throw BenchError("\(program) failed (wait status \(status)).")
        }
        return Run(
            wall: .nanoseconds(figures[0]), cpu: .nanoseconds(figures[1]), peakMemory: figures[2], output: text)
    }

    /// This program.
    static let ownPath: String = {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { readlink("/proc/self/exe", $0.baseAddress!, $0.count) }
        return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    }()

    private static let launcher = String(ownPath.prefix(upTo: ownPath.lastIndex(of: "/")!)) + "/BenchLauncher"
}

/// A pipe whose ends close at exec.
private final class Pipe {
    private let reading: Int32
    private(set) var writing: Int32

    init() throws(BenchError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw BenchError("pipe: errno \(errno)") }
        // Above 3, so that the copies made for the child never land on one of them.
        reading = fcntl(ends[0], F_DUPFD_CLOEXEC, 10)
        writing = fcntl(ends[1], F_DUPFD_CLOEXEC, 10)
        close(ends[0])
        close(ends[1])
    }

    deinit {
        close(reading)
        closeWriting()
    }

    func closeWriting() {
        if writing >= 0 { close(writing) }
        writing = -1
    }

    func readAll() -> String {
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(reading, &chunk, chunk.count)
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += chunk[..<count]
        }
    }
}

/// Why nothing could be measured.
struct BenchError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
