import Foundation
import Glibc
import TestSupport
import Testing
import WaybillCore

/// `waybill put`, the real program, against a store that verifies every signature.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PutTests {
    private let store: OSSStore
    private let folder: TemporaryDirectory

    init() throws {
        store = try OSSStore()
        folder = try TemporaryDirectory()
    }

    private func arguments(_ more: [String]) -> [String] {
        ["put", "--endpoint", store.endpoint, "--region", "cn-hangzhou", "--allow-http"] + more
    }

    private var environment: [String: String] {
        ["OSS_ACCESS_KEY_ID": "ak", "OSS_ACCESS_KEY_SECRET": "sk", "XDG_STATE_HOME": folder.path("state")]
    }

    private func put(_ more: String..., environment extra: [String: String] = [:]) async throws -> ChildProcess.Finished
    {
        try await Tool.run(arguments(more), environment: environment.merging(extra) { $1 })
    }

    @Test(arguments: ["v1", "v4"]) func `a file becomes an OSS object, and its URL is printed`(_ version: String)
        async throws
    {
        let file = try folder.write("scan.pdf", "contents")
        let run = try await put(
            file, "oss://examplebucket/2026/7 空+%.pdf", "--sign-version", version, "--meta", "author=alice")
        #expect(run.exit == .status(0), "\(run.errorText)")
        let object = try #require(store.object("2026/7 空+%.pdf"))
        #expect(object.content.bytes == Array("contents".utf8))
        #expect(object.fields["content-type"] == "application/pdf")
        #expect(object.fields["x-oss-meta-author"] == "alice")
        #expect(run.text == "\(store.endpoint)/examplebucket/2026/7%20%E7%A9%BA%2B%25.pdf\n")
        #expect(run.errorText.contains("done: 1 of 1 file stored, 8 B"))
    }

    @Test func `a trailing slash is a prefix, and an empty key uses the file name`() async throws {
        let (a, b) = (try folder.write("a.txt", "a"), try folder.write("b.txt", "b"))
        #expect(try await put(a, b, "oss://examplebucket/in/").exit == .status(0))
        #expect(try await put(a, "oss://examplebucket").exit == .status(0))
        #expect(store.state.keys() == ["a.txt", "in/a.txt", "in/b.txt"])
    }

    @Test func `a directory is uploaded recursively without following links`() async throws {
        try tree()
        let run = try await put("-r", "-j", "3", "\(folder.path)/photos", "oss://examplebucket/2026/")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(
            store.state.keys() == [
                "2026/photos/a.jpg", "2026/photos/b.tmp", "2026/photos/sub/c.jpg", "2026/photos/sub/d.txt",
            ])
        #expect(run.errorText.contains("skipped: 2 links, 1 special file"))
        #expect(run.text.split(separator: "\n").count == 4)
    }

    @Test func `include and exclude patterns apply, and a trailing slash omits the directory name`() async throws {
        try tree()
        let run = try await put(
            "-r", "--include", "*.jpg", "--exclude", "sub/c*", "\(folder.path)/photos/", "oss://examplebucket/x/")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(store.state.keys() == ["x/a.jpg"])
        _ = try await put("-r", "--exclude", "sub", "\(folder.path)/photos/", "oss://examplebucket/y/")
        #expect(store.state.keys() == ["x/a.jpg", "y/a.jpg", "y/b.tmp"])
    }

    @Test func `a dry run lists files and keys without connecting`() async throws {
        try tree()
        let run = try await put("-r", "-n", "\(folder.path)/photos", "oss://examplebucket")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text.contains("\(folder.path)/photos/sub/c.jpg -> oss://examplebucket/photos/sub/c.jpg (1 B)\n"))
        #expect(run.errorText.contains("would send 4 files"))
        #expect(store.state.log.isEmpty)
        let json = try await put("-r", "-n", "--json", "\(folder.path)/photos", "oss://examplebucket").jsonLines()
        #expect(json.compactMap { $0["to"] as? String }.count == 4)
        #expect(json.last?["result"] as? String == "rehearsed")
    }

    @Test func `a large file is uploaded in parts, and an interrupted upload resumes`() async throws {
        let file = try folder.writeSparse("large", size: 1_000_000)
        let more = [file, "oss://examplebucket/large", "--part-size", "100KiB", "--parts-at-once", "1"]
        store.fail(.stall(afterBodyBytes: 10), on: .uploadPart, part: 4)
        let child = try Tool.start(arguments(more), environment: environment)
        try await store.waitUntil { $0.log(.uploadPart).contains { $0.partNumber == 4 && $0.bodyBytes >= 10 } }
        child.signal(SIGTERM)
        let stopped = try await child.finish()
        #expect(stopped.exit == .status(143), "\(stopped.errorText)")
        #expect(stopped.errorText.contains("0 of 1 file stored"))
        #expect(stopped.errorText.contains("1 cancelled"))
        let run = try await Tool.run(arguments(more + ["--json"]), environment: environment)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let line = try #require(try run.jsonLines().first { $0["event"] as? String == "file" })
        #expect(line["resumedParts"] as? Int == 3)
        #expect(line["total"] as? Int == 1_000_000)
        #expect(store.object("large")?.content.size == 1_000_000)
        #expect(store.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
    }

    @Test func `a rejection exits with 1 and the store's code, and other files continue`() async throws {
        let (a, b) = (try folder.write("a.txt", "a"), try folder.write("b.txt", "b"))
        store.put("in/a.txt", [1])
        let run = try await put(a, b, "oss://examplebucket/in/", "--forbid-overwrite", "--json")
        #expect(run.exit == .status(1), "\(run.errorText)")
        #expect(run.errorText.contains("FileAlreadyExists"))
        #expect(store.object("in/a.txt")?.content.bytes == [1])
        #expect(store.object("in/b.txt")?.content.bytes == Array("b".utf8))
        let lines = try run.jsonLines()
        let failed = try #require(
            lines.first { $0["result"] as? String == "failed" && $0["event"] as? String == "file" })
        #expect((failed["error"] as? [String: Any])?["storeCode"] as? String == "FileAlreadyExists")
        let summary = try #require(lines.last)
        #expect(summary["event"] as? String == "summary")
        #expect(summary["succeeded"] as? Int == 1 && summary["failed"] as? Int == 1 && summary["exit"] as? Int == 1)
    }

    @Test func `--fail-early stops further files after the first failure`() async throws {
        let (a, b) = (try folder.write("a.txt", "a"), try folder.write("b.txt", "b"))
        store.put("in/a.txt", [1])
        let run = try await put(a, b, "oss://examplebucket/in/", "--forbid-overwrite", "--fail-early", "-j", "1")
        #expect(run.exit == .status(1), "\(run.errorText)")
        #expect(run.errorText.contains("0 of 2 files stored"))
        #expect(run.errorText.contains("1 failed, 1 not started"))
        #expect(store.object("in/b.txt") == nil)
    }

    @Test func `a wrong secret exits with 1, and no secret is printed, even with -v`() async throws {
        let file = try folder.write("a.txt", "a")
        let run = try await put(
            file, "oss://examplebucket/a", "-v", "--json", environment: ["OSS_ACCESS_KEY_SECRET": "hunter2hunter2"])
        #expect(run.exit == .status(1), "\(run.errorText)")
        #expect(run.errorText.contains("The signature does not match"))
        #expect(run.text.contains("\"storeCode\":\"SignatureDoesNotMatch\""))
        #expect(!run.errorText.contains("hunter2hunter2") && !run.text.contains("hunter2hunter2"))
        let right = try await put(file, "oss://examplebucket/a", "-v", "--json")
        for line in store.state.log.compactMap({ $0.value(of: "Authorization") }) {
            let signature = line.components(separatedBy: "Signature=").last ?? line
            #expect(!(run.errorText + run.text + right.errorText + right.text).contains(signature))
        }
    }

    @Test func `a presigned URL sends one file with exactly the signed fields`() async throws {
        let server = try LoopbackServer(.respond(200, body: "{\"ok\":true}"))
        let file = try folder.write("front.jpg", "picture")
        let url = server.url("/cards/front.jpg?Expires=9999999999&OSSAccessKeyId=a&Signature=sEcReT%2B1")
        let list = try folder.write("url.txt", "\(url)\n")
        let run = try await Tool.run(["put", file, "@\(list)", "-H", "Content-Type: image/jpeg"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text == "{\"ok\":true}")
        #expect(!run.errorText.contains("sEcReT"))
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT")
        #expect(request.target == "/cards/front.jpg?Expires=9999999999&OSSAccessKeyId=a&Signature=sEcReT%2B1")
        #expect(request.body == Array("picture".utf8))
        #expect(request.value(of: "Content-Type") == "image/jpeg")
        let plain = try await Tool.run(["put", file, url])
        #expect(plain.exit == .status(0))
        #expect(server.requests.last?.value(of: "Content-Type") == nil, "one that was not signed breaks the signature")
        let old = try await Tool.run(["put", file, server.url("/k?Expires=1000000000&Signature=s")])
        #expect(old.exit == .status(2))
        #expect(server.requests.count == 2)
    }

    @Test func `a rejected presigned URL exits with 1 and prints the response`() async throws {
        let server = try LoopbackServer(.respond(403, body: "<Error/>"))
        let file = try folder.write("a", "a")
        let run = try await Tool.run(["put", file, server.url("/k?Signature=s")])
        #expect(run.exit == .status(1), "\(run.errorText)")
        #expect(run.text == "<Error/>")
    }

    /// The response to a presigned URL, the exit status, the outcome, whether the object is stored, the error code,
    /// and a word in the line on standard error.
    private static let presignedAnswers: [(Behaviour, Int, String, Bool?, String?, String)] = [
        (.respond(200, headers: [("x-oss-hash-crc64ecma", "11051210869376104954")]), 0, "accepted", nil, nil, ""),
        (
            .respond(200, headers: [("x-oss-hash-crc64ecma", "11051210869376104955"), ("x-oss-request-id", "R1")]), 1,
            "rejected", false, "checksumMismatch", "CRC-64"
        ),
        (
            .respond(203, headers: [("x-oss-request-id", "R1")], body: "<Error><Code>CallbackFailed</Code></Error>"), 1,
            "accepted", true, "storedButCallbackFailed", "The object is stored"
        ),
        (.respond(203, body: "a proxy"), 6, "unknown", false, "unexpectedResponse", "not OSS"),
        (
            .respond(
                403,
                body: "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>ask there</Message>"
                    + "<Endpoint>oss-cn-hangzhou.example</Endpoint></Error>"),
            1, "rejected", false, "rejected",
            "AccessDenied: ask there. The endpoint of the bucket is oss-cn-hangzhou.example."
        ),
        (.respond(503, body: "busy"), 5, "rejected", false, "rejected", "503"),
        (.respond(429, body: "busy"), 5, "rejected", false, "rejected", "429"),
    ]

    @Test(arguments: 0..<presignedAnswers.count)
    func `a rejected presigned URL is reported with the store's code`(_ row: Int) async throws {
        let (behaviour, exit, outcome, isStored, code, word) = Self.presignedAnswers[row]
        let server = try LoopbackServer(otherwise: behaviour)
        let file = try folder.write("digits", "123456789")
        let words = ["put", file, server.url("/k?Signature=s"), "--retry", "0"]
        let run = try await Tool.run(words + ["--json"])
        #expect(run.exit == .status(exit), "\(run.errorText)")
        let end = try #require(try run.jsonLines().last { $0["outcome"] != nil })
        #expect(end["outcome"] as? String == outcome && end["isStored"] as? Bool == isStored)
        #expect((end["error"] as? [String: Any])?["code"] as? String == code)
        if let code {
            let plain = try await Tool.run(words)
            #expect(plain.exit == .status(exit) && plain.errorText.contains(code) && plain.errorText.contains(word))
        }
    }

    @Test func `a missing response to a presigned URL exits with 6`() async throws {
        let server = try LoopbackServer(.neverRespond)
        let file = try folder.write("a", "a")
        let run = try await Tool.run(
            ["put", file, server.url("/k?Signature=s"), "--response-timeout", "0.2", "--retry", "0"])
        #expect(run.exit == .status(6), "\(run.errorText)")
        #expect(run.errorText.contains("Check the store before you send it again"))
    }

    @Test(arguments: [
        (["a", "oss://examplebucket/k", "b"], 2), (["a", "b", "oss://examplebucket/k"], 2), (["a"], 2), ([], 2),
        (["a", "ftp://examplebucket/k"], 2), (["a", "oss:///k"], 2), (["a", "oss://Bucket_/k"], 2),
        (["a", "oss://examplebucket//k"], 2), (["a", "oss://examplebucket/k", "--sign-version", "v3"], 2),
        (["a", "oss://examplebucket/k", "-j", "0"], 2), (["a", "oss://examplebucket/k", "--include", "*"], 2),
        (["a", "oss://examplebucket/k", "--acl", "everybody"], 2), (["a", "oss://examplebucket/k", "-k"], 2),
        (["a", "oss://examplebucket/k", "--part-size", "5"], 2), (["a", "oss://examplebucket/k", "--meta", "x"], 2),
        (["a", "a", "oss://examplebucket/"], 2), (["-r", "folder", "oss://examplebucket/k"], 2),
        (["folder", "oss://examplebucket/"], 2), (["-r", "folder", "https://h/k?Signature=s"], 2),
        (["-r", "link", "oss://examplebucket/"], 2), (["missing", "oss://examplebucket/"], 3),
        (["-r", "missing", "oss://examplebucket/"], 3), (["-r", "names", "oss://examplebucket/"], 2),
    ]) func `an invalid call or file ends before any connection`(_ words: [String], _ status: Int)
        async throws
    {
        let names = ["a", "b", "folder", "link", "missing", "names"]
        _ = try (folder.write("a", "a"), folder.write("b", "b"))
        try FileManager.default.createDirectory(atPath: folder.path("folder"), withIntermediateDirectories: false)
        try FileManager.default.createDirectory(atPath: folder.path("names"), withIntermediateDirectories: false)
        let raw = unsafe open(folder.path("names/") + "\u{1}", O_CREAT | O_WRONLY, 0o600)
        close(raw)
        let bytes = Array(folder.path("names/").utf8).map { CChar(bitPattern: $0) } + [-1, 0]
        #expect(unsafe rename(folder.path("names/") + "\u{1}", bytes) == 0)
        #expect(unsafe symlink(folder.path("folder"), folder.path("link")) == 0)
        let run = try await Tool.run(
            arguments(words.map { names.contains($0) ? folder.path($0) : $0 }), environment: environment)
        #expect(run.exit == .status(status), "\(run.errorText)")
        #expect(run.errorText.hasPrefix("waybill: "), "\(run.errorText)")
        #expect(store.state.log.isEmpty)
    }

    @Test func `missing keys or a missing region are reported with their variables`() async throws {
        let file = try folder.write("a", "a")
        let keys = try await Tool.run(arguments([file, "oss://examplebucket/k"]))
        #expect(keys.exit == .status(2), "\(keys.errorText)")
        #expect(keys.errorText.contains("OSS_ACCESS_KEY_ID is not set"))
        let place = try await Tool.run(["put", file, "oss://examplebucket/k"], environment: environment)
        #expect(place.exit == .status(2))
        #expect(place.errorText.contains("OSS_REGION"))
        let http = try await Tool.run(
            ["put", file, "oss://examplebucket/k", "--endpoint", store.endpoint, "--region", "cn-hangzhou"],
            environment: environment)
        #expect(http.exit == .status(2), "\(http.errorText)")
        let variables = try await Tool.run(
            ["put", file, "oss://examplebucket/k", "--allow-http"],
            environment: environment.merging(["OSS_ENDPOINT": store.endpoint, "OSS_REGION": "cn-hangzhou"]) { $1 })
        #expect(variables.exit == .status(0), "\(variables.errorText)")
    }

    /// Creates two photos and two other files in two directories, links to a file and to a directory, and a FIFO.
    private func tree() throws {
        for path in ["photos", "photos/sub", "elsewhere"] {
            try FileManager.default.createDirectory(atPath: folder.path(path), withIntermediateDirectories: false)
        }
        for name in ["photos/a.jpg", "photos/b.tmp", "photos/sub/c.jpg", "photos/sub/d.txt", "elsewhere/secret.jpg"] {
            try Data([1]).write(to: URL(filePath: folder.path(name)))
        }
        #expect(unsafe symlink(folder.path("elsewhere"), folder.path("photos/out")) == 0)
        #expect(unsafe symlink(folder.path("elsewhere/secret.jpg"), folder.path("photos/secret.jpg")) == 0)
        #expect(unsafe mkfifo(folder.path("photos/fifo"), 0o600) == 0)
    }
}
