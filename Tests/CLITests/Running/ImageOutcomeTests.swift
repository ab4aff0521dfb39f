import TestSupport
import Testing

/// The results of recompressing images as printed by `post` and `shrink`, and the limits of their size.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ImageOutcomeTests {
    private let folder: TemporaryDirectory
    private let server: LoopbackServer
    /// 800 × 640 pixels.
    private let card: String

    init() throws {
        folder = try TemporaryDirectory()
        server = try LoopbackServer(otherwise: .respond(200, body: "ok"))
        card = try folder.write("card.jpg", NoisePhoto.bytes(width: 800, height: 640, seed: 11))
    }

    private func post(_ more: String...) async throws -> ChildProcess.Finished {
        try await Tool.run(["post", server.url(), "-F", "front=@\(card)"] + more)
    }

    private func isResult(_ line: Substring, of path: String) -> Bool {
        line.hasPrefix("\(path): ")
            && line.contains(#/: \d+(\.\d)? KiB → \d+(\.\d)? KiB, \d+ × \d+, quality \d+$/#)
    }

    @Test func `post prints bytes, pixels and quality of an image before the result`() async throws {
        let run = try await post("--max-bytes", "front=60KiB")
        #expect(run.exit == .status(0), "\(run.errorText)")
        let lines = run.errorText.split(separator: "\n")
        #expect(lines.count { isResult($0, of: card) } == 1 && isResult(lines[1], of: card), "\(run.errorText)")
        let quiet = try await post("--max-bytes", "front=60KiB", "-q")
        #expect(quiet.exit == .status(0) && quiet.errorText.isEmpty, "\(quiet.errorText)")
    }

    @Test func `the --json summary lists the images, also of a rejected upload`() async throws {
        server.script(.respond(400))
        let run = try await post("-F", "b=@\(card)", "-F", "c=1", "--max-bytes", "60KiB", "--json")
        #expect(run.exit == .status(1), "\(run.errorText)")
        #expect(!run.errorText.contains("→"))
        let images = try #require(try run.jsonLines().last?["images"] as? [[String: Any]])
        #expect(images.map { $0["part"] as? String } == ["front", "b"])
        for image in images {
            #expect(image["file"] as? String == card)
            #expect(image["originalBytes"] as? Int == (try folder.read("card.jpg")).count)
            #expect(try #require(image["bytes"] as? Int) <= 61_440)
            // The camera was rotated.
            #expect(image["originalWidth"] as? Int == 640 && image["originalHeight"] as? Int == 800)
            #expect(image["width"] is Int && image["height"] is Int && image["quality"] is Int)
            #expect(image["passedThrough"] as? Bool == false)
        }
    }

    @Test func `an image that already fits is passed through without loss`() async throws {
        let run = try await post("--max-bytes", "10MiB")
        #expect(run.errorText.contains(", 640 × 800, no loss\n"), "\(run.errorText)")
        let json = try await post("--max-bytes", "10MiB", "--json")
        let images = try #require(try json.jsonLines().last?["images"] as? [[String: Any]])
        #expect(images.first?["passedThrough"] as? Bool == true)
    }

    @Test func `the summary of a form without images has no images member`() async throws {
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "--json"])
        #expect(try run.jsonLines().last?["images"] == nil)
    }

    @Test func `each of many forms reports its own images, including shared ones`() async throws {
        let other = try folder.write("other.jpg", NoisePhoto.bytes(width: 640, height: 640, seed: 12))
        let words = ["-F", "logo=@\(other)", "-F", "f=@{}", "--max-bytes", "60KiB", "--each", card, other]
        let run = try await Tool.run(["post", server.url(), "--json"] + words)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let files = try run.jsonLines().filter { $0["event"] as? String == "file" }
        #expect(files.count == 2)
        for file in files {
            let images = try #require(file["images"] as? [[String: Any]])
            #expect(images.map { $0["file"] as? String } == [other, file["file"] as? String])
        }
        let lines = try await Tool.run(["post", server.url()] + words).errorText.split(separator: "\n")
        #expect(lines.count { isResult($0, of: other) } == 3 && lines.count { isResult($0, of: card) } == 1)
    }

    @Test func `queued forms and dry runs report their images`() async throws {
        let queue = ["--queue", "--outbox", folder.path("outbox"), "--max-bytes", "60KiB"]
        let call = ["post", server.url(), "-F", "front=@\(card)"]
        let queued = try await Tool.run(call + queue + ["--json"])
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        let event = try #require(try queued.jsonLines().first { $0["event"] as? String == "queued" })
        #expect((event["images"] as? [[String: Any]])?.count == 1)
        let line = try await Tool.run(call + queue)
        #expect(line.errorText.split(separator: "\n").contains { isResult($0, of: card) }, "\(line.errorText)")
        for mode in [["--max-bytes", "60KiB"], queue] {
            let dry = try await Tool.run(call + mode + ["--dry-run", "--json"])
            let entries = try dry.jsonLines().compactMap { $0["images"] as? [[String: Any]] }
            #expect(entries.count == 1 && entries[0].count == 1, "\(dry.text)")
        }
    }

    @Test func `a HEIC image that is not compressed causes a warning`() async throws {
        let photo = try folder.write("photo.heic", TinyHEIC.turned)
        let warning = "warning: \(photo) is not compressed, because it is a HEIC image. Pass --heic.\n"
        let both = ["-F", "back=@\(photo)"]
        let unchanged = try await Tool.run(
            ["post", server.url(), "-F", "front=@\(card)", "--max-bytes", "60KiB"] + both)
        #expect(unchanged.exit == .status(0) && unchanged.errorText.contains(warning), "\(unchanged.errorText)")
        for options in [["--max-bytes", "60KiB", "--heic"], ["--max-bytes", "front=60KiB"]] {
            let run = try await Tool.run(["post", server.url(), "-F", "front=@\(card)"] + both + options)
            #expect(run.exit == .status(0) && !run.errorText.contains("warning"), "\(run.errorText)")
        }
    }

    @Test func `a PNG that is not compressed causes one warning, whatever the number of forms`() async throws {
        let logo = try folder.write("logo.png", TinyPNG(8, 8, .gray) { _, _ in [9] }.encoded())
        let other = try folder.write("other.jpg", NoisePhoto.bytes(width: 640, height: 640, seed: 12))
        let words = ["-F", "logo=@\(logo)", "-F", "f=@{}", "--max-bytes", "60KiB", "--each", card, other]
        let run = try await Tool.run(["post", server.url()] + words)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let warnings = run.errorText.split(separator: "\n").filter { $0.hasPrefix("warning: ") }
        let remedy = "To compress it, name its part: --max-bytes 'logo=SIZE'."
        #expect(warnings == ["warning: \(logo) is not compressed, because it is a PNG image. \(remedy)"])
    }

    @Test func `an image scaled below 600 pixels causes a warning with both remedies`() async throws {
        let warning = #/warning: .*card\.jpg: scaled down to \d+ × \d+ to fit 3\.0 KiB; text may be unreadable\. /#
        let remedy = "Raise --max-bytes or set --min-side.\n"
        let shrunk = try await Tool.run(["shrink", card, "--max-bytes", "3KiB", "--mode", "draft"])
        for run in [shrunk, try await post("--max-bytes", "3KiB"), try await post("--max-bytes", "3KiB", "--json")] {
            #expect(run.exit == .status(0), "\(run.errorText)")
            #expect(run.errorText.contains(warning) && run.errorText.contains(remedy), "\(run.errorText)")
        }
    }

    @Test(arguments: [
        ["--max-bytes", "3KiB", "--max-side", "500"], ["--max-bytes", "3KiB", "--max-pixels", "200x300"],
        ["--max-bytes", "3KiB", "--min-side", "100"], ["--max-side", "300"],
        ["--max-bytes", "3KiB", "--max-side", "599"],
    ]) func `a small size that was requested causes no warning`(_ options: [String]) async throws {
        let run = try await Tool.run(["shrink", card, "--mode", "draft"] + options)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(!run.errorText.contains("warning"), "\(run.errorText)")
    }

    @Test func `--min-side keeps the size and fails if the limit cannot be met`() async throws {
        let kept = try await Tool.run([
            "shrink", card, "--max-bytes", "30KiB", "--min-side", "790", "--mode", "draft", "--json",
        ])
        #expect(try #require(try kept.jsonLines().last?["height"] as? Int) >= 790)
        let before = try folder.names()
        let shrunk = try await Tool.run(["shrink", card, "--max-bytes", "600", "--min-side", "700", "-o", card + "2"])
        let sent = try await post("--max-bytes", "front=600", "--min-side", "front=700")
        for run in [shrunk, sent] {
            #expect(run.exit == .status(3), "\(run.errorText)")
            #expect(run.errorText.contains("cannotReachLimit"), "\(run.errorText)")
            #expect(run.errorText.contains("Raise --max-bytes, or lower --min-side."))
        }
        #expect(sent.errorText.contains("--min-side"))
        #expect(server.requests.isEmpty)
        #expect(try folder.names() == before)
    }

    @Test(arguments: [
        ["post", "URL", "-F", "f=@FILE", "--quality", "50", "--min-side", "600"],
        ["post", "URL", "-F", "f=@FILE", "--max-bytes", "9K", "--min-side", "g=600"],
        ["post", "URL", "-F", "f=@FILE", "--max-bytes", "9K", "--min-side", "0"],
        ["shrink", "FILE", "--quality", "50", "--min-side", "600"],
        ["shrink", "FILE", "--max-bytes", "9K", "--min-side", "600", "--max-side", "599"],
    ]) func `an invalid --min-side is a usage error`(_ words: [String]) async throws {
        let call = words.map { $0.replacing("URL", with: server.url()).replacing("FILE", with: card) }
        let run = try await Tool.run(call)
        #expect(run.exit == .status(2), "\(run.errorText)")
        #expect(server.requests.isEmpty)
    }
}
