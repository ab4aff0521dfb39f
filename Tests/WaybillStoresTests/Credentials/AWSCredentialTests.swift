import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `Credentials of Amazon's tools` {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let json =
        #"{"Code":"Success","AccessKeyId":"ASIA","SecretAccessKey":"HIDDENKEY","Token":"HIDDENTOKEN","#
        + #""Expiration":"2023-12-29T07:58:22Z"}"#
    private static let found = StoreCredentials(
        accessKeyID: "ASIA", accessKeySecret: .secret("HIDDENKEY"), securityToken: .secret("HIDDENTOKEN"),
        expiration: Date(timeIntervalSince1970: 1_703_836_702))

    private let folder = Result { try TemporaryDirectory() }

    /// The variables that switch every source off, with changes.
    private func variables(_ changes: [String: String]) throws -> [String: String] {
        let off = [
            "AWS_CONFIG_FILE": try folder.get().path("config"), "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_SHARED_CREDENTIALS_FILE": try folder.get().path("credentials"),
        ]
        return off.merging(changes) { $1 }
    }

    private func provider(
        _ changes: [String: String] = [:], from sources: [AWSCredentialSource] = AWSCredentialSource.allCases,
        profile: String? = nil
    ) throws -> CredentialProvider {
        let variables = try variables(changes)
        return .aws(sources, profile: profile, through: UploadSession()) { variables[$0] }
    }

    private func credentials(
        _ changes: [String: String] = [:], from sources: [AWSCredentialSource] = AWSCredentialSource.allCases,
        profile: String? = nil
    ) async throws -> StoreCredentials {
        try await provider(changes, from: sources, profile: profile).credentials(at: Self.now, rejecting: nil)
    }

    /// Returns the error of a search, which contains no secret.
    private func failure(
        _ changes: [String: String] = [:], from sources: [AWSCredentialSource] = AWSCredentialSource.allCases,
        profile: String? = nil
    ) async throws -> StoreError {
        let error = try await storeError { try await credentials(changes, from: sources, profile: profile) }
        for text in ["\(error)", "\(String(reflecting: error))", error.cause.map { "\(String(reflecting: $0))" } ?? ""]
        {
            #expect(!text.contains("HIDDEN"), "\(text)")
        }
        return error
    }

    private func write(config: String = "", credentials: String = "") throws {
        try folder.get().write("config", Array(config.utf8))
        try folder.get().write("credentials", Array(credentials.utf8))
    }

    private static func keys(_ id: String, _ secret: String = "HIDDENKEY") -> StoreCredentials {
        StoreCredentials(accessKeyID: id, accessKeySecret: .secret(secret))
    }

    // MARK: Chain

    @Test func `a search without a source names each one and its reason`() async throws {
        let error = try await failure()
        #expect(error.code == .credentialsUnavailable)
        for reason in [
            "AWS_ACCESS_KEY_ID is not set", "AWS_WEB_IDENTITY_TOKEN_FILE is not set", "The profile default is not in",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI is not set", "AWS_EC2_METADATA_DISABLED is true",
        ] { #expect(error.message.contains(reason), "\(error)") }
    }

    @Test func `the environment precedes the profile`() async throws {
        try write(credentials: "[default]\naws_access_key_id = file\naws_secret_access_key = HIDDENKEY")
        #expect(try await credentials() == Self.keys("file"))
        let variables = ["AWS_ACCESS_KEY_ID": "environment", "AWS_SECRET_ACCESS_KEY": "HIDDENKEY"]
        #expect(try await credentials(variables) == Self.keys("environment"))
        #expect(try await credentials(variables, from: [.profile]) == Self.keys("file"))
    }

    @Test func `a profile that is specified precedes the environment`() async throws {
        try write(credentials: "[backup]\naws_access_key_id = file\naws_secret_access_key = HIDDENKEY")
        var variables = ["AWS_ACCESS_KEY_ID": "environment", "AWS_SECRET_ACCESS_KEY": "HIDDENKEY"]
        #expect(try await credentials(variables, profile: "backup") == Self.keys("file"))
        variables["AWS_PROFILE"] = "backup"
        #expect(try await credentials(variables) == Self.keys("environment"))
        let role = ["AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere", "AWS_ROLE_ARN": "arn"]
        #expect(try await credentials(role, profile: "backup") == Self.keys("file"))
    }

    @Test func `a source that is set up but fails ends the search`() async throws {
        try write(credentials: "[default]\naws_access_key_id = file\naws_secret_access_key = HIDDENKEY")
        let half = try await failure(["AWS_ACCESS_KEY_ID": "HIDDENID"])
        #expect(half.message.contains("AWS_SECRET_ACCESS_KEY is not set"))
        let role = try await failure(["AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere"])
        #expect(role.message.contains("AWS_ROLE_ARN is not set"))
        #expect(role.message.contains("Source environment: AWS_ACCESS_KEY_ID is not set."))
    }

    @Test func `concurrent requests share one search`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: Self.json))
        let provider = try provider(["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url("/creds")])
        try await withThrowingTaskGroup(of: StoreCredentials.self) { group in
            for _ in 0..<20 { group.addTask { try await provider.credentials(at: Self.now, rejecting: nil) } }
            for try await credentials in group { #expect(credentials == Self.found) }
        }
        #expect(server.requests.count == 1)
    }

    @Test func `a request for credentials does not wait for the upload that needs them`() async throws {
        let body = Self.json.split(separator: "2023-12-29").joined(separator: "2199-12-29")
        let server = try LoopbackServer(otherwise: .respond(200, body: body))
        let url = server.url("/creds")
        var settings = S3Fixture.settings
        settings.accounts = [OSSAccount("ASIA", "HIDDENKEY", token: "HIDDENTOKEN")]
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = 1
        let session = UploadSession(configuration: configuration)
        let variables = try variables(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url])
        for provider in [
            CredentialProvider.aws(through: session) { variables[$0] }, .tokenServer(url, through: session),
        ] {
            let fixture = try S3Fixture(.aws, settings)
            let client = try S3Client(
                configuration: fixture.client.configuration, credentials: provider, session: session)
            try await client.put(.data([1]), to: "k")
            #expect(fixture.store.object("k")?.content.size == 1)
        }
    }

    // MARK: Profile

    @Test func `the credentials file takes precedence over the config file`() async throws {
        try write(
            config: "[profile x]\naws_access_key_id = a\naws_secret_access_key = HIDDENKEY\naws_session_token = HIDDEN",
            credentials: "[x]\naws_access_key_id = b # comment")
        var expected = Self.keys("b")
        expected.securityToken = .secret("HIDDEN")
        #expect(try await credentials(profile: "x") == expected)
        #expect(try await credentials(["AWS_PROFILE": "x"]) == expected)
    }

    @Test func `the files are located in the home directory`() async throws {
        let home = try folder.get()
        try FileManager.default.createDirectory(atPath: home.path(".aws"), withIntermediateDirectories: false)
        try home.write(".aws/credentials", Array("[default]\naws_access_key_id=a\naws_secret_access_key=b".utf8))
        let provider = CredentialProvider.aws([.profile], through: UploadSession()) { $0 == "HOME" ? home.path : nil }
        #expect(try await provider.credentials(at: Self.now, rejecting: nil) == Self.keys("a", "b"))
    }

    @Test func `keys that a file gets later are found when the store rejects the old ones`() async throws {
        try write(credentials: "[default]\naws_access_key_id = a\naws_secret_access_key = HIDDENKEY")
        let variables = try variables([:])
        let provider = CredentialProvider.aws(
            through: UploadSession(), pace: CredentialPace(minimumInterval: .zero)
        ) { variables[$0] }
        let first = try await provider.credentials(at: Self.now, rejecting: nil)
        try write(credentials: "[default]\naws_access_key_id = b\naws_secret_access_key = HIDDENKEY")
        #expect(try await provider.credentials(at: Self.now, rejecting: nil) == first)
        #expect(try await provider.credentials(at: Self.now, rejecting: first) == Self.keys("b"))
    }

    @Test func `the output of a credential_process is used`() async throws {
        let path = try folder.get().write("out put.json", Array(Self.json.utf8))
        try write(config: "[profile p]\ncredential_process = cat \"\(path)\"")
        #expect(try await credentials(profile: "p") == Self.found)
        try write(config: "[profile p]\ncredential_process = exit 3")
        #expect(try await failure(profile: "p").message.contains("exited with status 3"))
    }

    @Test(
        arguments: [
            ("sso_session = corp\nsso_account_id = 1", "sso_account_id"), ("login_session = arn", "login_session"),
            ("role_arn = r\nsource_profile = y\naws_access_key_id = a\naws_secret_access_key = b", "role_arn"),
            ("role_arn = r\ncredential_source = Environment\ncredential_process = true", "role_arn"),
        ])
    func `a profile that needs a login says what to do`(_ settings: String, _ name: String) async throws {
        try write(config: "[profile x]\n\(settings)")
        let error = try await failure(profile: "x")
        #expect(error.code == .credentialsUnavailable)
        #expect(error.message.contains("needs \(name)") && error.message.contains("export-credentials"), "\(error)")
    }

    @Test func `a missing profile is an error only if it is named`() async throws {
        try write(config: "[default]\nregion = eu-west-1")
        #expect(try await failure().message.contains("The profile has no credentials."))
        #expect(try await failure(["AWS_PROFILE": "no"]).message.contains("failed. The profile no is not in"))
        #expect(try await failure(profile: "no").message.contains("Check its name"))
    }

    @Test func `files that are too large, devices and half a key pair are refused`() async throws {
        try write(config: "[default]\naws_access_key_id = HIDDENID")
        #expect(try await failure().message.contains("aws_secret_access_key is not set"))
        try write(config: String(repeating: "#", count: (1 << 20) + 1))
        #expect(try await failure().message.contains("more than 1 MiB"))
        #expect(try await failure(["AWS_CONFIG_FILE": "/dev/zero"]).message.contains("source profile failed"))
        #expect(try await failure(["AWS_CONFIG_FILE": "/dev/null"]).message.contains("No source"))
    }

    // MARK: Web identity

    private static let assumed = """
        <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleWithWebIdentityResult><Audience>sts.amazonaws.com</Audience>
            <AssumedRoleUser><Arn>a</Arn><AssumedRoleId>i</AssumedRoleId></AssumedRoleUser>
            <Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>HIDDENKEY</SecretAccessKey>
              <SessionToken>HIDDENTOKEN</SessionToken><Expiration>2023-12-29T07:58:22Z</Expiration></Credentials>
          </AssumeRoleWithWebIdentityResult>
        </AssumeRoleWithWebIdentityResponse>
        """

    private func identity(_ server: LoopbackServer, _ changes: [String: String] = [:]) throws -> [String: String] {
        let path = try folder.get().write("token", Array("HIDDEN.JWT+/=\n".utf8))
        let all = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": path, "AWS_ROLE_ARN": "arn:aws:iam::1:role/up", "AWS_REGION": "eu-west-1",
            "AWS_ENDPOINT_URL_STS": server.url(),
        ]
        return all.merging(changes) { $1 }
    }

    @Test func `a web identity is exchanged for a role without a signature`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: Self.assumed))
        #expect(try await credentials(identity(server, ["AWS_ROLE_SESSION_NAME": "job 7"])) == Self.found)
        let request = try await server.request(0)
        #expect(request.method == "POST" && request.value(of: "Authorization") == nil)
        #expect(request.value(of: "Content-Type") == "application/x-www-form-urlencoded")
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fup"
                + "&RoleSessionName=job%207&WebIdentityToken=HIDDEN.JWT%2B%2F%3D")
    }

    @Test func `a profile exchanges a web identity, too, in its region`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: Self.assumed))
        let token = try folder.get().write("token", Array("HIDDENJWT".utf8))
        let settings = "role_arn = r\nweb_identity_token_file = \(token)\nrole_session_name = s"
        try write(config: "[default]\nregion = eu-west-1\n\(settings)")
        #expect(try await credentials(["AWS_ENDPOINT_URL_STS": server.url()]) == Self.found)
        try write(config: "[default]\n\(settings)")
        #expect(try await failure(["AWS_ENDPOINT_URL_STS": server.url()]).message.contains("Set AWS_REGION"))
    }

    @Test func `a rejected web identity reports the error of AWS STS`() async throws {
        let server = try LoopbackServer(
            otherwise: .respond(
                400,
                body: "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code>"
                    + "<Message>Token expired</Message></Error><RequestId>1</RequestId></ErrorResponse>"))
        let error = try await failure(identity(server))
        #expect(error.status == 400 && error.code == .credentialsUnavailable)
        for text in ["AWS STS", "ExpiredTokenException", "Token expired", "Check the trust policy"] {
            #expect(error.message.contains(text), "\(error)")
        }
    }

    @Test func `a response of AWS STS that ends anywhere is refused`() throws {
        let bytes = Array(Self.assumed.utf8)
        #expect(try StoreCredentials(assumedRole: bytes) == Self.found)
        for count in bytes.indices {
            let error = #expect(throws: StoreError.self) { try StoreCredentials(assumedRole: Array(bytes[..<count])) }
            #expect(error?.code == .credentialsMalformed)
        }
    }

    @Test func `a token is not sent to an unencrypted remote host, nor a region put into a host name`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: Self.assumed))
        for url in [
            "http://sts.example.com/", "http://127.0.0.1.example.com/", "http://127.0.0.1@example.com/", "/sts",
        ] {
            let error = try await failure(identity(server, ["AWS_ENDPOINT_URL_STS": url]))
            #expect([.encryptionRequired, .invalidEndpoint].contains(error.code), "\(url): \(error)")
        }
        let region = try await failure(identity(server, ["AWS_REGION": "x@example.com/"]))
        #expect(region.code == .invalidRegion)
        let missing = try await failure(identity(server, ["AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere"]))
        #expect(missing.message.contains("/nowhere"))
        #expect(server.requests.isEmpty)
    }

    // MARK: Container

    @Test func `the container endpoint is requested with the token`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: Self.json))
        let url = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url("/v1/creds?id=1")]
        #expect(try await credentials(url) == Self.found)
        let token = ["AWS_CONTAINER_AUTHORIZATION_TOKEN": "HIDDENVARIABLE"]
        #expect(try await credentials(url.merging(token) { $1 }) == Self.found)
        let target = try folder.get().write("token", Array("HIDDENFILE\n".utf8))
        let link = try folder.get().path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let file = token.merging(["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": link]) { $1 }
        #expect(try await credentials(url.merging(file) { $1 }) == Self.found)
        #expect(server.requests.map(\.target) == Array(repeating: "/v1/creds?id=1", count: 3))
        #expect(server.requests.map { $0.value(of: "Authorization") } == [nil, "HIDDENVARIABLE", "HIDDENFILE"])
        try folder.get().write("token", Array("HIDDEN\nHIDDEN".utf8))
        #expect(try await failure(url.merging(file) { $1 }).message.contains("a single line"))
    }

    @Test func `a relative URI precedes a full one and stays at its host`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: Self.json))
        var variables = try variables([
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/creds", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://x/",
        ])
        func finder() -> AWSCredentialFinder {
            let environment = EnvironmentCredentials(.aws) { [variables] in variables[$0] }
            var finder = AWSCredentialFinder(
                session: UploadSession(), profile: nil, limit: .seconds(20), environment: environment)
            #expect(finder.containerEndpoint == "http://169.254.170.2")
            finder.containerEndpoint = "http://127.0.0.1:\(server.port)"
            return finder
        }
        #expect(try await finder().credentials(from: [.container]) == Self.found)
        #expect(server.requests.map(\.target) == ["/v2/creds"])
        for uri in [".example.com/", "@example.com/", "0.example.com"] {
            variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = uri
            _ = try await storeError { try await finder().credentials(from: [.container]) }
        }
        #expect(server.requests.count == 1)
    }

    @Test(arguments: ["http://example.com/", "http://169.254.170.3/", "http://10.0.0.1/", "http://[::2]/", "creds", ""])
    func `a container endpoint elsewhere must be encrypted`(_ url: String) async throws {
        let error = try await failure(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url], from: [.container])
        #expect(
            [.encryptionRequired, .invalidEndpoint].contains(error.code)
                || url.isEmpty && error.message.contains("not set")
        )
    }

    @Test func `responses of a container endpoint that are not credentials are refused`() async throws {
        let large = String(repeating: " ", count: 70_000)
        for (status, body) in [(200, "HIDDEN"), (200, "{}"), (200, large), (403, "HIDDEN"), (302, ""), (204, "")] {
            let server = try LoopbackServer(otherwise: .respond(status, headers: [("Location", "/")], body: body))
            let error = try await failure(["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url()])
            #expect([.credentialsUnavailable, .credentialsMalformed].contains(error.code), "\(status): \(error)")
            #expect(error.message.contains("source container failed"))
            #expect(server.requests.count == 1)
        }
    }

    // MARK: Instance

    private func instance(_ server: LoopbackServer) -> [String: String] {
        ["AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url()]
    }

    private static let roles = "/latest/meta-data/iam/security-credentials/"

    @Test func `the instance endpoint is requested with a session token`() async throws {
        let server = try LoopbackServer(otherwise: .respond(404))
        server.route("/latest/api/token", .respond(200, body: "HIDDENSESSION"))
        server.route(Self.roles, .respond(200, body: "up load\n"))
        server.route("\(Self.roles)up%20load", .respond(200, body: Self.json))
        #expect(try await credentials(instance(server)) == Self.found)
        let requests = server.requests
        #expect(requests.map(\.method) == ["PUT", "GET", "GET"])
        #expect(requests[0].value(of: "x-aws-ec2-metadata-token-ttl-seconds") == "21600")
        #expect(requests.dropFirst().allSatisfy { $0.value(of: "x-aws-ec2-metadata-token") == "HIDDENSESSION" })
    }

    @Test func `an instance without a role, or that refuses a session, is an error with a remedy`() async throws {
        let server = try LoopbackServer(otherwise: .respond(404))
        server.route("/latest/api/token", .respond(200, body: "HIDDENSESSION"))
        #expect(try await failure(instance(server)).message.contains("Attach a role to the instance"))
        server.route("/latest/api/token", .respond(403))
        #expect(try await failure(instance(server)).status == 403)
        server.route("/latest/api/token", .respond(200, body: "HIDDEN\nSESSION"))
        #expect(try await failure(instance(server)).message.contains("a single line"))
    }

    @Test func `an instance endpoint that is not reachable counts as absent`() async throws {
        let server = try LoopbackServer()
        let variables = instance(server)
        server.stop()
        let error = try await failure(variables)
        #expect(
            error.message.contains("No source has AWS credentials") && error.message.contains("hop limit"), "\(error)")
    }
}
