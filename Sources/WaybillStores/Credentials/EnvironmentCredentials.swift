import Glibc
import WaybillCore

/// A provider of the credentials in the environment variables `OSS_ACCESS_KEY_ID`, `OSS_ACCESS_KEY_SECRET` and, for
/// temporary credentials, `OSS_SESSION_TOKEN`. The store's own tools use the same names.
///
/// The variables are read for every request. The environment must not be modified while other threads read it
/// (`setenv(3)`).
struct EnvironmentCredentials: Sendable {
    private let lookUp: @Sendable (String) -> String?

    /// Creates a provider that reads the environment of this process.
    init() {
        self.init { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    }

    /// Creates a provider that reads from another source, such as a settings file.
    init(lookUp: @escaping @Sendable (_ name: String) -> String?) {
        self.lookUp = lookUp
    }

    /// Returns the credentials if the variables are set.
    func credentials(rejecting: StoreCredentials?) throws(StoreError) -> StoreCredentials {
        let credentials = StoreCredentials(
            accessKeyID: try value(of: "OSS_ACCESS_KEY_ID"),
            accessKeySecret: .secret(try value(of: "OSS_ACCESS_KEY_SECRET")),
            securityToken: optional("OSS_SESSION_TOKEN").map { .secret($0) })
        try credentials.check()
        guard credentials != rejecting else {
            throw StoreError(
                .credentialsRejected,
                "The store rejected the credentials of the environment. Check OSS_ACCESS_KEY_ID, "
                    + "OSS_ACCESS_KEY_SECRET and, for temporary credentials, OSS_SESSION_TOKEN.")
        }
        return credentials
    }

    private func value(of name: String) throws(StoreError) -> String {
        guard let value = optional(name) else {
            throw StoreError(
                .credentialsUnavailable,
                "The environment variable \(name) is not set. Set it, or use other credentials.")
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
        let environment = lookUp.map { EnvironmentCredentials(lookUp: $0) } ?? EnvironmentCredentials()
        return CredentialProvider { _, rejected throws(StoreError) in try environment.credentials(rejecting: rejected) }
    }
}
