import Glibc

/// One run of a program with its costs.
struct Run {
    var wall: Duration
    /// The user and system time of the process.
    var cpu: Duration
    /// The peak memory in bytes.
    var peakMemory: Int
    var output: String
}

enum Child {
    /// Runs a program to its end with the launcher in the same directory.
    ///
    /// - Throws: An error if it cannot be started or its status is not 0. Its message is on standard error.
    static func run(_ program: String, _ arguments: [String]) throws(BenchError) -> Run {
        let output = try Pipe()
        let costs = try Pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // All ends are close-on-exec; the duplicates of the write ends are inherited.
        posix_spawn_file_actions_adddup2(&actions, output.writing, 1)
        posix_spawn_file_actions_adddup2(&actions, costs.writing, 3)

        var words = ([launcher, program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child = pid_t()
        let code = posix_spawn(&child, words[0]!, &actions, nil, &words, environ)
        output.closeWriting()
        costs.closeWriting()
        guard code == 0 else { throw BenchError("\(launcher) cannot be started (errno \(code)). Run make bench.") }
        let text = output.readAll()
        let figures = costs.readAll().split(separator: " ").compactMap { Int($0) }
        var status: Int32 = 0
        guard waitpid(child, &status, 0) == child, status == 0, figures.count == 4 else {
            throw BenchError("\(program) failed (wait status \(status)).")
        }
        return Run(
            wall: .nanoseconds(figures[0]), cpu: .nanoseconds(figures[1]), peakMemory: figures[2], output: text)
    }

    /// The path of this program.
    static let ownPath: String = {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { readlink("/proc/self/exe", $0.baseAddress!, $0.count) }
        return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    }()

    private static let launcher = String(ownPath.prefix(upTo: ownPath.lastIndex(of: "/")!)) + "/BenchLauncher"
}

/// A pipe whose ends are close-on-exec.
private final class Pipe {
    private let reading: Int32
    private(set) var writing: Int32

    init() throws(BenchError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw BenchError("pipe: errno \(errno)") }
        // Above 3, so that the duplicates for the child never replace one of them.
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

/// An error of a measurement.
struct BenchError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
