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

extension StoreError.Code {
    /// A bucket's name breaks the store's rules.
    public static let invalidBucket = Self("invalidBucket")
    /// A key breaks the store's rules.
    public static let invalidKey = Self("invalidKey")
    /// The region is missing, or is no region's id.
    public static let invalidRegion = Self("invalidRegion")
    /// A presigned URL or a policy would be valid for too long, or not at all.
    public static let invalidExpiration = Self("invalidExpiration")
    /// A policy can't be written as it is: no condition, a name that is empty, a range the wrong way round.
    public static let invalidPolicy = Self("invalidPolicy")
    /// No credentials are available. The message says what to set; the cause is the provider's error.
    public static let credentialsUnavailable = Self("credentialsUnavailable")
    /// The credentials ran out, and there are no others.
    public static let credentialsExpired = Self("credentialsExpired")
    /// The store refused the credentials, and there are no others.
    public static let credentialsRejected = Self("credentialsRejected")
    /// The provider of credentials took too long.
    public static let credentialsTimedOut = Self("credentialsTimedOut")
    /// What came are no credentials: no JSON, names that are missing, an expiration that can't be meant.
    public static let credentialsMalformed = Self("credentialsMalformed")
    /// No signature was made. The message says why; the cause is the signer's error.
    public static let signingFailed = Self("signingFailed")
    /// A URL or form that a server signed is no longer good: ask the server for another.
    public static let presignedExpired = Self("presignedExpired")
    /// What a server gave is no presigned URL, or are no fields of a form.
    public static let presignedMalformed = Self("presignedMalformed")
}
