import Foundation
import TestSupport
import Testing
import WaybillCore

/// `waybill post --queue` and `waybill put --queue`.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct QueueTests {
    @Test func `queueing a form prints its number and delivers the same body as a direct post`() async throws {
        let fixture = try OutboxFixture()
        let file = try fixture.folder.write("report.pdf", "contents")
        let queued = try await fixture.queue(
            "-F", "BUSINESSNO=20240001", "-F", "file=@\(file);type=application/pdf", "--form-string", "last=@x", "-H",
            "X-Shop: 7")
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        #expect(queued.text == "1\n" && queued.errorText.isEmpty)
        #expect(fixture.server.requests.isEmpty)
        let run = try await fixture.deliver()
        #expect(run.exit == .status(0), "\(run.errorText)")
        let direct = try await Tool.run(
            [
                "post", fixture.server.url("/form"), "-F", "BUSINESSNO=20240001", "-F",
                "file=@\(file);type=application/pdf",
                "--form-string", "last=@x", "-H", "X-Shop: 7",
            ])
        #expect(direct.exit == .status(0))
        let requests = fixture.server.requests
        #expect(requests.count == 2)
        #expect(requests[0].bodyWithoutBoundary == requests[1].bodyWithoutBoundary)
        #expect(requests[0].value(of: "X-Shop") == "7" && requests[0].value(of: "Idempotency-Key") != nil)
    }

    @Test func `an image is recompressed when queued, and a snapshot outlives its original`() async throws {
        let fixture = try OutboxFixture()
        let photo = try fixture.folder.write("card.jpg", NoisePhoto.bytes(width: 640, height: 480, seed: 5))
        let text = try fixture.folder.write("a.txt", "as it was")
        #expect(
            try await fixture.queue("-F", "front=@\(photo)", "-F", "t=@\(text)", "--max-bytes", "20K", "--snapshot")
                .exit
                == .status(0))
        for path in [photo, text] { try FileManager.default.removeItem(atPath: path) }
        #expect(try await fixture.deliver().exit == .status(0))
        let body = try await fixture.server.request(0).body
        #expect(body.count < 22_000 && body.count > 15_000)
        #expect(String(decoding: body, as: UTF8.self).contains("as it was"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path + "/spool").isEmpty)
    }

    @Test func `relative paths are resolved when the item is queued`() async throws {
        let fixture = try OutboxFixture()
        _ = try fixture.folder.write("near.txt", "here")
        let queued = try await ChildProcess.run(
            Tool.path,
            ["post", fixture.server.url("/form"), "-F", "f=@near.txt", "--queue", "--outbox", fixture.path],
            environment: Tool.environment(), directory: fixture.folder.path)
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        #expect(try await fixture.deliver().exit == .status(0))
        #expect(fixture.server.requests.first?.bodyWithoutBoundary.contains("filename=\"near.txt\"") == true)
    }

    @Test func `with --each every file is an item, and a missing one fails alone`() async throws {
        let fixture = try OutboxFixture()
        let files = try (0..<70).map { try fixture.folder.write("f\($0).txt", "content \($0)") }
        let all = files + [fixture.folder.path("missing")]
        let queued = try await Tool.run(
            [
                "post", fixture.server.url("/form"), "-F", "f=@{}", "--queue", "--outbox", fixture.path, "--json",
                "--batch",
                "b",
            ]
                + ["--dedupe", "{}", "--tag", "t", "--priority", "high", "--each"] + all)
        #expect(queued.exit == .status(3), "\(queued.errorText)")
        let lines = try queued.jsonLines().filter { $0["event"] as? String == "queued" }
        #expect(lines.compactMap { $0["id"] as? Int } == Array(1...70))
        #expect(lines.compactMap { $0["file"] as? String } == files)
        let summary = try queued.jsonSummary()
        #expect(summary["queued"] as? Int == 70 && summary["failed"] as? Int == 1 && summary["exit"] as? Int == 3)
        // Queueing the same file again keeps the item that has not ended.
        let again = try await fixture.queue("-F", "f=@{}", "--dedupe", "{}", "--each", files[3])
        #expect(again.exit == .status(0) && again.text == "4\n")
        #expect(again.errorText.contains("item 4 already has this key and was kept"))
        let run = try await fixture.deliver("--json")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(Set(fixture.server.requests.map { $0.bodyWithoutBoundary }).count == 70)
        let item = try #require(try await fixture.items().first)
        #expect(
            item["batch"] as? String == "b" && item["tags"] as? [String] == ["t"]
                && item["priority"] as? String == "high")
        #expect(item["deduplicationKey"] as? String == files[0])
    }

    @Test func `a delayed upload waits, and a delivered key is kept for its time`() async throws {
        let fixture = try OutboxFixture()
        _ = try await fixture.queue("-F", "a=b", "--delay", "1h")
        #expect(try await fixture.outbox("ls").text.contains("starts in 59 min"))
        #expect(try await fixture.deliver().exit == .status(75))
        #expect(try await fixture.states() == ["waiting"] && fixture.server.requests.isEmpty)
        _ = try await fixture.queue("-F", "a=b", "--dedupe", "k", "--dedupe-for", "1h")
        #expect(try await fixture.deliver().exit == .status(75))
        let again = try await fixture.queue("-F", "a=b", "--dedupe", "k", "--json")
        let line = try #require(try again.jsonLines().first)
        #expect(line["id"] as? Int == 2 && line["isNew"] as? Bool == false)
        #expect(line["status"] as? String == "delivered")
        let shown = try await fixture.queue("-F", "a=b", "--dedupe", "k")
        #expect(shown.errorText.contains("item 2 had this key and was delivered"), "\(shown.errorText)")
    }

    @Test func `queueing several files prints their numbers and a summary`() async throws {
        let fixture = try OutboxFixture()
        let files = try (0..<5).map { try fixture.folder.write("f\($0)", "\($0)") }
        let plain = try await Tool.run(
            ["post", fixture.server.url("/form"), "-F", "f=@{}", "--queue", "--outbox", fixture.path, "--each"] + files)
        #expect(plain.exit == .status(0) && plain.text == "1\n2\n3\n4\n5\n", "\(plain.errorText)")
        #expect(plain.errorText == "5 of 5 uploads queued\n")
    }

    static let refusals: [([String], String)] = [
        (["-F", "T=env:HOME"], "T=credential:NAME"), (["-F", "T=<-"], "T=credential:NAME"),
        (["-F", "a=b", "-u", "me:pass"], "--credential Authorization=NAME"),
        (["-F", "a=b", "--digest", "-u", "me:pass"], "--credential Authorization=NAME"),
        (["-F", "a=b", "-H", "Authorization: Bearer abc"], "--credential Authorization=NAME"),
        (["-F", "a=b", "-H", "X-Auth-Token: abc"], "--credential X-Auth-Token=NAME"),
        (["-F", "a=b", "-H", "Expect:"], "waybill outbox run"),
        (["-F", "a=b", "-x", "http://proxy:1"], "waybill outbox run"),
        (["-F", "a=b", "-k"], "waybill outbox run"), (["-F", "a=b", "--limit-rate", "5K"], "waybill outbox run"),
        (["-F", "a=b", "-m", "5"], "waybill outbox run"), (["-F", "a=b", "--retry", "3"], "--attempts"),
        (["-F", "a=b", "-o", "x"], "waybill outbox show"),
        (["-F", "a=b", "--priority", "12"], "one of highest, high, normal, low, lowest; got \"12\""),
        (["-F", "a=b", "--on-unknown", "hope"], "fail, retry, ask"), (["-F", "a=b", "--deadline", "soon"], "7d"),
        (["-F", "a=b", "--idempotency-window", "1h"], "--idempotency honored"),
        (["-F", "a=b", "--delay", "400d"], "366d"), (["-F", "a=b", "--dedupe-for", "1h"], "--dedupe KEY"),
        (["-F", "a=b", "--duplicates", "keep"], "--dedupe"), (["-F", "a=credential:b c"], "credential"),
        (["-F", "a=b", "--credential", "X y=n"], "header field"),
    ]

    @Test(arguments: refusals) func `options that cannot be queued are refused with a remedy`(
        _ arguments: [String], _ remedy: String
    ) async throws {
        let fixture = try OutboxFixture()
        let run = try await Tool.run(
            ["post", fixture.server.url("/form"), "--queue", "--outbox", fixture.path] + arguments,
            input: Array("secret".utf8))
        #expect(run.exit == .status(2), "\(run.errorText)")
        #expect(run.errorText.contains(remedy), "\(run.errorText)")
        #expect(!run.errorText.contains("pass") || run.errorText.contains("password"))
        #expect(!FileManager.default.fileExists(atPath: fixture.path))
    }

    @Test func `queue options without --queue are refused`() async throws {
        for more in [["--batch", "b"], ["--snapshot"], ["--outbox", "x"], ["--credential", "x"]] {
            let run = try await Tool.run(["post", "http://127.0.0.1:9/", "-F", "a=b"] + more)
            #expect(run.exit == .status(2) && run.errorText.contains("requires --queue"), "\(run.errorText)")
        }
        let run = try await Tool.run(["post", "http://127.0.0.1:9/", "-F", "a=credential:x"])
        #expect(run.exit == .status(2) && run.errorText.contains("a=env:VARIABLE"), "\(run.errorText)")
    }

    @Test func `a URL with a password is refused and not printed`() async throws {
        let folder = try TemporaryDirectory()
        let run = try await Tool.run([
            "post", "http://me:hunter2@127.0.0.1:9/", "-F", "a=b", "--queue", "--outbox", folder.path("o"), "--json",
        ])
        #expect(run.exit == .status(2), "\(run.errorText)")
        #expect(!run.errorText.contains("hunter2") && !run.text.contains("hunter2"))
        #expect(try run.jsonSummary()["exit"] as? Int == 2)
    }

    @Test func `a file is put to a presigned URL without an implicit content type`() async throws {
        let fixture = try OutboxFixture()
        let file = try fixture.folder.write("front.jpg", "jpeg")
        let far = Int(Date.now.timeIntervalSince1970) + 3_600
        for (query, headers) in [
            ("Expires=\(far)&Signature=aGVsbG8gd29ybGQhISE", []), ("x=1", ["-H", "Content-Type: a/b"]),
        ] {
            let queued = try await Tool.run(
                ["put", file, fixture.server.url("/bucket/key?\(query)"), "--queue", "--outbox", fixture.path] + headers
            )
            #expect(queued.exit == .status(0), "\(queued.errorText)")
        }
        #expect(try await fixture.deliver("-q").exit == .status(0))
        let requests = fixture.server.requests.sorted { $0.target < $1.target }
        #expect(requests.map(\.method) == ["PUT", "PUT"] && requests.allSatisfy { $0.body == Array("jpeg".utf8) })
        #expect(requests.map { $0.value(of: "Content-Type") } == [nil, "a/b"])
        let shown = try await fixture.outbox("show", "1")
        #expect(shown.text.contains("PUT http://127.0.0.1") && !shown.text.contains("aGVsbG8"))
        let over = try await Tool.run(
            ["put", file, fixture.server.url("/k?Expires=1000000000&Signature=x"), "--queue", "--outbox", fixture.path])
        #expect(over.exit == .status(2) && over.errorText.contains("has expired"), "\(over.errorText)")
    }
}
