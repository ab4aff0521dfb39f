import Foundation
import TestSupport

/// The real program, as a user runs it.
enum Tool {
    static let path = "\(ProjectRoot.products)/waybill"

    /// Returns an environment without proxies, CI variables and colors, plus the given variables.
    static func environment(_ extra: [String: String] = [:]) -> [String: String] {
        let kept = ["PATH", "LD_LIBRARY_PATH", "TMPDIR", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS"]
        return ProcessInfo.processInfo.environment.filter { kept.contains($0.key) }.merging(extra) { $1 }
    }

    /// Whether the program was built with the thread sanitizer. Only `make thread` sets its options.
    static let isThreadSanitized = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
    /// Whether the program was built with the address sanitizer, which keeps freed memory for a while (`make
    /// address`).
    static let isAddressSanitized = ProcessInfo.processInfo.environment["LSAN_OPTIONS"] != nil

    /// Returns whether a program is in `PATH`.
    static func has(_ program: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }

    static func start(
        _ arguments: [String], environment extra: [String: String] = [:], input: [UInt8] = []
    ) throws -> ChildProcess {
        // A test run in the background ignores SIGINT, and child processes inherit that.
        try ChildProcess(
            "env", ["--default-signal=INT,TERM", path] + arguments, environment: environment(extra), input: input)
    }

    static func run(
        _ arguments: [String], environment extra: [String: String] = [:], input: [UInt8] = []
    ) async throws -> ChildProcess.Finished {
        try await start(arguments, environment: extra, input: input).finish()
    }
}

extension ChildProcess.Finished {
    /// The lines of standard output parsed as JSON objects.
    func jsonLines() throws -> [[String: Any]] {
        try text.split(separator: "\n").map { line in
            guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
                throw NotAnObject(line: String(line))
            }
            return object
        }
    }

    struct NotAnObject: Error { let line: String }
}

extension RecordedRequest {
    /// The body as text with each boundary replaced by a placeholder.
    var bodyWithoutBoundary: String {
        let boundary = value(of: "Content-Type")?.split(separator: "boundary=").last.map(String.init) ?? ""
        return String(decoding: body, as: UTF8.self).split(separator: boundary, omittingEmptySubsequences: false)
            .joined(separator: "BOUNDARY")
    }
}
