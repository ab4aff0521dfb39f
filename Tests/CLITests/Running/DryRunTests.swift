import Foundation
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCLI

/// `--dry-run`: does everything except connecting.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct DryRunTests {
    private struct Scene {
        let folder: TemporaryDirectory
        let server: LoopbackServer
        let card: String
        let plain: String

        init() throws {
            folder = try TemporaryDirectory()
            server = try LoopbackServer(otherwise: .respond(200, body: "ok"))
            card = try folder.write("card.jpg", NoisePhoto.bytes(width: 400, height: 300, seed: 7))
            plain = try folder.write("plain.bin", "0123456789")
        }

        var environment: [String: String] {
            [
                "HOME": folder.path("home"), "TOKEN": "geheim-4711", "WAYBILL_OUTBOX": folder.path("outbox"),
                "OSS_ACCESS_KEY_ID": "id", "OSS_ACCESS_KEY_SECRET": "secret-of-the-store",
                "QINIU_ACCESS_KEY": "id", "QINIU_SECRET_KEY": "secret-of-the-store",
            ]
        }

        func run(_ words: [String]) async throws -> ChildProcess.Finished {
            try await Tool.run(words, environment: environment)
        }

        /// Expects that no connection was made and no file was created.
        func expectUntouched() {
            #expect(server.state.connections.isEmpty)
            for name in ["outbox", "home", "answer"] {
                #expect(!FileManager.default.fileExists(atPath: folder.path(name)), "\(name)")
            }
        }
    }

    @Test func `a dry run of a post predicts the request to the last byte`() async throws {
        let scene = try Scene()
        let call =
            [
                "post", scene.server.url("/form?signature=abc"), "-F", "TOKEN=env:TOKEN", "-F",
                "front=@\(scene.card);filename=IDFrontImage.jpg", "-F", "b=@\(scene.plain)", "--max-bytes",
                "front=10KiB",
                "-H", "X-Branch: till-number-42", "-u", "me:hidden-password", "--retry", "2", "-m", "300",
                "-o", scene.folder.path("answer"),
            ]
        let dry = try await scene.run(call + ["--dry-run", "--json"])
        #expect(dry.exit == .status(0), "\(dry.errorText)")
        scene.expectUntouched()
        for text in [dry.text, dry.errorText] {
            for secret in ["geheim-4711", "hidden-password", "till-number-42", "signature=abc"] {
                #expect(!text.contains(secret))
            }
        }
        let request = try #require(try dry.jsonLines().first)
        let length = try #require(request["contentLength"] as? Int)
        let parts = try #require(request["parts"] as? [[String: Any]])
        #expect(request["method"] as? String == "POST" && request["attempts"] as? Int == 3)
        #expect(request["totalSeconds"] as? Double == 300)
        #expect(parts.map { $0["name"] as? String } == ["TOKEN", "front", "b"])
        #expect(parts.map { $0["fileName"] as? String } == [nil, "IDFrontImage.jpg", "plain.bin"])
        #expect(parts.map { $0["contentType"] as? String } == [nil, "image/jpeg", "application/octet-stream"])
        #expect((parts[1]["recompressed"] as? [String: Any])?["maxBytes"] as? Int == 10_240)
        #expect(parts[0]["size"] as? Int == 11 && parts[2]["size"] as? Int == 10)

        let real = try await scene.run(call)
        #expect(real.exit == .status(0), "\(real.errorText)")
        let sent = try await scene.server.request(0)
        #expect(sent.value(of: "Content-Length") == "\(length)")
        let fields = try #require(request["headers"] as? [[String: Any]]).compactMap { $0["name"] as? String }
        for name in fields { #expect(sent.value(of: name) != nil, "\(name)") }
        let image = try #require(parts[1]["size"] as? Int)
        #expect(image <= 10_240 && sent.body.count == length)
    }

    @Test func `a dry run without --json prints lines`() async throws {
        let scene = try Scene()
        let dry = try await scene.run([
            "post", scene.server.url("/form"), "-F", "a=1", "-F", "b=@\(scene.plain)", "-H", "X-Key: hidden",
            "--dry-run",
        ])
        #expect(dry.exit == .status(0), "\(dry.errorText)")
        let lines = dry.text.split(separator: "\n").map(String.init)
        #expect(lines.first == "POST \(scene.server.url("/form"))")
        #expect(lines.contains("  X-Key: <redacted>"))
        #expect(lines.contains("1 attempt; connect 15.0 s, stall 15.0 s, response 60 s"))
        #expect(lines.suffix(2) == ["part a: 1 B", "part b: plain.bin, application/octet-stream, 10 B"])
        #expect(dry.errorText.hasPrefix("would send 1 form, "))
        scene.expectUntouched()
    }

    @Test func `a dry run of standard input does not know the size`() async throws {
        let scene = try Scene()
        let call = ["post", scene.server.url("/form"), "-F", "a=1", "-F", "f=@-", "--dry-run"]
        let dry = try await scene.run(call)
        #expect(dry.exit == .status(0) && dry.errorText == "would send 1 form, size unknown\n", "\(dry.errorText)")
        let summary = try #require(try await scene.run(call + ["--json"]).jsonLines().last)
        #expect(summary["total"] is NSNull && summary["files"] as? Int == 1)
        scene.expectUntouched()
    }

    @Test(arguments: [[], ["--queue"], ["--json"]]) func `a dry run fails like the real run if a file is missing`(
        _ more: [String]
    ) async throws {
        let scene = try Scene()
        let call = ["post", scene.server.url(), "-F", "f=@\(scene.folder.path("missing"))"] + more
        let real = try await scene.run(call)
        let dry = try await scene.run(call + ["--dry-run"])
        #expect(real.exit == .status(3) && dry.exit == .status(3), "\(dry.errorText)")
        #expect(dry.errorText.contains("fileNotFound") && real.errorText.contains("fileNotFound"))
        #expect(scene.server.state.connections.isEmpty)
        let wrong = try await scene.run(["post", "gopher://a/", "-F", "a=1", "--dry-run"] + more)
        #expect(wrong.exit == .status(2), "\(wrong.errorText)")
    }

    @Test func `a dry run reports each of many files, and a missing one fails alone`() async throws {
        let scene = try Scene()
        let call = ["post", scene.server.url(), "-F", "T=env:TOKEN", "-F", "f=@{}", "--dry-run"]
        let files = ["--each", scene.plain, scene.folder.path("missing"), scene.card]
        let dry = try await scene.run(call + ["--json"] + files)
        #expect(dry.exit == .status(3))
        let lines = try dry.jsonLines()
        #expect(lines.map { $0["event"] as? String } == ["request", "file", "file", "file", "summary"])
        let summary = try dry.jsonSummary()
        #expect(summary["files"] as? Int == 3 && summary["failed"] as? Int == 1 && summary["exit"] as? Int == 3)
        let sizes = lines.compactMap { $0["contentLength"] as? Int }
        #expect(sizes.count == 2 && summary["total"] as? Int == sizes.reduce(0, +))
        let early = try await scene.run(call + ["--fail-early"] + files)
        #expect(early.exit == .status(3) && !early.text.contains("card.jpg"))
        scene.expectUntouched()
    }

    @Test func `a dry run with --queue reports the items and creates no outbox`()
        async throws
    {
        let scene = try Scene()
        let dry = try await scene.run([
            "post", scene.server.url("/form"), "-F", "T=credential:backend", "-F", "f=@{}", "--queue", "--dry-run",
            "--json", "--dedupe", "card {}", "--attempts", "4", "--batch", "today", "--each", scene.plain, scene.card,
        ])
        #expect(dry.exit == .status(0), "\(dry.errorText)")
        let lines = try dry.jsonLines()
        #expect(lines.map { $0["event"] as? String } == ["start", "file", "file", "summary"])
        #expect(lines[0]["outbox"] as? String == scene.folder.path("outbox"))
        #expect(lines[1]["deduplicationKey"] as? String == "card \(scene.plain)" && lines[1]["attempts"] as? Int == 4)
        let parts = try #require(lines[1]["parts"] as? [[String: Any]])
        #expect(parts.map { $0["credential"] as? String } == ["backend", nil])
        scene.expectUntouched()
    }

    @Test(arguments: [[], ["--queue"]]) func `a dry run of a put lists its keys and opens each file`(_ more: [String])
        async throws
    {
        let scene = try Scene()
        try FileManager.default.createDirectory(
            atPath: scene.folder.path("photos"), withIntermediateDirectories: false)
        try scene.folder.write("photos/a.bin", "12345")
        try scene.folder.write("photos/b.bin", "123")
        for store in ["oss", "qiniu"] {
            let region = store == "oss" ? ["--endpoint", scene.server.url(""), "--allow-http"] : []
            let call = ["put", "-r", scene.folder.path("photos"), "\(store)://cards/2026/", "-n"]
            let dry = try await scene.run(call + region + more)
            #expect(dry.exit == .status(0), "\(dry.errorText)")
            #expect(dry.text.contains("a.bin -> \(store)://cards/2026/photos/a.bin (5 B)"), "\(dry.text)")
            #expect(dry.errorText.contains(more.isEmpty ? "2 files, 8 B" : "2 uploads, 8 B"), "\(dry.errorText)")
            let json = try await scene.run(call + region + more + ["--json"])
            #expect(try json.jsonSummary()["total"] as? Int == 8)
        }
        let missing = try await scene.run(
            ["put", scene.folder.path("missing"), "oss://cards/key", "--region", "cn-hangzhou", "-n"] + more)
        #expect(missing.exit == .status(3), "\(missing.errorText)")
        scene.expectUntouched()
    }
}
