import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// Finds credentials in the sources that Amazon's tools share.
struct AWSCredentialFinder: Sendable {
    /// The result of asking a source; an absent one is not set up, for a reason.
    private enum Finding { case credentials(StoreCredentials), absent(String) }

    let session: UploadSession
    let profile: String?
    /// The time limit of a command.
    let limit: Duration
    let environment: EnvironmentCredentials
    /// The endpoint of `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`.
    var containerEndpoint = "http://169.254.170.2"

    /// Returns the credentials of the first source that is set up.
    func credentials(from sources: [AWSCredentialSource]) async throws(StoreError) -> StoreCredentials {
        var absent = ""
        for source in sources {
            do throws(StoreError) {
                switch try await find(in: source) {
                case .credentials(let credentials): return credentials
                case .absent(let reason): absent += " Source \(source.rawValue): \(reason)"
                }
            } catch {
                var failure = error
                failure.message = "The credential source \(source.rawValue) failed. \(error.message)"
                if !absent.isEmpty { failure.message += " The sources before it have no credentials.\(absent)" }
                throw failure
            }
        }
        throw unavailable("No source has AWS credentials. Set one of them up.\(absent)")
    }

    private func find(in source: AWSCredentialSource) async throws(StoreError) -> Finding {
        switch source {
        case .environment where profile != nil, .webIdentity where profile != nil:
            return .absent("A profile is specified.")
        case .environment:
            guard value("AWS_ACCESS_KEY_ID") != nil || value("AWS_SECRET_ACCESS_KEY") != nil else {
                return .absent("AWS_ACCESS_KEY_ID is not set.")
            }
            return .credentials(try environment.credentials(rejecting: nil))
        case .webIdentity:
            guard let file = value("AWS_WEB_IDENTITY_TOKEN_FILE") else {
                return .absent("AWS_WEB_IDENTITY_TOKEN_FILE is not set.")
            }
            guard let role = value("AWS_ROLE_ARN") else { throw unavailable("AWS_ROLE_ARN is not set. Set it, too.") }
            return .credentials(try await assume(role, tokenFile: file, session: value("AWS_ROLE_SESSION_NAME")))
        case .profile: return try await findInProfile()
        case .container: return try await findInContainer()
        case .instance: return try await findInInstance()
        }
    }

    private func findInProfile() async throws(StoreError) -> Finding {
        let named = profile ?? value("AWS_PROFILE")
        guard let settings = try await settings() else {
            let paths = AWSProfileParser.Format.allCases.compactMap(path).joined(separator: " or ")
            let reason = "The profile \(named ?? "default") is not in \(paths)."
            guard named == nil else { throw unavailable("\(StoreError.shown(reason)) Check its name, or add it.") }
            return .absent(StoreError.shown(reason))
        }
        let role = settings["role_arn"]
        if let role, let file = settings["web_identity_token_file"] {
            return .credentials(try await assume(role, tokenFile: file, session: settings["role_session_name"]))
        }
        if role == nil, settings["aws_access_key_id"] != nil || settings["aws_secret_access_key"] != nil {
            let keys = EnvironmentCredentials(.awsProfile) { settings[$0] }
            return .credentials(try keys.credentials(rejecting: nil))
        }
        if role == nil, let command = settings["credential_process"] {
            return .credentials(try await CredentialProcess(arguments: ["/bin/sh", "-c", command], limit: limit).run())
        }
        let logins = settings.keys.filter { $0 == "role_arn" || $0 == "login_session" || $0.hasPrefix("sso_") }
        guard let login = logins.sorted().first else { return .absent("The profile has no credentials.") }
        throw unavailable(
            "The profile needs \(login), which is not supported. Let the aws command obtain the credentials: select a "
                + "profile with credential_process = aws configure export-credentials --profile NAME.")
    }

    /// Returns the settings of the profile; `nil` if no file has it. The credentials file takes precedence.
    private func settings() async throws(StoreError) -> [String: String]? {
        var result: [String: String]?
        for format in AWSProfileParser.Format.allCases {
            guard let path = path(of: format), path != "/dev/null", let file = try await bytes(of: path) else {
                continue
            }
            let profiles = try AWSProfileParser.profiles(in: file, format, path: path)
            let found = profiles[profile ?? value("AWS_PROFILE") ?? "default"]
            result = found.map { (result ?? [:]).merging($0) { $1 } } ?? result
        }
        return result
    }

