import TestSupport
import Testing

/// `waybill doctor s3://…`
@Suite(.timeLimit(.minutes(Slowness.factor))) struct DoctorBucketTests {
    private let store: OSSStore

    init() throws {
        var settings = OSSStoreSettings()
        settings.dialect = .s3
        settings.region = "eu-west-1"
        settings.buckets = ["photos"]
        store = try OSSStore(settings)
    }

    private static let environment = ["AWS_ACCESS_KEY_ID": "ak", "AWS_SECRET_ACCESS_KEY": "sk"]

    /// Runs the command and returns the exit status, and the verdict and finding of each check by its name.
    private func doctor(
        _ words: [String], environment: [String: String] = Self.environment
    ) async throws -> (exit: ChildProcess.Exit, checks: [String: (verdict: String, finding: String)]) {
        let run = try await Tool.run(["doctor", "--json"] + words, environment: environment)
        var checks: [String: (verdict: String, finding: String)] = [:]
        for line in try run.jsonLines() {
            guard let name = line["name"] as? String else { continue }
            checks[name] = (line["verdict"] as? String ?? "", line["finding"] as? String ?? "")
        }
        return (run.exit, checks)
    }

    private func arguments(_ url: String = "s3://photos/2026/", region: String = "eu-west-1") -> [String] {
        [url, "--endpoint", store.endpoint, "--region", region, "--profile", "aws", "--allow-http"]
    }

    @Test func `a bucket that can be listed passes all checks, and nothing is changed`() async throws {
        let (exit, checks) = try await doctor(arguments())
        #expect(exit == .status(0), "\(checks)")
        for name in ["connection", "clock", "credentials", "region", "bucket"] {
            #expect(checks[name]?.verdict == "ok", "\(name)")
        }
        #expect(checks["conditional writes"]?.verdict == "note")
        #expect(store.state.log.map(\.operation) == [.listObjects])
        #expect(store.state.log.first?.lines.first?.contains("prefix=2026%2F") == true)
    }

    @Test func `a wrong region is reported with the right one`() async throws {
        let (exit, checks) = try await doctor(arguments(region: "us-east-1"))
        #expect(exit == .status(1))
        #expect(checks["region"]?.finding.contains("Pass --region eu-west-1") == true)
        #expect(checks["bucket"]?.verdict == "ok")
    }

    @Test(arguments: [(1_800, "behind"), (-1_800, "ahead of")])
    func `a wrong clock is reported with the difference`(_ seconds: Int, _ word: String) async throws {
        store.skew(OSSSkew(seconds: seconds, report: .serverTime))
        let (exit, checks) = try await doctor(arguments())
        #expect(exit == .status(1) && checks["clock"]?.verdict == "failed")
        #expect(checks["clock"]?.finding.contains("\(word) that of the store. Set it.") == true)
        #expect(checks["bucket"]?.verdict == "ok")
    }

    @Test(arguments: [
        (["AWS_ACCESS_KEY_ID": "ak"], "credentials", "AWS_SECRET_ACCESS_KEY is not set"),
        (["AWS_ACCESS_KEY_ID": "ak", "AWS_SECRET_ACCESS_KEY": "no"], "credentials", "Check AWS_SECRET_ACCESS_KEY"),
        (["AWS_ACCESS_KEY_ID": "no", "AWS_SECRET_ACCESS_KEY": "sk"], "credentials", "does not know the access key"),
    ])
    func `credentials that the store does not accept are reported`(
        _ environment: [String: String], _ name: String, _ finding: String
    ) async throws {
        let (exit, checks) = try await doctor(arguments(), environment: environment)
        #expect(exit == .status(1))
        #expect(checks[name]?.verdict == "failed" && checks[name]?.finding.contains(finding) == true, "\(checks)")
    }

    @Test func `a missing bucket fails, and one that may not be listed is a note`() async throws {
        let (exit, checks) = try await doctor(arguments("s3://other-photos"))
        #expect(exit == .status(1))
        #expect(checks["bucket"]?.finding.contains("The store has no bucket other-photos.") == true, "\(checks)")
        store.fail(.denied, on: .listObjects)
        let denied = try await doctor(arguments())
        #expect(denied.exit == .status(0), "\(denied.checks)")
        #expect(denied.checks["bucket"]?.verdict == "note" && denied.checks["credentials"]?.verdict == "ok")
    }

    @Test(arguments: ["garage", "generic"])
    func `credentials are not accepted by a rejection that a wrong key gets, too`(_ profile: String) async throws {
        store.fail(.denied, on: .listObjects)
        let (exit, checks) = try await doctor(arguments().map { $0 == "aws" ? profile : $0 })
        #expect(exit == .status(0) && checks["credentials"]?.verdict == "note", "\(checks)")
        #expect(checks["credentials"]?.finding.contains("not checked: ") == true)
        #expect(checks["credentials"]?.finding.contains("403 AccessDenied") == true)
    }

    @Test func `a response of another server is no access`() async throws {
        store.fail(.html(status: 200), on: .listObjects)
        let (exit, checks) = try await doctor(arguments())
        #expect(exit == .status(1) && checks["bucket"]?.verdict != "ok", "\(checks)")
    }

    @Test(arguments: [
        (["s3://photos", "--profile", "r2"], "store", "Pass --endpoint"),
        (["s3://photos"], "store", "Pass --region"), (["s3://"], "store", "has no bucket"),
        (["s3://photos", "--profile", "minio"], "store", "--profile must be one of aws, r2"),
        (["s3://photos", "--endpoint", "http://127.0.0.1:1"], "store", "pass --allow-http"),
        (["s3://photos", "--endpoint", "http://127.0.0.1:1", "--allow-http"], "connection", "127.0.0.1"),
    ])
    func `a store that can't be reached is reported with a remedy`(
        _ words: [String], _ name: String, _ finding: String
    ) async throws {
        let (exit, checks) = try await doctor(words)
        #expect(exit == .status(1))
        #expect(checks[name]?.verdict == "failed" && checks[name]?.finding.contains(finding) == true, "\(checks)")
    }

    @Test func `an untrusted certificate is reported, and --cacert trusts it`() async throws {
        let front = try await TLSFront(toPort: store.port)
        let words = ["s3://photos", "--endpoint", "https://127.0.0.1:\(front.port)", "--region", "eu-west-1"]
        let (exit, checks) = try await doctor(words)
        #expect(exit == .status(1) && checks["connection"]?.verdict == "failed")
        #expect(checks["connection"]?.finding.contains("--cacert") == true, "\(checks)")
        let trusted = try await doctor(words + ["--cacert", front.authority])
        #expect(trusted.exit == .status(0), "\(trusted.checks)")
    }

    @Test func `an option of stores is an error for other destinations`() async throws {
        let run = try await Tool.run(["doctor", "--profile", "aws"])
        #expect(run.exit == .status(2) && run.errorText.contains("--profile applies only to s3://"), "\(run.errorText)")
    }
}
