internal import CTestSupport
internal import Glibc

/// The three pipes of a child process.
struct ChildPipes {
    let input: (read: Int32, write: Int32)
    let output: (read: Int32, write: Int32)
    let errorOutput: (read: Int32, write: Int32)

    init() throws {
        input = try Self.make()
        output = try Self.make()
        errorOutput = try Self.make()
        for end in [input.write, output.read, errorOutput.read] { cts_never_wait(end) }
    }

    private static func make() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        let code = unsafe cts_pipe(&ends)
        guard code == 0 else { throw SystemCallFailure(call: "pipe", code: -code) }
        return (ends[0], ends[1])
    }

    /// Starts the program and closes the child's ends in this process.
    func spawn(
        _ program: String, _ arguments: [String], _ environment: [String]?, _ directory: String?
    ) throws -> cts_child {
        var child = cts_child()
        let code = unsafe withStrings(arguments) { arguments in
            unsafe withStrings(environment ?? Self.ownEnvironment) { environment in
                unsafe cts_spawn(
                    program, arguments, environment, directory, [input.read, output.write, errorOutput.write], &child)
            }
        }
        for end in [input.read, output.write, errorOutput.write] { close(end) }
        guard code == 0 else {
            for end in [input.write, output.read, errorOutput.read] { close(end) }
            throw SystemCallFailure(call: "spawn \(program)", code: -code)
        }
        return child
    }

    private static var ownEnvironment: [String] {
        var lines: [String] = []
        var next = unsafe environ
        while let line = unsafe next.pointee {
            unsafe lines.append(String(cString: line))
            unsafe next += 1
        }
        return lines
    }

    private func withStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = unsafe strings.map { unsafe strdup($0) } + [nil]
        defer { unsafe copies.forEach { unsafe free($0) } }
        return unsafe copies.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
    }
}

/// The thread of a ``ChildProcess``: feeds it, reads its output and reaps it.
struct ChildWatch {
    let child: cts_child
    let pipes: ChildPipes
    let progress: Watched<ChildProcess.Progress>
    let keepsInputOpen: Bool

    func run(_ input: [UInt8]) {
        var rest = input[...]
        var isFeeding = true
        var peak: Int64 = 0
        while true {
            if isFeeding { isFeeding = feed(&rest) }
            drain(pipes.output.read) { $0.output += $1 }
            drain(pipes.errorOutput.read) { $0.errorOutput += $1 }
            peak = max(peak, cts_peak_resident_bytes(child.pid))
            // The pipes are polled every 2 ms together with the memory instead of awaited: waiting only for the end
            // of the process is simple, and grandchildren that keep a pipe open do no harm.
            if cts_wait(-1, 0, child.pidfd, -1, 2) & CInt(cts_raised) != 0 { break }
        }
        drain(pipes.output.read) { $0.output += $1 }
        drain(pipes.errorOutput.read) { $0.errorOutput += $1 }
        if isFeeding { close(pipes.input.write) }
        for end in [pipes.output.read, pipes.errorOutput.read, child.pidfd] { close(end) }
        collect(sampledPeak: peak)
    }

    /// Writes the bytes that fit. Closes the pipe after the last byte or when the reader is gone.
    private func feed(_ rest: inout ArraySlice<UInt8>) -> Bool {
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(pipes.input.write, $0.baseAddress!, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                return true
            } else {
                break
            }
        }
        guard !keepsInputOpen || !rest.isEmpty else { return true }
        close(pipes.input.write)
        return false
    }

    private func drain(_ pipe: Int32, _ append: (inout ChildProcess.Progress, ArraySlice<UInt8>) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(pipe, $0.baseAddress!, $0.count) }
            guard count > 0 else { return }
            progress.update { append(&$0, buffer[..<count]) }
        }
    }

    private func collect(sampledPeak: Int64) {
        var end = cts_child_end()
        let code = unsafe cts_collect(child.pid, &end)
        precondition(code == 0, "a child was collected by somebody else: errno \(-code)")
        // exec(2) carries the *parent's* peak over into ru_maxrss. If that may have happened, the sampled value is
        // used.
        let isOwn = end.peak_resident_bytes > cts_peak_resident_bytes(getpid())
        let peak = isOwn ? max(end.peak_resident_bytes, sampledPeak) : sampledPeak
        progress.update { progress in
            progress.finished = ChildProcess.Finished(
                exit: end.signal == 0 ? .status(Int(end.status)) : .signal(Int(end.signal)),
                output: progress.output, errorOutput: progress.errorOutput, peakResidentBytes: Int(peak),
                cpuTime: .microseconds(end.user_microseconds + end.system_microseconds))
        }
    }
}
