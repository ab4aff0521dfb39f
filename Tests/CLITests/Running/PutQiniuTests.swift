import Foundation
import TestSupport
import Testing

/// `waybill put` to Qiniu.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PutQiniuTests {
    private let store: QiniuStore
    private let folder: TemporaryDirectory

    init() throws {
        store = try QiniuStore()
        folder = try TemporaryDirectory()
    }

    private func put(
        _ words: [String], environment extra: [String: String] = [:]
    ) async throws -> ChildProcess.Finished {
        try await Tool.run(arguments(words), environment: environment.merging(extra) { $1 })
    }

    private func arguments(_ words: [String]) -> [String] {
        ["put", "--up-host", store.url(), "--allow-http"] + words
    }

    private var environment: [String: String] {
        ["QINIU_ACCESS_KEY": "ak", "QINIU_SECRET_KEY": "sk", "XDG_STATE_HOME": folder.path("state")]
    }

    @Test func `a file becomes a Qiniu object`() async throws {
        let file = try folder.write("scan.pdf", "contents")
        let run = try await put([file, "qiniu://photos/2026/7 空+%.pdf", "--meta", "author=alice"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let object = try #require(store.object("2026/7 空+%.pdf"))
        #expect(object.content.bytes == Array("contents".utf8) && object.type == "application/pdf")
        #expect(object.metadata == ["x-qn-meta-author": "alice"])
        #expect(run.text == "qiniu://photos/2026/7 空+%.pdf\n")
        #expect(run.errorText.contains("done: 1 of 1 file stored"))
    }

    @Test func `a directory is uploaded with bounded concurrency`() async throws {
        try FileManager.default.createDirectory(atPath: folder.path("photos"), withIntermediateDirectories: false)
        for number in 0..<12 { try folder.write("photos/\(number).jpg", "photo \(number)") }
        let run = try await put(["-r", "-j", "3", "\(folder.path)/photos/", "qiniu://photos/in/"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(store.state.keys().count == 12 && store.object("in/11.jpg")?.content.bytes == Array("photo 11".utf8))
        #expect(store.state.peakInFlight <= 3)
    }

    @Test func `an interrupted upload resumes and reports the resumed bytes`() async throws {
        let file = try folder.writeSparse("film.mp4", size: 5_000_000)
        let words = arguments([file, "qiniu://photos/film", "--part-size", "1MiB", "--parts-at-once", "1"])
        store.fail(.stall(afterBodyBytes: 1_000), on: .part, part: 3)
        let child = try Tool.start(words, environment: environment)
        try await store.waitUntil { state in state.log(.part).contains { $0.part == 3 && $0.bodyBytes >= 1_000 } }
        child.signal(SIGINT)
        #expect(try await child.finish().exit == .status(130))
        let run = try await Tool.run(words + ["--json"], environment: environment)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let line = try #require(try run.jsonLines().first { $0["event"] as? String == "file" })
        #expect(line["resumedBytes"] as? Int == 2 << 20)
        #expect(store.object("film")?.content.size == 5_000_000)
        #expect(store.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
    }

    @Test func `--forbid-overwrite keeps an existing object`() async throws {
        let file = try folder.write("a.txt", "new")
        store.put("a.txt", [1, 2])
        let run = try await put([file, "qiniu://photos/", "--forbid-overwrite"])
        #expect(run.exit == .status(1) && run.errorText.contains("A different object exists"), "\(run.errorText)")
        #expect(store.object("a.txt")?.content.bytes == [1, 2])
        #expect(try await put([file, "qiniu://photos/"]).exit == .status(0))
        #expect(store.object("a.txt")?.content.bytes == Array("new".utf8))
    }

    @Test func `a wrong secret exits with 1, and no secret or token is printed`() async throws {
        let file = try folder.write("a.txt", "a")
        let run = try await put(
            [file, "qiniu://photos/a", "-v", "--json"], environment: ["QINIU_SECRET_KEY": "hunter2hunter2"])
        #expect(run.exit == .status(1), "\(run.errorText)")
        let film = try folder.writeSparse("film.mp4", size: 3_000_000)
        let more = try await put([film, "qiniu://photos/f", "-v", "--json", "--part-size", "1MiB"])
        #expect(more.exit == .status(0), "\(more.errorText)")
        let printed = run.text + run.errorText + more.text + more.errorText
        #expect(!printed.contains("hunter2hunter2"))
        for token in Set(store.state.log.map(\.token)).filter({ !$0.isEmpty }) {
            for piece in token.split(separator: ":").dropFirst() { #expect(!printed.contains(piece)) }
        }
        for id in store.state.log.compactMap(\.uploadID) { #expect(!printed.contains(id)) }
    }

    @Test(
        arguments: [
            (["a", "qiniu:///k"], [:], 2), (["a", "qiniu://bu cket/k"], [:], 2),
            (["a", "qiniu://photos/k", "-k"], [:], 2),
            (["a", "qiniu://photos/k", "--acl", "private"], [:], 2), (["a", "qiniu://photos/k", "-H", "A: b"], [:], 2),
            (["a", "qiniu://photos/k", "--part-size", "100KiB"], [:], 2),
            (["a", "qiniu://photos/" + String(repeating: "k", count: 750)], [:], 2),
            (["a", "qiniu://photos/k"], ["QINIU_SECRET_KEY": ""], 2),
            (["a", "qiniu://photos/k"], ["QINIU_UPLOAD_TOKEN": "no:token"], 2),
            (
                ["a", "qiniu://photos/k"],
                ["QINIU_UPLOAD_TOKEN": "ak:sig:eyJzY29wZSI6ImIiLCJkZWFkbGluZSI6NDEwMjQ0NDgwMH0="], 2
            ),
        ] as [([String], [String: String], Int)])
    func `an invalid call ends before any connection`(_ words: [String], _ extra: [String: String], _ status: Int)
        async throws
    {
        let file = try folder.write("a", "a")
        let run = try await put(words.map { $0 == "a" ? file : $0 }, environment: extra)
        #expect(run.exit == .status(status), "\(run.errorText)")
        #expect(store.state.log.isEmpty)
    }

    @Test func `an http host requires --allow-http, also from the environment`() async throws {
        let file = try folder.write("a", "a")
        let named = environment.merging(["QINIU_UP_HOST": store.url()]) { $1 }
        #expect(try await Tool.run(["put", file, "qiniu://photos/k"], environment: named).exit == .status(2))
        #expect(store.state.log.isEmpty)
        let run = try await Tool.run(["put", file, "qiniu://photos/k", "--allow-http"], environment: named)
        #expect(run.exit == .status(0), "\(run.errorText)")
    }
}
