import Foundation
import TestSupport
import Testing

@testable import WaybillCLI

/// File lists for `--each-from`.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct EachFromTests {
    private func names(_ bytes: String, isNullSeparated: Bool = false, cut: Int? = nil) throws -> [String] {
        var list = NameList(isNullSeparated: isNullSeparated)
        let bytes = Array(bytes.utf8)
        let size = max(1, cut ?? bytes.count)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try list.add(bytes[start..<min(bytes.count, start + size)])
        }
        try list.finish()
        return list.names
    }

    @Test func `a name is a line taken literally, and empty lines are skipped`() throws {
        for cut in [1, 2, 3, 1_000] {
            #expect(try names("a\n\n b \r\n\"c\"\n-d", cut: cut) == ["a", " b \r", "\"c\"", "-d"])
            #expect(try names("a\nb\u{0}\u{0}c", isNullSeparated: true, cut: cut) == ["a\nb", "c"])
            #expect(try names("", cut: cut) == [])
        }
    }

    @Test func `a list with the wrong separator is refused with a remedy`() {
        let mixed = #expect(throws: CommandFailure.self) { try names("a\u{0}b\u{0}") }
        #expect(mixed?.message.contains("-0") == true && mixed?.exit == .usage)
        let long = #expect(throws: CommandFailure.self) { try names(String(repeating: "a", count: 70_000)) }
        #expect(long?.message.contains("-0") == true)
        let lines = #expect(throws: CommandFailure.self) {
            try names(String(repeating: "a\n", count: 40_000), isNullSeparated: true)
        }
        #expect(lines?.message.contains("leave out -0") == true)
    }

    @Test(arguments: [["--each-from", "-"], ["--each-from", "-", "-0"], ["--each-from=-", "--null"]])
    func `a form is sent for every name, after those of --each`(_ words: [String]) async throws {
        let folder = try TemporaryDirectory()
        let files = try ["a", "b\nc", "-"].map { try folder.write($0, "content of \($0)") }
        let server = try LoopbackServer()
        let separator = words.count == 2 ? "\n" : "\u{0}"
        let listed = words.count == 2 ? [files[0]] : [files[0], files[1]]
        let run = try await Tool.run(
            ["post", server.url(), "-F", "f=@{}", "--each", files[2]] + words,
            input: Array(listed.joined(separator: separator).utf8))
        #expect(run.exit == .status(0), "\(run.errorText)")
        let bodies = server.requests.map(\.bodyWithoutBoundary)
        for name in ["a", "-"] { #expect(bodies.contains { $0.contains("content of \(name)\r\n") }) }
        #expect(bodies.count == listed.count + 1)
    }

    @Test func `a file named - is a file in a list`() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("-", "dash")
        let list = try folder.write("list", "-\n")
        let server = try LoopbackServer()
        let run = try await ChildProcess.run(
            Tool.path, ["post", server.url(), "-F", "f=@{}", "--each-from", list], environment: Tool.environment(),
            directory: folder.path)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try await server.request(0).bodyWithoutBoundary.contains("\r\n\r\ndash\r\n"))
    }

    @Test func `an empty list finishes immediately, also with --max-bytes`() async throws {
        let run = try await Tool.run(
            ["post", "http://127.0.0.1:1/", "-F", "f=@{}", "--max-bytes", "100K", "--each-from", "-"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.errorText.contains("0 of 0 files accepted"), "\(run.errorText)")
    }

    @Test(arguments: [["-0"], ["--each", "a", "-0"]]) func `-0 requires a list`(_ words: [String]) async throws {
        let run = try await Tool.run(["post", "http://127.0.0.1:1/", "-F", "f=@{}"] + words)
        #expect(run.exit == .status(2) && run.errorText.contains("-0 requires --each-from"), "\(run.errorText)")
    }

    @Test func `a missing list is named`() async throws {
        let run = try await Tool.run(["post", "http://127.0.0.1:1/", "-F", "f=@{}", "--each-from", "/none"])
        #expect(run.exit == .status(3) && run.errorText.contains("--each-from: \"/none\""), "\(run.errorText)")
    }

    @Test func `with --queue every name is an item`() async throws {
        let fixture = try OutboxFixture()
        let files = try ["a", "b"].map { try fixture.folder.write($0, $0) }
        let queued = try await fixture.queue(
            "-F", "f=@{}", "--each-from", "-", input: Array(files.joined(separator: "\n").utf8))
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        #expect(try await fixture.items().count == 2)
    }
}
