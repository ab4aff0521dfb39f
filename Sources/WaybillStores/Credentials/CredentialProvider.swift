public import FoundationEssentials
import WaybillCore

/// Somebody who has credentials: fixed ones, those of the environment, those of a token server.
///
/// ```swift
/// .fixed(credentials)                                  // as they are
/// .environment()                                       // OSS_ACCESS_KEY_ID and its kin
/// .federated { try await tokens.fetch() }              // fetched, kept, renewed before they run out
/// .process(["/usr/local/bin/oss-login"])               // what a command prints
/// ```
///
/// It is asked before every attempt of every request, so one that fetches must keep what it has: ``FederatedCredentials``
/// does.
public protocol CredentialProvider: Sendable {
    /// Credentials that are good at a date.
    ///
    /// - Parameters:
    ///   - now: The date by the store's clock, which is the one that counts for what has run out.
    ///   - rejecting: The credentials that the store has just refused, if it did. Others are wanted; a provider that has
    ///     no others says so with ``StoreError/Code/credentialsRejected``.
    /// - Returns: Credentials that are good, and not those that were refused.
    /// - Throws: ``StoreError/Code/credentialsUnavailable``, ``StoreError/Code/credentialsExpired`` and their kin.
    func credentials(at now: Date, rejecting: StoreCredentials?) async throws(StoreError) -> StoreCredentials
}

/// Credentials that do not change.
public struct FixedCredentials: CredentialProvider {
    private let credentials: StoreCredentials

    /// Keeps these credentials.
    public init(_ credentials: StoreCredentials) {
        self.credentials = credentials
    }

    /// The credentials, if they are still good.
    public func credentials(
        at now: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        try credentials.check()
        guard credentials.isValid(at: now) else {
            throw StoreError(
                .credentialsExpired,
                "The credentials have expired and are fixed. \(Remedy.renewCredentials)")
        }
        guard credentials != rejecting else {
            throw StoreError(
                .credentialsRejected, "the store refused the only credentials there are: check id, secret and token")
        }
        return credentials
    }
}

extension CredentialProvider where Self == FixedCredentials {
    /// Credentials that do not change.
    public static func fixed(_ credentials: StoreCredentials) -> FixedCredentials { FixedCredentials(credentials) }
}
