internal import CTestSupport
internal import Glibc
internal import WaybillCore

/// Another program, run by posix_spawn(3) and watched from a thread of its own.
///
/// ```swift
/// let run = try await ChildProcess.run("curl", ["-s", server.url("/")])
/// #expect(run.exit == .status(0), "\(run.errorText)")
/// ```
package final class ChildProcess: Sendable {
    /// How it ended.
    package enum Exit: Sendable, Hashable {
        case status(Int)
        case signal(Int)
    }

    /// What is left of it.
    package struct Finished: Sendable {
        package let exit: Exit
        package let output: [UInt8]
        package let errorOutput: [UInt8]
        /// The most memory it had resident, to a few milliseconds of its end.
        package let peakResidentBytes: Int
        /// What it used of the processors, in the kernel too.
        package let cpuTime: Duration

        package var text: String { String(decoding: output, as: UTF8.self) }
        package var errorText: String { String(decoding: errorOutput, as: UTF8.self) }
    }

    /// What it has written so far.
    package struct Progress: Sendable {
        package var output: [UInt8] = []
        package var errorOutput: [UInt8] = []
        package var finished: Finished?

        package var text: String { String(decoding: output, as: UTF8.self) }
        package var errorText: String { String(decoding: errorOutput, as: UTF8.self) }
    }

    package let pid: Int32
    private let progress = Watched(Progress())

    /// Starts a program and waits for its end.
    package static func run(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, input: [UInt8] = [],
        directory: String? = nil
    ) async throws -> Finished {
        try await ChildProcess(
            program, arguments, environment: environment, input: input, directory: directory
        ).finish()
    }

    /// Starts a program, which is looked for in `PATH` unless it has a slash.
    ///
    /// - Parameters:
    ///   - program: Its path or its name.
    ///   - arguments: Without the name of the program itself.
    ///   - environment: All of its environment; `nil` hands on this program's.
    ///   - input: What it reads from its standard input, followed by the end.
    ///   - directory: Where it starts; `nil` is this program's own place.
    /// - Throws: ``SystemCallFailure`` when it can't be started.
    package init(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, input: [UInt8] = [],
        directory: String? = nil
    ) throws {
        let pipes = try ChildPipes()
        let child = try pipes.spawn(
            program, [program] + arguments, environment.map { $0.map { "\($0.key)=\($0.value)" } }, directory)
        pid = child.pid
        let progress = progress
        ServerThread { ChildWatch(child: child, pipes: pipes, progress: progress).run(input) }.detach()
    }

    /// What it has written so far.
    package var writtenSoFar: Progress { progress.value }

    /// Waits until what it has written is as asked. If it ends before that, the answer has `finished` set.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (Progress) -> Bool) async throws -> Progress {
        try await progress.waitUntil { isMet($0) || $0.finished != nil }
    }

    /// Waits for its end.
    package func finish() async throws -> Finished {
        try await progress.waitUntil { $0.finished != nil }.finished!
    }

    /// Sends it a signal, if it still lives.
    package func signal(_ number: Int32) {
        // Collected processes are not signalled: their number may be another's by now.
        if progress.value.finished == nil { kill(pid, number) }
    }
}
