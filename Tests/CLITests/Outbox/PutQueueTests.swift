import Foundation
import Glibc
import TestSupport
import Testing

/// `waybill put … --queue` to buckets and tus servers.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PutQueueTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private static let ossAccount = ["OSS_ACCESS_KEY_ID": "ak", "OSS_ACCESS_KEY_SECRET": "sk-0123456789"]
    private static let qiniuAccount = ["QINIU_ACCESS_KEY": "ak", "QINIU_SECRET_KEY": "sk-0123456789"]

    private static var ossSettings: OSSStoreSettings {
        var settings = OSSStoreSettings()
        settings.accounts = [OSSAccount("ak", "sk-0123456789")]
        return settings
    }

    private static var qiniuSettings: QiniuStoreSettings {
        var settings = QiniuStoreSettings()
        settings.accounts = ["ak": "sk-0123456789"]
        return settings
    }

    private var outbox: String { folder.path("outbox") }

    private func run(_ words: [String], _ environment: [String: String] = [:]) async throws -> ChildProcess.Finished {
        try await Tool.run(words + ["--outbox", outbox], environment: environment)
    }

    private func put(_ words: [String]) async throws -> ChildProcess.Finished {
        try await run(["put", "--queue", "--allow-http"] + words)
    }

    private func deliver(_ environment: [String: String], _ more: String...) async throws -> ChildProcess.Finished {
        try await run(["outbox", "run", "--until-idle"] + more, environment)
    }

    @Test func `a directory is queued without keys and delivered by a run that has them`() async throws {
        let store = try OSSStore(Self.ossSettings)
        try FileManager.default.createDirectory(atPath: folder.path("photos"), withIntermediateDirectories: false)
        for name in ["a.jpg", "b.jpg", "c.tmp"] { try folder.write("photos/\(name)", "photo \(name)") }
        let queued = try await put([
            "-r", "--exclude", "*.tmp", "\(folder.path)/photos/", "oss://examplebucket/in/", "--endpoint",
            store.endpoint,
            "--region", "cn-hangzhou", "--meta", "author=alice",
        ])
        #expect(queued.exit == .status(0) && queued.text == "1\n2\n", "\(queued.errorText)")
        let blocked = try await deliver([:])
        #expect(blocked.exit == .status(7) && blocked.errorText.contains("is blocked"), "\(blocked.errorText)")
        #expect(store.state.keys().isEmpty)
        let done = try await deliver(Self.ossAccount)
        #expect(done.exit == .status(0), "\(done.errorText)")
        #expect(store.state.keys() == ["in/a.jpg", "in/b.jpg"])
        #expect(store.object("in/a.jpg")?.fields["x-oss-meta-author"] == "alice")
        for name in ["queue.db", "queue.db-wal"] {
            let bytes = (try? readFile("\(outbox)/\(name)")) ?? []
            #expect(!String(decoding: bytes, as: UTF8.self).contains("sk-0123456789"))
        }
    }

    @Test func `an object for S3 is queued with its options and delivered with the account of the environment`()
        async throws
    {
        var settings = OSSStoreSettings()
        (settings.dialect, settings.region) = (.s3, "eu-west-1")
        let store = try OSSStore(settings)
        let file = try folder.write("scan.pdf", "contents")
        let queued = try await put([
            file, "s3://examplebucket/scan.pdf", "--endpoint", store.endpoint, "--profile", "aws", "--region",
            "eu-west-1", "--forbid-overwrite", "--checksum", "crc64nvme", "--meta", "author=alice",
        ])
        #expect(queued.exit == .status(0) && queued.text == "1\n", "\(queued.errorText)")
        let withoutKeys = ["HOME": folder.path("home"), "AWS_EC2_METADATA_DISABLED": "true"]
        let blocked = try await deliver(withoutKeys)
        #expect(blocked.exit == .status(7) && blocked.errorText.contains("is blocked"), "\(blocked.errorText)")
        let done = try await deliver(["AWS_ACCESS_KEY_ID": "ak", "AWS_SECRET_ACCESS_KEY": "sk"])
        #expect(done.exit == .status(0), "\(done.errorText)")
        let object = try #require(store.object("scan.pdf"))
        #expect(object.content.bytes == Array("contents".utf8) && object.fields["x-amz-meta-author"] == "alice")
        #expect(object.fields["x-amz-checksum-crc64nvme"] != nil)
    }

    @Test func `a large object continues after kill -9 without sending a part twice`() async throws {
        let store = try QiniuStore(Self.qiniuSettings)
        let file = try folder.writeSparse("film.mp4", size: 5_000_000)
        let queued = try await put([
            file, "qiniu://photos/film", "--up-host", store.url(), "--part-size", "1MiB", "--parts-at-once", "1",
        ])
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        store.fail(.stall(afterBodyBytes: 1_000), on: .part, part: 3)
        let child = try Tool.start(["outbox", "run", "--outbox", outbox], environment: Self.qiniuAccount)
        try await store.waitUntil { state in state.log(.part).contains { $0.part == 3 && $0.bodyBytes >= 1_000 } }
        child.signal(SIGKILL)
        #expect(try await child.finish().exit == .signal(Int(SIGKILL)))
        let done = try await deliver(Self.qiniuAccount)
        #expect(done.exit == .status(0), "\(done.errorText)")
        #expect(store.object("film")?.content.size == 5_000_000)
        let parts = store.state.log(.part).map(\.part)
        #expect(parts.filter { $0 == 1 }.count == 1 && parts.filter { $0 == 2 }.count == 1, "\(parts)")
    }

    @Test func `files for a tus server continue after kill -9`() async throws {
        let server = try ResumableServer(.tus)
        let (small, large) = (try folder.write("a.txt", "text"), try folder.writeSparse("film.mp4", size: 9_000_000))
        let words = ["put", "--queue", "-q", small, large, "tus+" + server.url("/files")]
        for more in [
            ["--no-resume"], ["--records", "x"], ["--acl", "private"], ["--retry", "2"], ["--parts-at-once", "2"],
        ] {
            let refused = try await run(words + more)
            #expect(refused.exit == .status(2), "\(more): \(refused.errorText)")
        }
        let queued = try await run(words)
        #expect(queued.exit == .status(0) && queued.text == "1\n2\n", "\(queued.errorText), \(queued.text)")
        server.script(.on(.finish, 1, .hold), .on(.finish, 2, .hold))
        let child = try Tool.start(["outbox", "run", "--outbox", outbox], environment: [:])
        try await server.waitUntil { state in state.requests(.append, .finish).contains { $0.claimedOffset ?? 0 > 0 } }
        child.signal(SIGKILL)
        #expect(try await child.finish().exit == .signal(Int(SIGKILL)))
        server.clearScript()
        let done = try await deliver([:])
        #expect(done.exit == .status(0), "\(done.errorText)")
        let runs = server.applicationRuns.sorted { $0.content.size < $1.content.size }
        #expect(runs.map(\.content.size) == [4, 9_000_000])
        #expect(runs.map { String(decoding: $0.metadata["filename"] ?? [], as: UTF8.self) } == ["a.txt", "film.mp4"])
        #expect(server.requests.reduce(0) { $0 + $1.bodyBytes } < 18_000_000)
    }

    @Test(arguments: ["s3", "oss", "qiniu"], [[], ["--dry-run"]])
    func `two files with one key are refused`(_ scheme: String, _ more: [String]) async throws {
        for name in ["a", "b"] {
            try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: false)
            try folder.write("\(name)/scan.pdf", name)
        }
        let paths = [folder.path("a/scan.pdf"), folder.path("b/scan.pdf")]
        let refused = try await put(paths + ["\(scheme)://examplebucket/in/"] + more)
        #expect(refused.exit == .status(2), "\(refused.errorText)")
        #expect(refused.errorText.contains("would become the same object"), "\(refused.errorText)")
    }

    @Test func `an account can be named, and options that do not apply to a bucket are refused`() async throws {
        let store = try QiniuStore(Self.qiniuSettings)
        let file = try folder.write("a.txt", "text")
        let words = [file, "qiniu://photos/a", "--up-host", store.url()]
        for more in [
            ["--idempotency", "honoured"], ["--no-resume"], ["--credential", "X-Key=n"], ["-k"], ["--retry", "2"],
            ["--fail-early"], ["--acl", "private"],
        ] {
            let refused = try await put(words + more)
            #expect(refused.exit == .status(2), "\(more): \(refused.errorText)")
        }
        #expect(try await put(words + ["--credential", "photo-desk"]).exit == .status(0))
        let keys = #"{"accessKey":"ak","secretKey":"sk-0123456789"}"#
        let done = try await deliver(["WAYBILL_CREDENTIAL_PHOTO_DESK": keys])
        #expect(done.exit == .status(0), "\(done.errorText)")
        #expect(store.object("a")?.content.bytes == Array("text".utf8))
        let shown = try await run(["outbox", "show", "1"])
        #expect(shown.text.contains("photo-desk"), "\(shown.text)")
    }
}
