import TestSupport
import Testing

/// `waybill put --skip-same` to each kind of store.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PutSkipSameTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Sends two files, of which the store has the first, and compares the output.
    private func check(_ words: [String], _ environment: [String: String]) async throws {
        let (a, b) = (try folder.write("a.txt", "same"), try folder.write("b.txt", "new"))
        let environment = environment.merging(["XDG_STATE_HOME": folder.path("state")]) { $1 }
        let json = try await Tool.run(
            ["put", a, b] + words + ["--skip-same", "--allow-http", "--json"], environment: environment)
        #expect(json.exit == .status(0), "\(json.errorText)")
        let lines = try json.jsonLines()
        let results = Dictionary(
            uniqueKeysWithValues: lines.filter { $0["event"] as? String == "file" }.map {
                ($0["file"] as? String, ($0["result"] as? String, $0["outcome"] as? String))
            })
        #expect(results[a]?.0 == "skipped" && results[a]?.1 == "notSent")
        #expect(results[b]?.0 == "succeeded" && results[b]?.1 == "accepted")
        #expect(lines.last?["skipped"] as? Int == 1 && lines.last?["succeeded"] as? Int == 1)
        #expect(lines.last?["acknowledged"] as? Int == 3)
        let plain = try await Tool.run(
            ["put", a, b] + words + ["--skip-same", "--allow-http"], environment: environment)
        #expect(plain.exit == .status(0), "\(plain.errorText)")
        #expect(plain.errorText.contains("\(b): skipped, because the store has the same object"))
        #expect(plain.errorText.contains("done: 0 of 2 files stored, 0 B in "))
        #expect(plain.errorText.contains(": 2 skipped"))
        #expect(plain.text.split(separator: "\n").count == 2)
    }

    @Test func `OSS`() async throws {
        let store = try OSSStore()
        store.put("in/a.txt", Array("same".utf8))
        try await check(
            ["oss://examplebucket/in/", "--endpoint", store.endpoint, "--region", "cn-hangzhou"],
            ["OSS_ACCESS_KEY_ID": "ak", "OSS_ACCESS_KEY_SECRET": "sk"])
        #expect(store.state.log(.putObject).count == 1)
    }

    @Test func `S3`() async throws {
        var settings = OSSStoreSettings()
        settings.dialect = .s3
        settings.region = "eu-west-1"
        let store = try OSSStore(settings)
        store.put("in/a.txt", Array("same".utf8))
        try await check(
            ["s3://examplebucket/in/", "--endpoint", store.endpoint, "--region", "eu-west-1", "--profile", "r2"],
            ["AWS_ACCESS_KEY_ID": "ak", "AWS_SECRET_ACCESS_KEY": "sk"])
        #expect(store.state.log(.putObject).count == 1)
    }

    @Test func `Qiniu`() async throws {
        let store = try QiniuStore()
        store.put("in/a.txt", Array("same".utf8))
        try await check(
            ["qiniu://photos/in/", "--up-host", store.url(), "--rs-host", store.url()],
            ["QINIU_ACCESS_KEY": "ak", "QINIU_SECRET_KEY": "sk"])
        #expect(store.state.log(.form).count == 1)
    }

    @Test(arguments: [
        (["qiniu://photos/k"], "--skip-same requires QINIU_ACCESS_KEY and QINIU_SECRET_KEY"),
        (["tus+https://files.example/u"], "--skip-same does not apply to a tus server"),
        (["s3://photos/k", "--queue"], "--skip-same can't be combined with --queue"),
        (["oss://photos/k", "--region", "cn-hangzhou", "--queue"], "--skip-same can't be combined with --queue"),
    ])
    func `a call that can't compare is explained`(_ words: [String], _ message: String) async throws {
        let file = try folder.write("a", "a")
        let run = try await Tool.run(
            ["put", file] + words + ["--skip-same"],
            environment: ["QINIU_UPLOAD_TOKEN": "a:b:c", "WAYBILL_OUTBOX": folder.path("outbox")])
        #expect(run.exit == .status(2) && run.errorText.contains(message), "\(run.errorText)")
    }
}
