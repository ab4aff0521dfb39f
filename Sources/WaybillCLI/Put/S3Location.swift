import WaybillStores

/// The location of buckets with the protocol of S3, from options and the environment.
struct S3Location: Sendable {
    /// The values of `--profile`.
    static let profiles: [(name: String, profile: S3Profile)] = [
        ("aws", .aws), ("r2", .r2), ("oss", .oss), ("cos", .cos), ("obs", .obs), ("kodo", .kodo), ("b2", .b2),
        ("wasabi", .wasabi), ("ceph", .ceph), ("garage", .garage), ("rustfs", .rustfs), ("generic", .generic),
    ]

    /// The values of `--profile` as a list for messages.
    static var profileNames: String { profiles.map(\.name).joined(separator: ", ") }

    /// The variables whose values must not be printed.
    static let secretVariables = ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]

    /// The credentials that sign requests, from the sources that Amazon's tools share.
    static let credentials: CredentialProvider = .aws()

    let profile: S3Profile
    let endpoint: String?
    let region: String?

    /// Resolves the location. Options take precedence over the variables of Amazon's tools.
    ///
    /// - Throws: ``StoreError`` for an unknown profile, or a profile without a common endpoint.
    init(profile name: String?, endpoint: String?, region: String?) throws(StoreError) {
        self.endpoint =
            endpoint ?? Environment.text("AWS_ENDPOINT_URL_S3") ?? Environment.text("AWS_ENDPOINT_URL")
        self.region = region ?? Environment.text("AWS_REGION") ?? Environment.text("AWS_DEFAULT_REGION")
        let name = name ?? (self.endpoint == nil ? "aws" : "generic")
        profile = try PutCommand.validated(
            name, Self.profiles.first { $0.name == name }?.profile, Self.profiles.map(\.name), "--profile")
        guard self.endpoint != nil || profile.endpointPattern != nil else {
            throw StoreError(
                .invalidEndpoint,
                "\(profile.name) has no common endpoint. Pass --endpoint, as in --endpoint https://s3.example.com, or "
                    + "set AWS_ENDPOINT_URL.")
        }
    }

    /// Returns the configuration of a client.
    var configuration: S3Client.Configuration {
        var configuration = S3Client.Configuration(profile)
        (configuration.endpoint, configuration.region) = (endpoint, region)
        return configuration
    }
}
