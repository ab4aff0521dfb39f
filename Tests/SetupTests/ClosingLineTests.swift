import TestSupport
import Testing

/// The last line of `make test`, as printed by `Scripts/tests sum`.
@Suite(.timeLimit(.minutes(1 * Slowness.factor))) struct ClosingLineTests {
    /// The output of a command that runs tests, and its exit status.
    private typealias Output = (lines: [String], status: Int)

    private static let root: Output = (
        [
            "◇ Test run started.", "✔ Test \"a form is read\" passed after 0.001 seconds.",
            "✔ Test `a test with cases` with 2 test cases passed after 0.001 seconds.",
            "✔ Suite A passed after 0.1 seconds.",
            "➜ Test \"a page is shown\" skipped: \"Chromium is not installed\"",
            "✔ Test run with 3 tests in 1 suite passed after 0.1 seconds.",
        ], 0
    )
    private static let script: Output = (["✔ Receiver listens", "some other output", "✔ IDCardFlow (3 s)"], 0)
    private static let failing: Output = (
        [
            "✔ Test \"one\" passed after 0.001 seconds.",
            "✘ Test \"two\" recorded an issue at A.swift:1:2: Expectation failed: a == b",
            "✘ Test \"two\" failed after 0.1 seconds with 1 issue.", "✘ Suite B failed after 0.1 seconds with 1 issue.",
            "✘ Test run with 2 tests in 1 suite failed after 0.1 seconds with 1 issue.",
        ], 1
    )
    private static let crashing: Output = (["✔ Test \"one\" passed after 0.001 seconds."], 132)

    private func lastLine(of outputs: Output...) async throws -> (exit: ChildProcess.Exit, line: String) {
        let folder = try TestSupport.TemporaryDirectory()
        var commands: [String] = []
        for (index, output) in outputs.enumerated() {
            let path = try folder.write("\(index)", output.lines.map { "\($0)\n" }.joined())
            commands.append("'\(ProjectRoot.file("Scripts/tests"))' sh -c 'cat \(path); exit \(output.status)'")
        }
        let run = try await ChildProcess.run(
            ProjectRoot.file("Scripts/tests"), ["sum", "sh", "-c", commands.joined(separator: " && ")],
            environment: ["PATH": "/usr/bin:/bin", "TMPDIR": folder.path])
        return (run.exit, run.text.split(separator: "\n").last.map(String.init) ?? "")
    }

    @Test func `the closing line sums all runs and the skipped tests`() async throws {
        let end = try await lastLine(of: Self.root, Self.script, Self.root)
        #expect(end.exit == .status(0))
        #expect(end.line == "6 passed, 0 failed, 2 skipped")
    }

    @Test func `the closing line counts failed tests, not their issues`() async throws {
        let end = try await lastLine(of: Self.root, Self.failing)
        #expect(end.exit == .status(1))
        #expect(end.line == "3 passed, 1 failed, 1 skipped")
    }

    @Test func `a run that crashes counts as one failure`() async throws {
        let end = try await lastLine(of: Self.root, Self.crashing)
        #expect(end.exit == .status(132))
        #expect(end.line == "3 passed, 1 failed, 1 skipped")
    }

    @Test func `a command that fails before its first test counts as one failure`() async throws {
        let folder = try TestSupport.TemporaryDirectory()
        let run = try await ChildProcess.run(
            ProjectRoot.file("Scripts/tests"), ["sum", "sh", "-c", "exit 2"],
            environment: ["PATH": "/usr/bin:/bin", "TMPDIR": folder.path])
        #expect(run.exit == .status(2))
        #expect(run.text == "\n0 passed, 1 failed, 0 skipped\n")
    }
}
