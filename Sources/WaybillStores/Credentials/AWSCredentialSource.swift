public import Waybill

/// A source of credentials that Amazon's tools share. They are listed in the order in which the tools ask them.
public enum AWSCredentialSource: String, Sendable, Hashable, CaseIterable {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, for temporary credentials, `AWS_SESSION_TOKEN`.
    case environment
    /// A role, `AWS_ROLE_ARN`, for the token of another identity provider in the file `AWS_WEB_IDENTITY_TOKEN_FILE`, as
    /// Kubernetes provides them. It is exchanged at the endpoint of AWS STS in the region `AWS_REGION`.
    case webIdentity
    /// A profile of `~/.aws/config` and `~/.aws/credentials`: its keys, the output of its `credential_process`, or its
    /// `role_arn` with `web_identity_token_file`. `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE` are other paths.
    case profile
    /// The endpoint of a container, `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `AWS_CONTAINER_CREDENTIALS_FULL_URI`.
    case container
    /// The metadata endpoint of an EC2 instance, version 2, unless `AWS_EC2_METADATA_DISABLED` is `true`. In a container,
    /// the hop limit of the instance's metadata options must be at least 2.
    case instance
}

extension CredentialProvider {
    /// Returns a provider that finds credentials where Amazon's tools do, as ``federated(pace:clock:_:)`` does.
    ///
    /// ```swift
    /// let client = try S3Client(configuration: configuration, credentials: .aws())
    /// let backup: CredentialProvider = .aws([.profile], profile: "backup")
    /// ```
    ///
    /// The first source that is set up provides the credentials; if it fails, the search ends with its error. An error
    /// also names the sources before, and why they have no credentials.
    ///
    /// - Parameters:
    ///   - sources: The sources to ask.
    ///   - profile: The profile of ``AWSCredentialSource/profile``, which then precedes the keys and the role of the
    ///     environment; `nil` for `AWS_PROFILE`, or else `default`.
    ///   - session: The session whose configuration is used for requests to endpoints: one, for an instance three, of at
    ///     most 10 s each. They do not wait for its uploads.
    ///   - pace: The timing of searches.
    ///   - lookUp: Returns the value of a variable; the environment of this process by default.
    /// - Returns: A provider with a cache. Create it only once.
    public static func aws(
        _ sources: [AWSCredentialSource] = AWSCredentialSource.allCases, profile: String? = nil,
        through session: UploadSession = .shared, pace: CredentialPace = CredentialPace(),
        lookUp: (@Sendable (_ name: String) -> String?)? = nil
    ) -> CredentialProvider {
        let environment = EnvironmentCredentials(.aws, lookUp: lookUp)
        let finder = AWSCredentialFinder(
            session: session, profile: profile, limit: pace.limit, environment: environment)
        return .federated(pace: pace) { try await finder.credentials(from: sources) }
    }
}
