import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ShrinkManyTests {
    private let photo = NoisePhoto.bytes(width: 320, height: 240, seed: 9)

    @Test func `many photos are written by a pattern with a line each, in order`() async throws {
        let folder = try TemporaryDirectory()
        let names = (1...9).map { "photo\($0)" }
        let paths = try names.map { try folder.write("\($0).jpeg", photo) }
        let run = try await Tool.run(
            ["shrink"] + paths + ["-o", "{folder}/{name}-10k.jpg", "--max-bytes", "10KB", "--mode", "draft"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let lines = run.errorText.split(separator: "\n")
        #expect(lines.count == 10)
        for (line, name) in zip(lines, names) { #expect(line.contains("\(name)-10k.jpg: "), "\(line)") }
        #expect(lines.last?.hasPrefix("9 images: ") == true)
        for name in names {
            let count = try folder.read("\(name)-10k.jpg").count
            #expect(count > 5_000 && count <= 10_000)
        }
        #expect(try folder.names().count == 18)
    }

    @Test func `a failure does not stop other files, and the first failure is the exit status`() async throws {
        let folder = try TemporaryDirectory()
        let good = try folder.write("good.jpg", photo)
        let last = try folder.write("last.jpg", photo)
        let taken = try folder.write("taken.jpg", photo)
        try folder.write("taken-waybill.jpg", "mine")
        let missing = folder.path("missing.jpg")
        let run = try await Tool.run(
            ["shrink", good, missing, taken, last, "--max-bytes", "10KB", "--mode", "draft", "--json"])
        #expect(run.exit == .status(3), "\(run.errorText)")
        let lines = try run.jsonLines()
        #expect(lines.map { $0["event"] as? String } == ["picture", "picture", "picture", "picture", "summary"])
        #expect(lines.map { $0["exit"] as? Int } == [0, 3, 2, 0, 3])
        #expect(lines.dropLast().map { $0["input"] as? String } == [good, missing, taken, last])
        #expect(lines.last?["failed"] as? Int == 2)
        #expect(run.errorText.contains("2 of 4 images failed"))
        #expect(try folder.read("taken-waybill.jpg") == Array("mine".utf8))
        #expect(
            try folder.names() == [
                "good-waybill.jpg", "good.jpg", "last-waybill.jpg", "last.jpg", "taken-waybill.jpg", "taken.jpg",
            ])
    }

    @Test func `two inputs with the same output are refused before anything is done`() async throws {
        let folder = try TemporaryDirectory()
        #expect(unsafe mkdir(folder.path("a"), 0o700) == 0 && symlink(folder.path("a"), folder.path("link")) == 0)
        let first = try folder.write("a/x.jpg", photo)
        let second = try folder.write("x.jpg", photo)
        let calls: [[String]] = [
            [first, second, "-o", folder.path("{name}-small.jpg")], [first, second, "-o", folder.path("one.jpg")],
            [first, first], [first, folder.path("link/x.jpg")], [first, second, "-o", "-"], [first, "-"],
            // The same file under another name, over another input, and over the page.
            [first, second, "-o", "\(folder.path)/./link/../a/{name}.jpg", "--force"],
            [first, second, "-o", "{folder}/../{name}.jpg", "--force"],
            [first, "-o", folder.path("p"), "--report", folder.path("./p")],
            [first, "--report", first, "--force"], [first, "--report", "-"],
            // A page could not show the original any more.
            [first, "-o", first, "--report", folder.path("p"), "--force"],
        ]
        let before = try folder.names()
        for call in calls {
            let run = try await Tool.run(["shrink", "--max-bytes", "10KB", "--mode", "draft"] + call)
            #expect(run.exit == .status(2), "\(call): \(run.errorText)")
            #expect(run.output.isEmpty)
        }
        #expect(try folder.names() == before)
        #expect(try folder.read("a/x.jpg") == photo)
        #expect(try folder.read("x.jpg") == photo)
    }

    @Test func `an image may replace itself only with --force`() async throws {
        let folder = try TemporaryDirectory()
        let paths = try ["a.jpg", "b.jpg"].map { try folder.write($0, photo) }
        let call = ["shrink"] + paths + ["-o", "{folder}/{name}.jpg", "--max-bytes", "10KB", "--mode", "draft"]
        #expect(try await Tool.run(call).exit == .status(2))
        #expect(try folder.read("a.jpg") == photo)
        let run = try await Tool.run(call + ["--force"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        for name in ["a.jpg", "b.jpg"] { #expect(try folder.read(name).count <= 10_000) }
    }

    @Test func `a signal ends the run without a partial file`() async throws {
        let folder = try TemporaryDirectory()
        let large = NoisePhoto.bytes(width: 2_400, height: 1_800, seed: 2)
        let paths = try (0..<40).map { try folder.write("p\($0).jpg", large) }
        let process = try Tool.start(["shrink"] + paths + ["--max-bytes", "100KB"])
        try await process.waitUntil { $0.errorText.contains("p0-waybill.jpg") }
        process.signal(SIGINT)
        let run = try await process.finish()
        #expect(run.exit == .status(130), "\(run.errorText)")
        let told = run.errorText.split(separator: "\n").filter { $0.contains("stopped") }
        #expect(told.count == 1, "\(run.errorText)")
        let made = try folder.names().filter { $0.contains("waybill") }
        #expect(made.count < 40)
        for name in made { #expect(try folder.read(name).suffix(2) == [0xFF, 0xD9]) }
        #expect(!made.contains { $0.hasPrefix(".") })
    }
}
