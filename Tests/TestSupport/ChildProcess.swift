internal import CTestSupport
internal import Glibc
internal import WaybillCore

/// A child process, spawned with posix_spawn(3) and observed from a dedicated thread.
///
/// ```swift
/// let run = try await ChildProcess.run("curl", ["-s", server.url("/")])
/// #expect(run.exit == .status(0), "\(run.errorText)")
/// ```
package final class ChildProcess: Sendable {
    /// The way the process ended.
    package enum Exit: Sendable, Hashable {
        case status(Int)
        case signal(Int)
    }

    /// The result of a finished process.
    package struct Finished: Sendable {
        package let exit: Exit
        package let output: [UInt8]
        package let errorOutput: [UInt8]
        /// The peak resident memory, accurate to a few milliseconds before the end.
        package let peakResidentBytes: Int
        /// The processor time used, including time in the kernel.
        package let cpuTime: Duration

        package var text: String { String(decoding: output, as: UTF8.self) }
        package var errorText: String { String(decoding: errorOutput, as: UTF8.self) }
    }

    /// The output so far.
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

    /// Starts a program, which is looked up in `PATH` unless it contains a slash.
    ///
    /// - Parameters:
    ///   - program: Its path or its name.
    ///   - arguments: The arguments without the name of the program.
    ///   - environment: The complete environment; `nil` inherits that of this process.
    ///   - input: The contents of its standard input.
    ///   - directory: The working directory; `nil` inherits that of this process.
    ///   - keepsInputOpen: Whether its standard input ends only with the process, or with this one.
    /// - Throws: ``SystemCallFailure`` if it cannot be started.
    package init(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, input: [UInt8] = [],
        directory: String? = nil, keepsInputOpen: Bool = false
    ) throws {
        let pipes = try ChildPipes()
        let child = try pipes.spawn(
            program, [program] + arguments, environment.map { $0.map { "\($0.key)=\($0.value)" } }, directory)
        pid = child.pid
        let progress = progress
        ServerThread {
            ChildWatch(child: child, pipes: pipes, progress: progress, keepsInputOpen: keepsInputOpen).run(input)
        }.detach()
    }

    /// The output so far.
    package var writtenSoFar: Progress { progress.value }

    /// Waits until the output satisfies the condition. If the process ends first, the result has `finished` set.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (Progress) -> Bool) async throws -> Progress {
        try await progress.waitUntil { isMet($0) || $0.finished != nil }
    }

    /// Waits for the end of the process.
    package func finish() async throws -> Finished {
        try await progress.waitUntil { $0.finished != nil }.finished!
    }

    /// Sends a signal if the process is still running.
    package func signal(_ number: Int32) {
        // A reaped process is not signalled, because its number may have been reused.
        if progress.value.finished == nil { kill(pid, number) }
    }
}
