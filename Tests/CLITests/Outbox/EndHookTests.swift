import Foundation
import Glibc
import TestSupport
import Testing

/// `waybill outbox run --on-end`.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct EndHookTests {
    @Test func `the command receives each ended item once and in order`() async throws {
        let fixture = try OutboxFixture(.respond(200, body: "made"), .respond(422))
        for _ in 0..<12 { _ = try await fixture.queue("-F", "a=b") }
        let log = fixture.folder.path("log")
        let run = try await fixture.deliver("-j", "1", "--json", "--on-end", "cat >> '\(log)'; echo shown")
        #expect(run.exit == .status(1), "\(run.errorText)")
        let lines = try Self.lines(log)
        #expect(lines.compactMap { $0["sequence"] as? Int } == Array(1...12))
        #expect(lines[0]["event"] as? String == "item" && lines[0]["body"] as? String == "made")
        #expect(lines[1]["state"] as? String == "failed" && lines[1]["exit"] as? Int == 1)
        // Standard output has only the lines of the command itself.
        #expect(run.errorText.contains("shown") && !run.text.contains("shown"))
        _ = try await fixture.queue("-F", "a=b")
        _ = try await fixture.deliver("--on-end", "cat >> '\(log)'")
        #expect(try Self.lines(log).compactMap { $0["sequence"] as? Int } == Array(1...13))
    }

    @Test func `a failing command is run again and blocks no delivery, and the next run continues`() async throws {
        let fixture = try OutboxFixture()
        for _ in 0..<5 { _ = try await fixture.queue("-F", "a=b") }
        let failing = try await fixture.deliver("--on-end", "exit 3")
        #expect(failing.exit == .status(0) && fixture.server.requests.count == 5)
        #expect(failing.errorText.contains("--on-end failed for item"), "\(failing.errorText)")
        #expect(failing.errorText.contains("exit status 3") && failing.errorText.contains("The next run continues"))
        let log = fixture.folder.path("log")
        // Fails for the first call and for the third item, each once.
        let script =
            "if mkdir '\(log).first' 2>/dev/null; then exit 1; fi; line=$(cat); "
            + "case $line in *'\"sequence\":3,'*) mkdir '\(log).third' 2>/dev/null && exit 1;; esac; "
            + "echo \"$line\" >> '\(log)'; echo hooked"
        let process = try fixture.startOutbox("run", "--on-end", script)
        try await process.waitUntil { $0.errorText.components(separatedBy: "hooked").count > 5 }
        process.signal(SIGTERM)
        let end = try await process.finish()
        #expect(end.exit == .status(143), "\(end.errorText)")
        #expect(try Self.lines(log).compactMap { $0["sequence"] as? Int } == [1, 2, 3, 4, 5])
        #expect(end.errorText.components(separatedBy: "--on-end failed").count == 3, "\(end.errorText)")
    }

    @Test func `a command that hangs is stopped when the time of a drain has passed`() async throws {
        let fixture = try OutboxFixture()
        _ = try await fixture.queue("-F", "a=b")
        let process = try fixture.startOutbox(
            "run", "--drain", "1s", "--on-end", "echo hooked; sleep 1000")
        try await process.waitUntil { $0.errorText.contains("hooked") }
        process.signal(SIGTERM)
        let end = try await process.finish()
        #expect(end.exit == .status(143) && end.errorText.contains("it was stopped"), "\(end.errorText)")
        #expect(try await fixture.outbox("run", "--on-end", "").exit == .status(2))
    }

    private static func lines(_ path: String) throws -> [[String: Any]] {
        try String(decoding: readFile(path), as: UTF8.self).split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }
}
