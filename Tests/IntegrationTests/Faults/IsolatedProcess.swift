import Glibc
import TestSupport
import Testing

/// Runs a test in a separate process in which nothing else opens descriptors or starts threads: whatever remains at
/// the end was left by the test.
enum IsolatedProcess {
    /// Whether this is the separate process.
    static var isIsolated: Bool { unsafe getenv("WAYBILL_ALONE") != nil }

    /// Runs a suite in the separate process. The suite must print what it counted.
    static func run(_ suite: String) async throws {
        var path = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe path.withUnsafeMutableBytes { unsafe readlink("/proc/self/exe", $0.baseAddress!, $0.count) }
        let program = String(decoding: path[..<max(count, 0)], as: UTF8.self)
        let run = try await ChildProcess.run(
            "env", ["WAYBILL_ALONE=1", program, "--testing-library", "swift-testing", "--filter", suite])
        #expect(run.exit == .status(0), "\(run.text)\(run.errorText)")
        // A run without any test would also exit with 0.
        #expect(run.text.contains("ProcessResources: "), "\(run.text)\(run.errorText)")
    }

    static func expectNothingLeft(before: ProcessResources, after: ProcessResources) {
        print("ProcessResources: \(before.descriptors.count) descriptors, \(before.threads.count) threads")
        #expect(after.descriptors.count <= before.descriptors.count, "before: \(before)\nafter: \(after)")
        #expect(after.threads.count <= before.threads.count, "before: \(before)\nafter: \(after)")
        #expect(!after.threads.contains("waybill-curl"))
    }
}
