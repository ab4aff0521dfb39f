import Foundation
import Glibc
import TestSupport
import Testing
import WaybillCore

/// `waybill outbox run`.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct OutboxRunTests {
    @Test func `a run reports each item and a final summary`() async throws {
        let fixture = try OutboxFixture(.respond(201, body: "made"), .respond(422, body: "no \u{1B}[2J"))
        for _ in 0..<2 { _ = try await fixture.queue("-F", "a=b") }
        let run = try await fixture.deliver("-j", "1")
        #expect(run.exit == .status(1) && run.output.isEmpty)
        let lane = "127.0.0.1:\(fixture.server.port)"
        let lines = run.errorText.split(separator: "\n").map(String.init)
        #expect(lines.count == 4, "\(lines)")
        #expect(lines[0] == "delivering from \(fixture.path), 2 waiting")
        #expect(lines[1] == "1: delivered to \(lane), 201")
        #expect(lines[2].hasPrefix("waybill: 2: failed, status422: The server responded with 422"), "\(lines[2])")
        #expect(lines[3].hasPrefix("waybill: 1 delivered, 1 failed in "), "\(lines[3])")
        let quiet = try await fixture.deliver("-q")
        #expect(quiet.exit == .status(0) && quiet.errorText.isEmpty)
    }

    @Test func `--json writes one object per item with the response, and the summary last`() async throws {
        let fixture = try OutboxFixture(.respond(200, body: "stored"))
        _ = try await fixture.queue("-F", "a=b", "--batch", "b")
        let run = try await fixture.deliver("--json")
        #expect(run.exit == .status(0), "\(run.errorText)")
        let lines = try run.jsonLines()
        #expect(lines.first?["event"] as? String == "start" && lines.first?["waiting"] as? Int == 1)
        let item = try #require(lines.first { $0["event"] as? String == "item" })
        #expect(item["id"] as? Int == 1 && item["state"] as? String == "done" && item["status"] as? Int == 200)
        #expect(item["body"] as? String == "stored" && item["exit"] as? Int == 0 && item["batch"] as? String == "b")
        let summary = try run.jsonSummary()
        #expect(summary["delivered"] as? Int == 1 && summary["result"] as? String == "succeeded")
        #expect(summary["left"] as? Int == 0 && summary["exit"] as? Int == 0)
    }

    /// Server behavior or change of the file, and the expected exit status.
    enum Case: String, CaseIterable {
        case refused, missing, changed, passing, unknown, credential, paused

        var exit: Int {
            switch self {
            case .refused: 1
            case .missing: 3
            case .changed: 4
            case .passing: 5
            case .unknown: 6
            case .credential: 7
            case .paused: 75
            }
        }
    }

    @Test(arguments: Case.allCases) func `each failure has its exit status`(_ end: Case) async throws {
        let fixture = try OutboxFixture()
        switch end {
        case .refused: fixture.server.script(.respond(413))
        case .passing: fixture.server.script(.respond(503))
        case .unknown: fixture.server.script(.closeWithoutResponse())
        default: break
        }
        let file = try fixture.folder.write("f.txt", "first")
        var form = ["-F", "f=@\(file)", "--attempts", "1"]
        if end == .credential { form += ["--credential", "nobody"] }
        let queued = try await Tool.run(["post", fixture.server.url("/"), "--queue", "--outbox", fixture.path] + form)
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        switch end {
        case .missing: try FileManager.default.removeItem(atPath: file)
        case .changed: _ = try fixture.folder.write("f.txt", "second, and longer")
        case .paused: #expect(try await fixture.outbox("pause", "1").text == "1 item paused\n")
        default: break
        }
        let run = try await fixture.deliver("--json")
        #expect(run.exit == .status(end.exit), "\(run.errorText)")
        let summary = try run.jsonSummary()
        #expect(summary["exit"] as? Int == end.exit)
        #expect(summary["doubtful"] as? Int == (end == .unknown ? 1 : 0))
        let isLeft = end == .credential || end == .paused
        #expect(
            summary["left"] as? Int == (isLeft ? 1 : 0)
                && summary["failed"] as? Int == (isLeft || end == .unknown ? 0 : 1))
        if end == .unknown { #expect(run.errorText.contains("unknown whether")) }
        if end == .credential { #expect(run.errorText.contains("resume --lane")) }
    }

    @Test func `the most severe failure decides, and an unusable outbox exits with 7`() async throws {
        let fixture = try OutboxFixture(.respond(503), .closeWithoutResponse(), .respond(400))
        for _ in 0..<3 { _ = try await fixture.queue("-F", "a=b", "--attempts", "1") }
        #expect(try await fixture.deliver("-j", "1").exit == .status(6))
        #expect(try await fixture.outbox("ack").exit == .status(6))
        let folder = try TemporaryDirectory()
        let file = try folder.write("no-folder", "")
        for arguments in [["run", "--until-idle"], ["ls"]] {
            let run = try await Tool.run(["outbox"] + arguments + ["--outbox", file])
            #expect(run.exit == .status(7), "\(run.errorText)")
        }
        let none = try await Tool.run(["outbox", "ls", "--outbox", folder.path("none")])
        #expect(none.exit == .status(2) && none.errorText.contains("There is no outbox"))
        #expect(!FileManager.default.fileExists(atPath: folder.path("none")))
    }

    @Test func `credentials are read from the environment or a file and never stored in the outbox`() async throws {
        let fixture = try OutboxFixture()
        let secret = "hunter2-\(UInt64.random(in: .min ... .max))"
        let file = try fixture.folder.write("secret", "\(secret)-file\n")
        _ = try await fixture.queue("-F", "TOKEN=credential:front-desk", "--credential", "backend")
        _ = try await fixture.queue("-F", "a=b", "--credential", "X-Api-Key=key.2")
        let run = try await fixture.deliver(
            "--credential", "key.2=@\(file)", "-v",
            environment: ["WAYBILL_CREDENTIAL_FRONT_DESK": secret, "WAYBILL_CREDENTIAL_BACKEND": "\(secret)-bearer"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let requests = fixture.server.requests.sorted { $0.body.count > $1.body.count }
        #expect(requests[0].bodyWithoutBoundary.contains("name=\"TOKEN\"\r\n\r\n\(secret)\r\n"))
        #expect(requests[0].value(of: "Authorization") == "Bearer \(secret)-bearer")
        #expect(requests[1].value(of: "X-Api-Key") == "\(secret)-file")
        #expect(!run.errorText.contains(secret))
        for name in ["queue.db", "queue.db-wal"] {
            let bytes = (try? readFile("\(fixture.path)/\(name)")) ?? []
            #expect(!String(decoding: bytes, as: UTF8.self).contains("hunter2"))
        }
        let wrong = try await fixture.deliver("--credential", "x=\(secret)")
        #expect(wrong.exit == .status(2) && !wrong.errorText.contains(secret) && wrong.errorText.contains("ps"))
    }

    @Test func `a lane blocked by a missing credential continues once it is available`() async throws {
        let fixture = try OutboxFixture()
        _ = try await fixture.queue("-F", "a=b", "--credential", "backend")
        let blocked = try await fixture.deliver()
        let lane = "127.0.0.1:\(fixture.server.port) as backend"
        #expect(blocked.exit == .status(7) && blocked.errorText.contains("\(lane) is blocked: credentialRefreshFailed"))
        let check = try await fixture.outbox("check")
        #expect(check.exit == .status(7) && check.text.contains("failed  lane: \(lane) is blocked"), "\(check.text)")
        #expect(try await fixture.outbox("resume", "--lane", lane).exit == .status(0))
        #expect(try await fixture.outbox("check").exit == .status(0))
        #expect(try await fixture.deliver(environment: ["WAYBILL_CREDENTIAL_BACKEND": "t"]).exit == .status(0))
        #expect(fixture.server.requests.count == 1)
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)]) func `a signal stops the run cleanly, and the next run continues`(
        _ signal: Int32, _ status: Int
    ) async throws {
        let fixture = try OutboxFixture(.stall(afterBodyBytes: 50_000))
        let file = try fixture.folder.writeSparse("large", size: 20_000_000)
        _ = try await fixture.queue("-F", "f=@\(file)")
        let child = try fixture.startOutbox("run", "--json", "--drain", "0")
        try await fixture.server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 50_000 }
        child.signal(signal)
        let run = try await child.finish()
        #expect(run.exit == .status(status), "\(run.errorText)")
        let summary = try run.jsonSummary()
        #expect(summary["signal"] as? Int == Int(signal) && summary["left"] as? Int == 1)
        let item = try #require(try await fixture.items().first)
        // Stopped locally before the server had the whole request: no attempt is counted, and the outcome is not in
        // doubt.
        #expect(item["state"] as? String == "ready" && item["attempts"] as? Int == 0)
        #expect(try await fixture.deliver().exit == .status(0))
        #expect(fixture.server.requests.count { $0.isComplete } == 1)
    }

    @Test func `a signal leaves the request in flight time for its response`() async throws {
        let gate = Gate()
        let fixture = try OutboxFixture(Behaviour([.read(), .wait(gate), .send(ScriptedResponse(200))]))
        for text in ["first", "second"] { _ = try await fixture.queue("-F", "a=\(text)") }
        let child = try fixture.startOutbox("run", "-j", "1")
        try await fixture.server.waitUntil { $0.requests.first?.isComplete == true }
        child.signal(SIGTERM)
        _ = try await child.waitUntil { $0.errorText.contains("stopping: running uploads have 20 s to finish") }
        gate.open()
        let run = try await child.finish()
        #expect(run.exit == .status(143), "\(run.errorText)")
        #expect(try await fixture.states() == ["done", "ready"])
        #expect(fixture.server.requests.count == 1)
    }

    @Test func `an invalid --drain is refused`() async throws {
        let fixture = try OutboxFixture()
        let run = try await fixture.outbox("run", "--drain", "soon")
        #expect(run.exit == .status(2) && run.errorText.contains("--drain"), "\(run.errorText)")
    }

    @Test func `one process delivers, and other processes can steer it`() async throws {
        let fixture = try OutboxFixture(.stall(afterBodyBytes: 50_000))
        let file = try fixture.folder.writeSparse("large", size: 20_000_000)
        _ = try await fixture.queue("-F", "f=@\(file)", "--batch", "large")
        let child = try fixture.startOutbox("run")
        try await fixture.server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 50_000 }
        let second = try await fixture.deliver()
        #expect(
            second.exit == .status(75) && second.errorText.contains("Another process delivers"), "\(second.errorText)")
        #expect(try await fixture.queue("-F", "small=1").text == "2\n")
        try await fixture.server.waitUntil { $0.requests.contains { $0.responseStatus == 200 } }
        let check = try await fixture.outbox("check")
        #expect(check.exit == .status(0) && check.text.contains("another process uses it"), "\(check.text)")
        #expect(try await fixture.outbox("pause", "--batch", "large").text == "1 item paused\n")
        _ = try await fixture.server.peerEnd(ofConnection: 0)
        #expect(try await fixture.outbox("cancel", "1", "--json").jsonSummary()["changed"] as? Int == 1)
        // Nothing is in flight, so the run ends immediately.
        child.signal(SIGTERM)
        #expect(try await child.finish().exit == .status(143))
        #expect(try await fixture.states() == ["cancelled", "done"])
    }

    @Test(arguments: [true, false]) func `a run killed repeatedly with -9 delivers each item at most once`(
        _ honoursKeys: Bool
    ) async throws {
        var random = SeededGenerator()
        let server = try VerifyingServer(honoursKeys: honoursKeys, faults: 0, outOf: 24, using: &random)
        let fixture = try OutboxFixture()
        let files = try (0..<24).map { try fixture.folder.write("f\($0)", "item-\($0)-") }
        let promise = honoursKeys ? ["--idempotency", "honoured"] : []
        let queued = try await Tool.run(
            ["post", server.server.url("/u"), "-F", "f=@{}", "--queue", "--outbox", fixture.path] + promise + ["--each"]
                + files)
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        for enough in [3, 9, 15] {
            let child = try fixture.startOutbox("run", "-j", "2")
            try await server.server.waitUntil { $0.requests.count >= enough }
            child.signal(SIGKILL)
            #expect(try await child.finish().exit == .signal(Int(SIGKILL)))
        }
        let last = try await fixture.deliver()
        let items = try await fixture.items()
        let done = items.count { $0["state"] as? String == "done" }
        let doubtful = items.count { $0["doubtful"] as? Bool == true && $0["state"] as? String == "failed" }
        #expect(done + doubtful == 24)
        // A request killed between its head and its body is unnamed and has no effect.
        let accounts = server.accounts.filter { $0.key != "unnamed" || $0.value.effects > 0 }
        // An item killed before its first byte is in doubt, but unknown to the server.
        #expect(accounts.values.allSatisfy { $0.effects <= 1 }, "\(accounts)")
        if honoursKeys {
            #expect(done == 24 && last.exit == .status(0), "\(last.errorText)")
            #expect(accounts.values.allSatisfy { $0.effects == 1 && $0.digests.count == 1 })
        }
        for (index, item) in items.enumerated() where item["state"] as? String == "done" {
            #expect(accounts["item-\(index)-"]?.effects == 1)
        }
    }

    @Test func `a retried item reports the reason and the delay`() async throws {
        let fixture = try OutboxFixture(.respond(503, headers: [("Retry-After", "3")]), .respond(200))
        _ = try await fixture.queue("-F", "a=b")
        let run = try await fixture.deliver("--progress-interval", "0")
        #expect(run.exit == .status(0), "\(run.errorText)")
        let line = try #require(run.errorText.split(separator: "\n").first { $0.contains("retrying ") })
        #expect(line.hasPrefix("1: retrying ") && line.hasSuffix(" (attempt 2 of 10)"), "\(line)")
        #expect(line.contains("503"), "\(line)")
    }
}
