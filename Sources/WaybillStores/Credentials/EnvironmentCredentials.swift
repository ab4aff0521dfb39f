public import FoundationEssentials
import Glibc
import WaybillCore

/// The credentials of the environment: `OSS_ACCESS_KEY_ID`, `OSS_ACCESS_KEY_SECRET` and, for temporary ones,
/// `OSS_SESSION_TOKEN`, the names that the store's own tools read.
///
/// They are read anew for every request. The environment must not be written to while other threads read it (`setenv(3)`).
public struct EnvironmentCredentials: CredentialProvider {
    private let lookUp: @Sendable (String) -> String?

    /// Reads the environment of this process.
    public init() {
        self.init { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    }

    /// Reads from elsewhere, such as a file of settings.
    public init(lookUp: @escaping @Sendable (_ name: String) -> String?) {
        self.lookUp = lookUp
    }

    /// The credentials, if they are there.
    public func credentials(
        at now: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        let credentials = StoreCredentials(
            accessKeyID: try value(of: "OSS_ACCESS_KEY_ID"),
            accessKeySecret: .secret(try value(of: "OSS_ACCESS_KEY_SECRET")),
            securityToken: optional("OSS_SESSION_TOKEN").map { .secret($0) })
        try credentials.check()
        guard credentials != rejecting else {
            throw StoreError(
                .credentialsRejected,
                "the store refused the credentials of the environment: check OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET and, "
                    + "for temporary ones, OSS_SESSION_TOKEN")
        }
        return credentials
    }

    private func value(of name: String) throws(StoreError) -> String {
        guard let value = optional(name) else {
            throw StoreError(
                .credentialsUnavailable, "\(name) is not set in the environment: set it, or give credentials")
        }
        return value
    }

    private func optional(_ name: String) -> String? { lookUp(name).flatMap { $0.isEmpty ? nil : $0 } }
}

extension CredentialProvider where Self == EnvironmentCredentials {
    /// The credentials of the environment.
    public static func environment() -> EnvironmentCredentials { EnvironmentCredentials() }
}
