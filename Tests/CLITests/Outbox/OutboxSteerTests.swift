import Foundation
import TestSupport
import Testing
import Waybill
import WaybillOutbox

@testable import WaybillCLI

/// Listing and changing the items of an outbox.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct OutboxSteerTests {
    @Test func `commands that change items require a selection`() async throws {
        let fixture = try OutboxFixture()
        _ = try await fixture.queue("-F", "a=b")
        for verb in ["pause", "resume", "cancel", "retry", "verify"] {
            let run = try await fixture.outbox(verb)
            #expect(run.exit == .status(2) && run.errorText.contains("--all"), "\(run.errorText)")
            let stranger = try await fixture.outbox(verb, "1", "99")
            #expect(stranger.exit == .status(2) && stranger.errorText.contains("no item 99"), "\(stranger.errorText)")
            #expect(try await fixture.outbox(verb, "--all", "--batch", "b").exit == .status(2))
        }
        #expect(try await fixture.outbox("ls", "--state", "lost").exit == .status(2))
        #expect(try await fixture.states() == ["ready"])
    }

    @Test func `items are paused, resumed and cancelled by batch, tag, lane and state`() async throws {
        let fixture = try OutboxFixture()
        for (batch, tag) in [("a", "x"), ("a", "y"), ("b", "x")] {
            _ = try await fixture.queue("-F", "f=1", "--batch", batch, "--tag", tag)
        }
        #expect(try await fixture.outbox("pause", "--batch", "a").text == "2 items paused\n")
        #expect(try await fixture.outbox("resume", "--tag", "x").text == "1 item resumed\n")
        #expect(
            try await fixture.outbox("cancel", "--lane", "127.0.0.1:\(fixture.server.port)", "--state", "paused").exit
                == .status(0))
        #expect(try await fixture.states() == ["ready", "cancelled", "ready"])
        #expect(try await fixture.deliver().exit == .status(0))
        #expect(fixture.server.requests.count == 2)
    }

    @Test func `doubtful items are retried only with --doubtful, and verified on demand`() async throws {
        let fixture = try OutboxFixture(.closeWithoutResponse(), .respond(400))
        for _ in 0..<2 { _ = try await fixture.queue("-F", "a=b") }
        #expect(try await fixture.deliver("-j", "1").exit == .status(6))
        let retry = try await fixture.outbox("retry", "--failed", "--json")
        #expect(try retry.jsonSummary()["changed"] as? Int == 1 && retry.jsonSummary()["leftOut"] as? Int == 1)
        #expect(retry.errorText.contains("may have arrived"))
        #expect(try await fixture.deliver().exit == .status(0))
        #expect(fixture.server.requests.count == 3)
        // A plain POST cannot be verified, so the item ends as before, and nothing is sent.
        #expect(try await fixture.outbox("verify", "--all").text == "1 item to be verified\n")
        #expect(try await fixture.states() == ["verify", "done"])
        #expect(try await fixture.deliver().exit == .status(6))
        #expect(fixture.server.requests.count == 3)
        #expect(try await fixture.outbox("retry", "1", "--doubtful").text == "1 item to be sent again\n")
        #expect(try await fixture.deliver().exit == .status(0))
        #expect(fixture.server.requests.count == 4)
        #expect(try await fixture.states() == ["done", "done"])
    }

    @Test func `the rate of a lane is set, listed and removed`() async throws {
        let fixture = try OutboxFixture()
        for _ in 0..<2 { _ = try await fixture.queue("-F", "a=b") }
        let lane = "127.0.0.1:\(fixture.server.port)"
        #expect(try await fixture.outbox("rate", lane, "1/1s").text == "\(lane): at most 1 in 1.0 s\n")
        let lines = try await fixture.outbox("lanes", "--json").jsonLines()
        #expect(lines.first?["lane"] as? String == lane && lines.last?["listed"] as? Int == 1)
        #expect((lines.first?["rate"] as? [String: Any])?["count"] as? Int == 1)
        // A run waits for the rate.
        #expect(try await fixture.deliver().exit == .status(0))
        #expect(fixture.server.requests.count == 2)
        #expect(try await fixture.outbox("lanes").text.hasPrefix("\(lane): at most 1 in 1.0 s"))
        #expect(try await fixture.outbox("rate", lane, "none").text == "\(lane): without a limit\n")
        #expect(try await fixture.outbox("lanes").text.isEmpty)
        for rate in ["1", "0/1s", "1/0s", "x/1m", "1/400d"] {
            #expect(try await fixture.outbox("rate", lane, rate).exit == .status(2), "\(rate)")
        }
    }

    @Test func `the limit on concurrent uploads of a lane is set, listed and removed`() async throws {
        let fixture = try OutboxFixture()
        for _ in 0..<3 { _ = try await fixture.queue("-F", "a=b") }
        let lane = "127.0.0.1:\(fixture.server.port)"
        #expect(try await fixture.outbox("limit", lane, "4").text == "\(lane): at most 4 concurrent uploads\n")
        let summary = try await fixture.outbox("limit", lane, "1", "--json").jsonSummary()
        #expect(summary["lane"] as? String == lane && summary["limit"] as? Int == 1)
        let lines = try await fixture.outbox("lanes", "--json").jsonLines()
        #expect(lines.first?["lane"] as? String == lane && lines.first?["limit"] as? Int == 1)
        #expect(lines.first?["rate"] is NSNull && lines.last?["listed"] as? Int == 1)
        _ = try await fixture.outbox("rate", lane, "9/1s")
        #expect(
            try await fixture.outbox("lanes").text == "\(lane): at most 9 in 1.0 s; at most 1 concurrent upload\n")
        _ = try await fixture.outbox("rate", lane, "none")
        #expect(try await fixture.deliver().exit == .status(0))
        #expect(fixture.server.requests.count == 3)
        #expect(
            try await fixture.outbox("limit", lane, "none").text
                == "\(lane): without a limit on concurrent uploads\n")
        #expect(try await fixture.outbox("lanes").text.isEmpty)
        for limit in ["0", "-1", "1.5", "1000001", "some", ""] {
            #expect(try await fixture.outbox("limit", lane, limit).exit == .status(2), "\(limit)")
        }
    }

    @Test func `a purge removes ended items and prints the returned space`() async throws {
        let fixture = try OutboxFixture()
        for _ in 0..<2 { _ = try await fixture.queue("-F", "a=b") }
        _ = try await fixture.deliver("-j", "1")
        _ = try await fixture.queue("-F", "a=b")
        #expect(try await fixture.outbox("purge").text.hasPrefix("0 items removed, "))
        let purge = try await fixture.outbox("purge", "--older-than", "0", "--json")
        #expect(try purge.jsonSummary()["removed"] as? Int == 2 && purge.jsonSummary()["bytes"] as? Int ?? -1 >= 0)
        #expect(try await fixture.states() == ["ready"])
        #expect(try await fixture.outbox("purge", "--older-than", "soon").exit == .status(2))
    }

    @Test func `a backup is an outbox with paused items`() async throws {
        let fixture = try OutboxFixture()
        _ = try await fixture.queue("-F", "a=b")
        _ = try await fixture.deliver()
        _ = try await fixture.queue("-F", "a=@-", input: Array("input".utf8))
        let path = fixture.folder.path("copy")
        let backup = try await fixture.outbox("backup", path)
        #expect(backup.text == "2 items and 1 file copied; 1 paused in the copy\n", "\(backup.errorText)")
        let list = try await Tool.run(["outbox", "ls", "--all", "--json", "--outbox", path]).jsonLines()
        #expect(list.compactMap { $0["state"] as? String } == ["done", "paused"])
        #expect(try await fixture.outbox("backup", path).exit == .status(7))
        #expect(try await fixture.states() == ["done", "ready"])
    }

    @Test func `results are printed until they are acknowledged`() async throws {
        let fixture = try OutboxFixture(.respond(200, body: "first"), .respond(404, body: "gone"))
        for _ in 0..<2 { _ = try await fixture.queue("-F", "a=b") }
        _ = try await fixture.deliver("-j", "1")
        let kept = try await fixture.outbox("ack", "--keep")
        #expect(kept.exit == .status(1))
        #expect(
            kept.text.hasPrefix("1: delivered to 127.0.0.1:\(fixture.server.port), 200\n2: failed, status404"),
            "\(kept.text)")
        let some = try await fixture.outbox("ack", "--through", "1", "--json")
        #expect(some.exit == .status(0), "\(some.errorText)")
        #expect(try some.jsonLines().first?["body"] as? String == "first")
        #expect(try some.jsonSummary()["through"] as? Int == 1)
        #expect(try await fixture.outbox("ack", "-q").exit == .status(1))
        let none = try await fixture.outbox("ack")
        #expect(none.exit == .status(0) && none.text.isEmpty)
        // Results that could not be written are not acknowledged.
        _ = try await fixture.queue("-F", "a=b")
        _ = try await fixture.deliver()
        let lost = try await ChildProcess.run(
            "sh", ["-c", "\"$0\" \"$@\" >/dev/full", Tool.path] + fixture.words(["ack"]),
            environment: Tool.environment())
        #expect(lost.exit == .status(7), "\(lost.errorText)")
        #expect(try await fixture.outbox("ack").text.hasPrefix("3: delivered"))
    }

    @Test func `show prints everything stored about an item and escapes control characters`() async throws {
        let fixture = try OutboxFixture(.respond(422, headers: [("X-Why", "so")], body: "no \u{1B}[2J\nsecond line"))
        let file = try fixture.folder.write("a.txt", "text")
        let queued = try await fixture.queue(
            "-F", "f=@\(file)", "-F", "t=credential:desk", "--batch", "evil\u{1B}[2J", "--tag", "t1", "--on-unknown",
            "ask",
            "--if-changed", "restart", "--deadline", "2h", "--attempts", "4", "--dedupe", "k")
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        let run = try await fixture.deliver(environment: ["WAYBILL_CREDENTIAL_DESK": "s3cret"])
        #expect(run.exit == .status(1), "\(run.errorText)")
        let shown = try await fixture.outbox("show", "1")
        for line in [
            "state            failed", "reason           status422", "attempts         1 of 4", "dedupe key       k",
            "upload           POST \(fixture.server.url("/form")) (form of 2 parts)", "on unknown       ask",
            "if changed       restart", "file             \(file)", "status           422",
            "header           X-Why: so",
            "batch            evil\\u{1b}[2J", "  no \\u{1b}[2J", "  second line",
        ] {
            #expect(shown.text.split(separator: "\n").contains(Substring(line)), "\(line) in\n\(shown.text)")
        }
        let attempt = try #require(shown.text.split(separator: "\n").first { $0.hasPrefix("attempt 1        20") })
        #expect(attempt.contains("s: status422, 422, ") && attempt.hasSuffix(" sent"), "\(attempt)")
        #expect(!shown.text.contains("\u{1B}") && !shown.text.contains("s3cret"))
        let json = try #require(try await fixture.outbox("show", "1", "--json").jsonLines().first)
        #expect(json["summary"] as? String == "POST \(fixture.server.url("/form")) (form of 2 parts)")
        #expect(json["body"] as? String == "no \u{1B}[2J\nsecond line" && json["maxAttempts"] as? Int == 4)
        let history = try #require(json["history"] as? [[String: Any]])
        #expect(history.count == 1 && history[0]["result"] as? String == "status422")
        #expect(history[0]["status"] as? Int == 422 && history[0]["sent"] as? Int ?? 0 > 0)
        #expect(try await fixture.outbox("show", "7").exit == .status(2))
        let list = try await fixture.outbox("ls")
        #expect(list.text.contains("evil\\u{1b}[2J") && !list.text.contains("\u{1B}"))
    }

    @Test func `ls omits delivered items and prints their number`() async throws {
        let fixture = try OutboxFixture(.respond(200), .respond(400))
        for _ in 0..<3 { _ = try await fixture.queue("-F", "a=b") }
        _ = try await fixture.outbox("pause", "3")
        _ = try await fixture.deliver("-j", "1")
        let run = try await fixture.outbox("ls")
        let lines = run.text.split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("    ID  STATE"), "\(run.text)")
        #expect(lines[1].hasPrefix("     2  failed") && lines[2].hasPrefix("     3  paused"))
        #expect(run.errorText == "Not shown: 1 delivered. Show them with --all.\n")
        #expect(try await fixture.outbox("ls", "--failed").text.split(separator: "\n").count == 2)
    }

    /// An upload of a kind that the command does not know. It is listed all the same.
    private struct Letter: DurableUpload {
        static let kind = "letter"
        var text: String
        var lane: DurableLane { DurableLane(name: "post office") }
        func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
            throw UploadError(.invalidRequest, "never sent", phase: .waiting)
        }
    }

    @Test(.enabled(if: !Tool.isAddressSanitized, "what was freed counts too"))
    func `listing thousands of items uses little more memory than listing a hundred`() async throws {
        let folder = try TemporaryDirectory()
        var peaks: [Int] = []
        for count in [100, 8_000] {
            let path = folder.path("outbox-\(count)")
            var configuration = Outbox.Configuration()
            configuration.kinds = [Letter.self]
            let outbox = try await Outbox(at: path, configuration: configuration)
            try await outbox.enqueue(contentsOf: (0..<count).lazy.map { Letter(text: "letter \($0)") })
            await outbox.close()
            let run = try await Tool.run(["outbox", "ls", "--outbox", path])
            #expect(run.exit == .status(0) && run.text.split(separator: "\n").count == count + 1)
            peaks.append(run.peakResidentBytes)
        }
        #expect(peaks[1] - peaks[0] < 12_000_000, "\(peaks)")
    }
}

/// Selections by many item numbers.
struct SelectionPageTests {
    @Test func `a selection of many numbers is split into pages`() {
        let ids = (1...1_201).map { OutboxID(rawValue: $0) }
        let pages = ItemSelection(ids: ids, states: [.failed]).pages
        #expect(pages.flatMap { $0.ids ?? [] } == ids)
        #expect(pages.count == 3 && pages.allSatisfy { $0.states == [.failed] })
        #expect(ItemSelection(tag: "x").pages == [ItemSelection(tag: "x")])
    }
}
