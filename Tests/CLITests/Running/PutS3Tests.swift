import Foundation
import Glibc
import TestSupport
import Testing

/// `waybill put` by the protocol of S3.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PutS3Tests {
    private let store: OSSStore
    private let folder: TemporaryDirectory

    init() throws {
        store = try OSSStore(Self.settings)
        folder = try TemporaryDirectory()
    }

    private static var settings: OSSStoreSettings {
        var settings = OSSStoreSettings()
        settings.dialect = .s3
        settings.region = "eu-west-1"
        return settings
    }

    private func arguments(_ more: [String]) -> [String] {
        ["put", "--endpoint", store.endpoint, "--region", "eu-west-1", "--profile", "aws", "--allow-http"] + more
    }

    private var environment: [String: String] {
        ["AWS_ACCESS_KEY_ID": "ak", "AWS_SECRET_ACCESS_KEY": "sk", "XDG_STATE_HOME": folder.path("state")]
    }

    private func put(_ more: String..., environment extra: [String: String] = [:]) async throws -> ChildProcess.Finished
    {
        try await Tool.run(arguments(more), environment: environment.merging(extra) { $1 })
    }

    @Test func `a file becomes an object with its options, and its URL is printed`() async throws {
        let file = try folder.write("scan.pdf", "contents")
        let run = try await put(
            file, "s3://examplebucket/2026/7 空+%.pdf", "--meta", "author=alice", "--acl", "private",
            "--storage-class", "STANDARD_IA", "--checksum", "sha256", "-H", "Cache-Control: no-store")
        #expect(run.exit == .status(0), "\(run.errorText)")
        let object = try #require(store.object("2026/7 空+%.pdf"))
        #expect(object.content.bytes == Array("contents".utf8))
        let expected = [
            "content-type": "application/pdf", "x-amz-meta-author": "alice", "x-amz-acl": "private",
            "x-amz-storage-class": "STANDARD_IA", "cache-control": "no-store",
        ]
        for (name, value) in expected { #expect(object.fields[name] == value) }
        #expect(object.fields["x-amz-checksum-sha256"] != nil)
        #expect(run.text == "\(store.endpoint)/examplebucket/2026/7%20%E7%A9%BA%2B%25.pdf\n")
        #expect(run.errorText.contains("done: 1 of 1 file stored, 8 B"))
    }

    @Test func `a directory is uploaded recursively, with its keys in the JSON lines`() async throws {
        for path in ["photos", "photos/sub"] {
            try FileManager.default.createDirectory(atPath: folder.path(path), withIntermediateDirectories: false)
        }
        try folder.write("photos/a.jpg", "a")
        try folder.write("photos/sub/b.jpg", "b")
        let dry = try await put("-r", "-n", "\(folder.path)/photos", "s3://examplebucket/2026/")
        #expect(dry.exit == .status(0), "\(dry.errorText)")
        #expect(dry.text.contains("sub/b.jpg -> s3://examplebucket/2026/photos/sub/b.jpg (1 B)\n"))
        #expect(store.state.log.isEmpty)
        let run = try await put("-r", "--json", "\(folder.path)/photos", "s3://examplebucket/2026/")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(store.state.keys() == ["2026/photos/a.jpg", "2026/photos/sub/b.jpg"])
        let files = try run.jsonLines().filter { $0["event"] as? String == "file" }
        #expect(
            Set(files.compactMap { $0["to"] as? String }) == [
                "s3://examplebucket/2026/photos/a.jpg", "s3://examplebucket/2026/photos/sub/b.jpg",
            ])
        #expect(files.allSatisfy { ($0["etag"] as? String)?.count == 34 })
    }

    @Test func `a killed upload resumes, and no listed part is sent again`() async throws {
        let file = try folder.writeSparse("large", size: 18 << 20)
        let more = [file, "s3://examplebucket/large", "--part-size", "5MiB", "--parts-at-once", "1"]
        store.fail(.stall(afterBodyBytes: 10), on: .uploadPart, part: 3)
        let child = try Tool.start(arguments(more), environment: environment)
        try await store.waitUntil { $0.log(.uploadPart).contains { $0.partNumber == 3 && $0.bodyBytes >= 10 } }
        child.signal(SIGKILL)
        _ = try await child.finish()
        let run = try await Tool.run(arguments(more + ["--json"]), environment: environment)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let line = try #require(try run.jsonLines().first { $0["event"] as? String == "file" })
        #expect(line["resumedParts"] as? Int == 2)
        #expect(store.object("large")?.content.size == 18 << 20)
        #expect(store.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
    }

    @Test func `--forbid-overwrite keeps an existing object`() async throws {
        let (a, b) = (try folder.write("a.txt", "a"), try folder.write("b.txt", "b"))
        store.put("in/a.txt", [1])
        let run = try await put(a, b, "s3://examplebucket/in/", "--forbid-overwrite", "--json")
        #expect(run.exit == .status(1), "\(run.errorText)")
        #expect(store.object("in/a.txt")?.content.bytes == [1])
        #expect(store.object("in/b.txt")?.content.bytes == Array("b".utf8))
        let failed = try #require(try run.jsonLines().first { $0["result"] as? String == "failed" })
        #expect((failed["error"] as? [String: Any])?["storeCode"] as? String == "PreconditionFailed")
    }

    @Test(arguments: ["us-east-1", "eu-central-1"])
    func `a wrong region is corrected by that of the store`(_ region: String) async throws {
        let file = try folder.write("a", "a")
        let run = try await put(file, "s3://examplebucket/a", "--region", region)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(store.state.log.map(\.code) == ["AuthorizationHeaderMalformed", nil])
    }

    @Test func `a wrong clock is corrected by that of the store`() async throws {
        store.skew(OSSSkew(seconds: 1_800, report: .serverTime))
        let file = try folder.write("a", "a")
        let run = try await put(file, "s3://examplebucket/a")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(store.state.log.map(\.code) == ["RequestTimeTooSkewed", nil])
    }

    @Test func `a wrong secret exits with 1, and no secret is printed, even with -v`() async throws {
        let file = try folder.write("a.txt", "a")
        let run = try await put(
            file, "s3://examplebucket/a", "-v", "--json",
            environment: ["AWS_SECRET_ACCESS_KEY": "hunter2hunter2", "AWS_SESSION_TOKEN": "swordfish-swordfish"])
        #expect(run.exit == .status(1), "\(run.errorText)")
        let right = try await put(file, "s3://examplebucket/a", "-v", "--json")
        #expect(right.exit == .status(0), "\(right.errorText)")
        let printed = run.errorText + run.text + right.errorText + right.text
        #expect(!printed.contains("hunter2hunter2") && !printed.contains("swordfish"))
        for line in store.state.log.compactMap({ $0.value(of: "Authorization") }) {
            #expect(!printed.contains(line.components(separatedBy: "Signature=").last ?? line))
        }
    }

    @Test(
        arguments: [
            (["s3:///k"], "has no bucket"), (["s3://B_/k"], "bucket name"),
            (
                ["s3://photos/k", "--profile", "minio"],
                "--profile must be one of aws, r2, oss, cos, obs, kodo, b2, wasabi, ceph"
            ),
            (["s3://photos/k", "--checksum", "crc"], "--checksum must be one of md5, sha256"),
            (["s3://photos/k", "--profile", "b2", "--checksum", "sha256"], "Backblaze B2 does not verify sha256"),
            (["s3://photos/k", "--profile", "b2", "--forbid-overwrite"], "--forbid-overwrite does not apply"),
            (["s3://photos/k", "--part-size", "1MiB"], "--part-size must be at least 5.0 MiB"),
            (["s3://photos/k", "--sign-version", "v1"], "--sign-version does not apply to S3"),
            (["s3://photos/k", "--up-host", "h"], "--up-host does not apply to S3"),
            (["s3://photos/k", "-k"], "--cacert"),
            (["s3://photos/k", "--queue", "--records", "r"], "stores resume records"),
            (["s3://photos/" + String(repeating: "k", count: 1_025)], "between 1 and 1024 bytes"),
        ] as [([String], String)])
    func `an invalid call is explained before any connection`(_ words: [String], _ message: String) async throws {
        let file = try folder.write("a", "a")
        let run = try await Tool.run(
            arguments([file] + words),
            environment: environment.merging(["WAYBILL_OUTBOX": folder.path("outbox")]) { $1 })
        #expect(run.exit == .status(2), "\(run.errorText)")
        #expect(run.errorText.contains(message), "\(run.errorText)")
        #expect(store.state.log.isEmpty)
    }

    @Test func `missing keys, endpoint and region are reported, and variables replace options`() async throws {
        let file = try folder.write("a", "a")
        let keys = try await Tool.run(
            arguments([file, "s3://examplebucket/k"]),
            environment: ["HOME": folder.path("home"), "AWS_EC2_METADATA_DISABLED": "true"])
        #expect(keys.exit == .status(2) && keys.errorText.contains("AWS_ACCESS_KEY_ID is not set"), "\(keys.errorText)")
        let credentials = try folder.write(
            "credentials", "[scanner]\naws_access_key_id = ak\naws_secret_access_key = sk\n")
        let profile = try await Tool.run(
            arguments([file, "s3://examplebucket/profile"]),
            environment: [
                "AWS_PROFILE": "scanner", "AWS_SHARED_CREDENTIALS_FILE": credentials, "AWS_CONFIG_FILE": "/dev/null",
                "XDG_STATE_HOME": folder.path("state"),
            ])
        #expect(profile.exit == .status(0), "\(profile.errorText)")
        let region = try await Tool.run(["put", file, "s3://examplebucket/k"], environment: environment)
        #expect(region.exit == .status(2) && region.errorText.contains("Pass --region"), "\(region.errorText)")
        let endpoint = try await Tool.run(
            ["put", file, "s3://examplebucket/k", "--profile", "r2"], environment: environment)
        #expect(endpoint.exit == .status(2) && endpoint.errorText.contains("Pass --endpoint"), "\(endpoint.errorText)")
        let variables = environment.merging(["AWS_REGION": "eu-west-1"]) { $1 }
        for name in ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"] {
            let run = try await Tool.run(
                ["put", file, "s3://examplebucket/k", "--allow-http"],
                environment: variables.merging([name: store.endpoint]) { $1 })
            #expect(run.exit == .status(0), "\(run.errorText)")
        }
        #expect(store.state.log.map(\.code) == [nil, nil, nil])
    }
}
