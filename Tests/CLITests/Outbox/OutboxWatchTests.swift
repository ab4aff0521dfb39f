import Glibc
import TestSupport
import Testing

@testable import WaybillCLI

/// `waybill outbox watch` and the progress bar of `outbox run`.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct OutboxWatchTests {
    private func scene(_ gate: Gate) async throws -> OutboxFixture {
        let fixture = try OutboxFixture(.respond(200, body: "stored").paused(afterBodyBytes: 50_000, until: gate))
        let file = try fixture.folder.writeSparse("large", size: 6_000_000)
        _ = try await fixture.queue("-F", "f=@\(file)", "--batch", "b")
        return fixture
    }

    @Test func `watch shows the progress of another process and clears the bar at the end`() async throws {
        let gate = Gate()
        let fixture = try await scene(gate)
        let runner = try fixture.startOutbox("run")
        try await fixture.server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 50_000 }
        let terminal = try PseudoTerminal(columns: 60)
        let child = try terminal.run(fixture.words(["watch"]))
        try await terminal.waitUntil { $0.contains("0 of 1 item") && $0.contains(" of 5.7 MiB") }
        gate.open()
        #expect(try await child.finish().exit == .status(0))
        let text = try await terminal.waitUntil { $0.contains("1 delivered in ") && $0.hasSuffix("\r\n") }
        let bars = PseudoTerminal.bars(in: text, columns: 60).filter { $0.contains(" of 1 item") }
        #expect(!bars.isEmpty && bars.allSatisfy { TerminalText.columns(of: $0) < 60 })
        let screen = PseudoTerminal.screen(after: text, columns: 60)
        #expect(screen.count == 2 && screen[0].hasPrefix("1: delivered to"), "\(screen)")
        runner.signal(SIGTERM)
        #expect(try await runner.finish().exit == .status(143))
    }

    @Test func `--json reports progress and ends with the summary`() async throws {
        let gate = Gate()
        let fixture = try await scene(gate)
        let runner = try fixture.startOutbox("run", "--json")
        try await fixture.server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 50_000 }
        let child = try fixture.startOutbox("watch", "--batch", "b", "--json")
        try await child.waitUntil { $0.text.contains("\"event\":\"progress\"") }
        gate.open()
        let run = try await child.finish()
        #expect(run.exit == .status(0), "\(run.errorText)")
        let progress = try #require(try run.jsonLines().first { $0["event"] as? String == "progress" })
        #expect((progress["states"] as? [String: Any])?["leased"] as? Int == 1)
        #expect((progress["running"] as? [[String: Any]])?.first?["id"] as? Int == 1)
        #expect(try run.jsonSummary()["delivered"] as? Int == 1)
        runner.signal(SIGINT)
        let ended = try await runner.finish()
        #expect(ended.exit == .status(130))
        #expect(try ended.jsonSummary()["delivered"] as? Int == 1)
    }

    @Test func `watch reports a whole batch, and a signal ends only watch`() async throws {
        let fixture = try OutboxFixture(.respond(404))
        _ = try await fixture.queue("-F", "a=b", "--batch", "old")
        _ = try await fixture.deliver("-q")
        let old = try await fixture.outbox("watch", "--batch", "old")
        #expect(old.exit == .status(1) && old.errorText.contains("1: failed, status404"), "\(old.errorText)")
        #expect(try await fixture.outbox("watch").exit == .status(0))
        #expect(try await fixture.outbox("watch", "--batch", "none").exit == .status(2))
        _ = try await fixture.queue("-F", "a=b")
        let child = try fixture.startOutbox("watch", "--json")
        try await child.waitUntil { $0.text.contains("progress") }
        child.signal(SIGINT)
        #expect(try await child.finish().exit == .status(130))
        #expect(try await fixture.states() == ["failed", "ready"])
    }

    @Test func `a run on a terminal shows a bar`() async throws {
        let gate = Gate()
        let fixture = try await scene(gate)
        let terminal = try PseudoTerminal(columns: 80)
        let child = try terminal.run(fixture.words(["run", "--until-idle"]))
        try await terminal.waitUntil { $0.contains("0 of 1 item") && $0.contains("%") }
        gate.open()
        #expect(try await child.finish().exit == .status(0))
        let text = try await terminal.waitUntil { $0.contains("done: 1 delivered") && $0.hasSuffix("\r\n") }
        let screen = PseudoTerminal.screen(after: text, columns: 80)
        #expect(screen.count == 2 && screen[1].hasPrefix("done: 1 delivered in "), "\(screen)")
    }
}