    private func path(of format: AWSProfileParser.Format) -> String? {
        let path = value(format == .config ? "AWS_CONFIG_FILE" : "AWS_SHARED_CREDENTIALS_FILE") ?? "~/.aws/\(format)"
        return path.hasPrefix("~/") ? value("HOME").map { $0 + path.dropFirst() } : path
    }

    /// Exchanges the token of another identity provider for credentials of a role.
    private func assume(
        _ role: String, tokenFile: String, session name: String?
    ) async throws(StoreError) -> StoreCredentials {
        var region = value("AWS_REGION") ?? value("AWS_DEFAULT_REGION")
        if region == nil { region = try await settings()?["region"] }
        guard let region else { throw unavailable("The region of AWS STS is unknown. Set AWS_REGION.") }
        try S3Name.checkRegion(region)
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        let url = value("AWS_ENDPOINT_URL_STS") ?? "https://sts.\(region).\(domain)/"
        let form = StoreQueryItem.text(of: [
            StoreQueryItem("Action", "AssumeRoleWithWebIdentity"), StoreQueryItem("Version", "2011-06-15"),
            StoreQueryItem("RoleArn", role), StoreQueryItem("RoleSessionName", name ?? "waybill"),
            StoreQueryItem("WebIdentityToken", try await token(inFile: tokenFile)),
        ])
        let body = DataBody(Array(form.utf8), contentType: "application/x-www-form-urlencoded")
        let request = UploadRequest(.post, url, content: .body(body))
        let remedy = "Check the trust policy of the role, and whether the token has expired."
        return try StoreCredentials(assumedRole: try await send(request, "AWS STS", remedy))
    }

    private func findInContainer() async throws(StoreError) -> Finding {
        let relative = value("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map { containerEndpoint + $0 }
        guard let url = relative ?? value("AWS_CONTAINER_CREDENTIALS_FULL_URI") else {
            return .absent("AWS_CONTAINER_CREDENTIALS_FULL_URI is not set.")
        }
        var request = UploadRequest(.get, url)
        request.headers[.authorization] = value("AWS_CONTAINER_AUTHORIZATION_TOKEN")
        if let file = value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
            request.headers[.authorization] = try await token(inFile: file)
        }
        let remedy = "Check whether a role is assigned to the container."
        return .credentials(try StoreCredentials(json: await send(request, "the container endpoint", remedy)))
    }

