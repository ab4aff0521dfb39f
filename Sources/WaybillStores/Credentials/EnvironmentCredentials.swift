import Glibc
import WaybillCore

/// A provider of the credentials in environment variables. The stores' own tools use the same names.
///
/// The variables are read for every request. The environment must not be modified while other threads read it
/// (`setenv(3)`).
struct EnvironmentCredentials: Sendable {
    /// The names of the variables.
    struct Names: Sendable {
        var id: String
        var secret: String
        /// Set for temporary credentials only.
        var token: String

        static let oss = Names(id: "OSS_ACCESS_KEY_ID", secret: "OSS_ACCESS_KEY_SECRET", token: "OSS_SESSION_TOKEN")
        static let aws = Names(id: "AWS_ACCESS_KEY_ID", secret: "AWS_SECRET_ACCESS_KEY", token: "AWS_SESSION_TOKEN")
        /// The settings in a profile of the files that Amazon's tools share.
        static let awsProfile = Names(
            id: aws.id.lowercased(), secret: aws.secret.lowercased(), token: aws.token.lowercased())
    }

    private let names: Names
    let lookUp: @Sendable (String) -> String?

    /// Creates a provider that reads from a source such as a settings file; `nil` for the environment of this process.
    init(_ names: Names, lookUp: (@Sendable (_ name: String) -> String?)?) {
        self.names = names
        self.lookUp = lookUp ?? { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    }

    /// Returns the credentials if the variables are set.
    func credentials(rejecting: StoreCredentials?) throws(StoreError) -> StoreCredentials {
        let credentials = StoreCredentials(
            accessKeyID: try value(of: names.id),
            accessKeySecret: .secret(try value(of: names.secret)),
            securityToken: optional(names.token).map { .secret($0) })
        try credentials.check()
        guard credentials != rejecting else {
            throw StoreError(
                .credentialsRejected,
                "The store rejected the credentials of the environment. Check \(names.id), \(names.secret) and, for "
                    + "temporary credentials, \(names.token).")
        }
        return credentials
    }

    private func value(of name: String) throws(StoreError) -> String {
        guard let value = optional(name) else {
            throw StoreError(
                .credentialsUnavailable,
                "\(name) is not set. Set it, or use other credentials.")
        }
        return value
    }

    private func optional(_ name: String) -> String? { lookUp(name).flatMap { $0.isEmpty ? nil : $0 } }
}

extension CredentialProvider {
    /// The credentials of the environment: `OSS_ACCESS_KEY_ID`, `OSS_ACCESS_KEY_SECRET` and, for temporary ones,
    /// `OSS_SESSION_TOKEN`. They are read for every request.
    ///
    /// - Parameter lookUp: Returns the value of a variable; the environment of this process by default.
    /// - Returns: The provider.
    public static func environment(
        lookUp: (@Sendable (_ name: String) -> String?)? = nil
    ) -> CredentialProvider {
        let environment = EnvironmentCredentials(.oss, lookUp: lookUp)
        return CredentialProvider { _, rejected throws(StoreError) in
            try environment.credentials(rejecting: rejected)
        }
    }
}
