import FoundationEssentials
import TestSupport
import Testing
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `Credential sources` {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let end = 1_703_836_702.0

    @Test(
        arguments: [
            #"{"AccessKeyId":"ak","AccessKeySecret":"sk","SecurityToken":"t","Expiration":"2023-12-29T07:58:22Z"}"#,
            #"{"StatusCode":200,"AccessKeyId":"ak","AccessKeySecret":"sk","SecurityToken":"t","#
                + #""Expiration":"2023-12-29T07:58:22.000Z"}"#,
            #"{"StatusCode":"200","AccessKeyId":"ak","AccessKeySecret":"sk","SecurityToken":"t","#
                + #""Expiration":"1703836702"}"#,
            #"{"RequestId":"r","AssumedRoleUser":{"Arn":"a"},"Credentials":{"AccessKeyId":"ak","#
                + #""AccessKeySecret":"sk","SecurityToken":"t","Expiration":"2023-12-29T07:58:22Z"}}"#,
            #"{"Code":"Success","LastUpdated":"2023-12-29T01:58:22Z","AccessKeyId":"ak","AccessKeySecret":"sk","#
                + #""SecurityToken":"t","Expiration":"2023-12-29T07:58:22Z"}"#,
            #"{"code":0,"data":{"access_key_id":"ak","access_key_secret":"sk","security_token":"t","#
                + #""expiration":1703836702000}}"#,
            #"{"result":{"sts":{"credentials":{"accessKeyId":"ak","accessKeySecret":"sk","stsToken":"t","#
                + #""expireTime":1703836702}}}}"#,
            #"{"ACCESSKEYID":"ak","secret-access-key":"sk","SessionToken":"t","expiration":1.703836702e9}"#,
        ])
    func `credentials are parsed from all known JSON shapes`(_ json: String) throws {
        let credentials = try StoreCredentials(json: json.utf8)
        #expect(
            credentials
                == StoreCredentials(
                    accessKeyID: "ak", accessKeySecret: .secret("sk"), securityToken: .secret("t"),
                    expiration: Date(timeIntervalSince1970: Self.end)))
    }

    @Test(
        arguments: [
            ("", "credentialsMalformed"), ("<html>", "credentialsMalformed"), ("[]", "credentialsMalformed"),
            ("{}", "credentialsMalformed"), (#"{"AccessKeyId":"ak"}"#, "credentialsMalformed"),
            (#"{"AccessKeyId":"","AccessKeySecret":"sk"}"#, "credentialsUnavailable"),
            (#"{"AccessKeyId":"ak","AccessKeySecret":"s\nk"}"#, "credentialsMalformed"),
            (#"{"AccessKeyId":"ak","AccessKeySecret":"sk","Expiration":"soon"}"#, "credentialsMalformed"),
            (#"{"AccessKeyId":"ak","AccessKeySecret":"sk","Expiration":{}}"#, "credentialsMalformed"),
            (
                #"{"AccessKeyId":"ak","AccessKeySecret":"sk","Expiration":"0001-01-01T00:00:00Z"}"#,
                "credentialsMalformed"
            ),
            (#"{"AccessKeyId":"ak","AccessKeySecret":"sk","Expiration":1e300}"#, "credentialsMalformed"),
            (#"{"AccessKeyId":"ak","AccessKeySecret":"sk","Expiration":9}"#, "credentialsMalformed"),
            (#"{"StatusCode":500,"ErrorCode":"E","ErrorMessage":"no role"}"#, "credentialsUnavailable"),
            (#"{"Code":"Failed","AccessKeyId":"ak","AccessKeySecret":"sk"}"#, "credentialsUnavailable"),
            (#"{"code":401,"message":"sign in"}"#, "credentialsUnavailable"),
            (String(repeating: "[", count: 2_000), "credentialsMalformed"),
            (String(repeating: " ", count: 70_000) + "{}", "credentialsMalformed"),
        ])
    func `invalid credentials are refused and not quoted`(_ json: String, _ code: String) {
        let error = #expect(throws: StoreError.self) { try StoreCredentials(json: json.utf8) }
        #expect(error?.code.description == code)
        #expect(error.map { !"\($0)".contains("sk") && !"\($0)".contains("\"ak\"") } == true)
    }

    @Test func `a missing or null expiration is nil`() throws {
        for tail in ["", #","Expiration":null"#] {
            let json = "{\"AccessKeyId\":\"ak\",\"AccessKeySecret\":\"sk\"\(tail)}"
            #expect(try StoreCredentials(json: json.utf8).expiration == nil)
        }
    }

    @Test func `the environment is read by the names of Amazon's tools`() async throws {
        let values = Watched(["AWS_ACCESS_KEY_ID": "ak", "AWS_SECRET_ACCESS_KEY": "sk"])
        let pace = CredentialPace(minimumInterval: .zero)
        let provider = CredentialProvider.aws([.environment], pace: pace) { values.value[$0] }
        let first = try await provider.credentials(at: Self.now, rejecting: nil)
        #expect(first == StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))
        values.update { $0["AWS_SESSION_TOKEN"] = "t" }
        let second = try await provider.credentials(at: Self.now, rejecting: first)
        #expect(second.securityToken == .secret("t"))
        let rejected = try await storeError { try await provider.credentials(at: Self.now, rejecting: second) }
        #expect(rejected.code == .credentialsRejected)
        values.update { $0["AWS_ACCESS_KEY_ID"] = nil }
        let missing = try await storeError { try await provider.credentials(at: Self.now, rejecting: second) }
        #expect(missing.message.contains("AWS_ACCESS_KEY_ID"))
    }

    @Test func `the environment is read on each call`() async throws {
        let values = Observed(["OSS_ACCESS_KEY_ID": "a", "OSS_ACCESS_KEY_SECRET": "b"])
        let provider = CredentialProvider.environment { values.value[$0] }
        let fixed = try await provider.credentials(at: Self.now, rejecting: nil)
        #expect(fixed == StoreCredentials(accessKeyID: "a", accessKeySecret: .secret("b")))
        values.update { $0["OSS_SESSION_TOKEN"] = "c" }
        #expect(try await provider.credentials(at: Self.now, rejecting: fixed).securityToken == .secret("c"))
        values.update { $0["OSS_SESSION_TOKEN"] = "" }
        let refused = await #expect(throws: StoreError.self) {
            try await provider.credentials(at: Self.now, rejecting: fixed)
        }
        #expect(refused?.code == .credentialsRejected)
        values.update { $0["OSS_ACCESS_KEY_SECRET"] = nil }
        let missing = await #expect(throws: StoreError.self) {
            try await provider.credentials(at: Self.now, rejecting: nil)
        }
        #expect(missing?.code == .credentialsUnavailable)
        #expect(missing?.message.contains("OSS_ACCESS_KEY_SECRET") == true)
    }

    @Test func `fixed credentials are returned until they expire or are rejected`() async throws {
        let credentials = StoreCredentials(
            accessKeyID: "a", accessKeySecret: .secret("b"), securityToken: .secret("t"),
            expiration: Self.now.addingTimeInterval(1))
        let provider = CredentialProvider.fixed(credentials)
        #expect(try await provider.credentials(at: Self.now, rejecting: nil) == credentials)
        let refused = await #expect(throws: StoreError.self) {
            try await provider.credentials(at: Self.now, rejecting: credentials)
        }
        #expect(refused?.code == .credentialsRejected)
        let late = await #expect(throws: StoreError.self) {
            try await provider.credentials(at: Self.now.addingTimeInterval(1), rejecting: nil)
        }
        #expect(late?.code == .credentialsExpired)
    }

    @Test func `credentials are read from the output of a command`() async throws {
        let json = #"{"AccessKeyId":"ak","AccessKeySecret":"sk"}"#
        let provider: CredentialProvider = .process(["/bin/echo", json])
        let credentials = try await provider.credentials(at: Self.now, rejecting: nil)
        #expect(credentials == StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))
    }

    @Test func `a credential command starts with no signal blocked`() async throws {
        let script = #"""
            printf '{"AccessKeyId":"%s","AccessKeySecret":"sk"}' $(sed -n 's/^SigBlk:.//p' /proc/self/status)
            """#
        let provider: CredentialProvider = .process(["/bin/sh", "-c", script])
        let credentials = try await provider.credentials(at: Self.now, rejecting: nil)
        #expect(credentials.accessKeyID == "0000000000000000")
    }

    @Test(
        arguments: [
            ["echo", "{}"], ["/nowhere/at/all"], ["/bin/false"], ["/bin/sh", "-c", "kill -9 $$"], [],
            ["/bin/sh", "-c", "head -c 70000 /dev/zero"],
        ])
    func `a failing command is an error`(_ arguments: [String]) async {
        let process = CredentialProcess(arguments: arguments, limit: .seconds(20))
        let error = await #expect(throws: StoreError.self) { try await process.run() }
        #expect(error?.code == .credentialsUnavailable)
    }

    @Test func `a command with invalid output is an error that does not quote it`() async {
        let process = CredentialProcess(arguments: ["/bin/echo", "secret hunter2"], limit: .seconds(20))
        let error = await #expect(throws: StoreError.self) { try await process.run() }
        #expect(error?.code == .credentialsMalformed)
        #expect(error.map { !"\($0)".contains("hunter2") } == true)
    }

    @Test func `a hanging command and its children are killed`() async throws {
        let folder = try TemporaryDirectory()
        let script = "sleep 600 & echo $! > \(folder.path("started")); sleep 600"
        // Generous, so that the process id is written before the limit on a busy machine, too.
        let process = CredentialProcess(arguments: ["/bin/sh", "-c", script], limit: .seconds(3))
        let error = await #expect(throws: StoreError.self) { try await process.run() }
        #expect(error?.code == .credentialsTimedOut)
        let text = try String(decoding: Data(contentsOf: URL(filePath: folder.path("started"))), as: UTF8.self)
        let number = try #require(Int32(text.split(separator: "\n").first ?? ""))
        // It is not a child of this process, so its exit can't be awaited; the time limit of the suite applies if it
        // never exits.
        while Self.isAlive(number) { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Whether a process exists and is not a zombie waiting for its new parent.
    private static func isAlive(_ number: Int32) -> Bool {
        let state = try? String(decoding: Data(contentsOf: URL(filePath: "/proc/\(number)/stat")), as: UTF8.self)
        return state.map { !$0.contains(") Z ") } ?? false
    }

    @Test func `a background process that keeps the output open does not delay the result`() async throws {
        let json = #"{\"AccessKeyId\":\"ak\",\"AccessKeySecret\":\"sk\"}"#
        let process = CredentialProcess(
            arguments: ["/bin/sh", "-c", "sleep 30 & echo \"\(json)\""], limit: .seconds(20))
        #expect(try await process.run().accessKeyID == "ak")
    }
}