    private func findInInstance() async throws(StoreError) -> Finding {
        if value("AWS_EC2_METADATA_DISABLED")?.lowercased() == "true" {
            return .absent("AWS_EC2_METADATA_DISABLED is true.")
        }
        let name = "the instance endpoint"
        var base = value("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? "http://169.254.169.254"
        while base.hasSuffix("/") { base.removeLast() }
        var request = UploadRequest(.put, "\(base)/latest/api/token")
        request.headers[HTTPField.Name("x-aws-ec2-metadata-token-ttl-seconds")!] = "21600"
        let hint = "In a container, the hop limit of the instance must be at least 2."
        let token = await Result { [request] () async throws(StoreError) in try await send(request, name, hint) }
        if case .failure(let error) = token, error.cause is UploadError, error.status == nil {
            return .absent(error.message)
        }
        request = UploadRequest(.get, "\(base)/latest/meta-data/iam/security-credentials/")
        let field = HTTPField.Name("x-aws-ec2-metadata-token")!
        request.headers[field] = try line(in: String(decoding: try token.get(), as: UTF8.self), of: name)
        let remedy = "Attach a role to the instance."
        // The first response is the name of the role, which completes the path.
        let role = String(decoding: try await send(request, name, remedy), as: UTF8.self)
        request.url += PercentEncoding.path(try line(in: role, of: name))
        return .credentials(try StoreCredentials(json: await send(request, name, remedy)))
    }

    /// Sends a request without the defaults of the session and without a proxy, and returns the body of the response.
    private func send(_ request: UploadRequest, _ name: String, _ remedy: String) async throws(StoreError) -> [UInt8] {
        try StoreAddress.checkCredentialEndpoint(request.url)
        var transfer = TransferOptions()
        transfer.limits.connect = .seconds(2)
        transfer.limits.total = .seconds(10)
        transfer.limits.responseBody = .kibibytes(64)
        var options = UploadOptions.signed(transfer, RetryPolicy(maxRetries: 1, baseDelay: .milliseconds(200)))
        options.accepts = .only([200])
        options.secretFields = Set(request.headers.map(\.name))
        var request = request
        request.options = options
        do {
            return try await session.sibling.send(request).body
        } catch {
            let reply = error.response.map { StoreErrorResponse($0) }
            let details = [reply?.code, reply?.message].compactMap { $0.map { "\(StoreError.shown($0).sentence) " } }
            var failure = StoreError(error)
            failure.code = .credentialsUnavailable
            failure.message =
                "Requesting credentials from \(name) failed. \(error.message) \(details.joined())\(remedy)"
            throw failure
        }
    }

    private func value(_ name: String) -> String? { environment.lookUp(name).flatMap { $0.isEmpty ? nil : $0 } }

    private func token(inFile path: String) async throws(StoreError) -> String {
        try line(in: String(decoding: try await bytes(of: path) ?? [], as: UTF8.self), of: path)
    }

    /// Returns a single line, because a line break in a token would start another header field.
    private func line(in text: String, of source: String) throws(StoreError) -> String {
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.count == 1, lines[0].utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw unavailable("Expected a single line of ASCII from \(StoreError.shown(source)). Check its content.")
        }
        return String(lines[0])
    }

    /// Returns the content of a file of at most 1 MiB; `nil` if it does not exist.
    private func bytes(of path: String) async throws(StoreError) -> [UInt8]? {
        do throws(StoreError) {
            let file = try await QiniuPayload(.file(path: path))
            guard file.size <= 1 << 20 else { throw unavailable("\(StoreError.shown(path)) has more than 1 MiB.") }
            var bytes: [UInt8] = []
            try await file.read(0..<file.size) { bytes += $0 }
            return bytes
        } catch  where error.code == .fileNotFound {
            return nil
        }
    }

    private func unavailable(_ message: String) -> StoreError { StoreError(.credentialsUnavailable, message) }
}

extension StoreAddress {
    /// Throws unless a URL is encrypted, or is one of the local addresses that Amazon's tools accept without TLS.
    fileprivate static func checkCredentialEndpoint(_ url: String) throws(StoreError) {
        let origin = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
        let address = try StoreAddress(origin.joined(separator: "/"), like: "http://169.254.170.23")
        let local = "localhost [::1] 169.254.170.2 169.254.170.23 [fd00:ec2::23] 169.254.169.254 [fd00:ec2::254]"
        let isLoopback = address.isNumeric && address.name.hasPrefix("127.")
        let isLocal = isLoopback || local.split(separator: " ").contains { $0 == address.name }
        guard url.contains("://"), address.isEncrypted || isLocal else {
            throw StoreError(
                .encryptionRequired,
                "The endpoint \(StoreError.shown(address.text)) is neither https nor a local address. Use https.")
        }
    }
}

extension StoreCredentials {
    /// Parses the response of AWS STS to `AssumeRoleWithWebIdentity`.
    init(assumedRole xml: [UInt8]) throws(StoreError) {
        let result = (try? BoundedXMLParser.read(xml))?.all("AssumeRoleWithWebIdentityResult").first
        guard let found = result?.all("Credentials").first, let id = found["AccessKeyId"],
            let secret = found["SecretAccessKey"], let token = found["SessionToken"],
            let end = found["Expiration"].flatMap({ StoreDate.parse($0) })
        else {
            throw StoreError(.credentialsMalformed, "The response of AWS STS has no credentials. Check its endpoint.")
        }
        self.init(accessKeyID: id, accessKeySecret: .secret(secret), securityToken: .secret(token), expiration: end)
    }
}
