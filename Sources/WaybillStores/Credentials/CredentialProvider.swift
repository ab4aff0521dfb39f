public import FoundationEssentials
import WaybillCore

/// A provider of credentials: fixed ones, those of the environment, or those of a token server.
///
/// ```swift
/// .fixed(credentials)                                  // as they are
/// .environment()                                       // OSS_ACCESS_KEY_ID and its kin
/// .federated { try await tokens.fetch() }              // fetched, kept, renewed before they run out
/// .process(["/usr/local/bin/oss-login"])               // what a command prints
/// ```
///
/// The provider is called before every attempt of every request. A provider that fetches credentials must therefore
/// cache them, as ``FederatedCredentials`` does.
public protocol CredentialProvider: Sendable {
    /// Returns credentials that are valid at a date.
    ///
    /// - Parameters:
    ///   - now: The date by the store's clock, which decides what has expired.
    ///   - rejecting: The credentials that the store has just rejected, or `nil`. The provider must return different
    ///     ones, or throw ``StoreError/Code/credentialsRejected`` if it has no others.
    /// - Returns: Valid credentials other than the rejected ones.
    /// - Throws: ``StoreError/Code/credentialsUnavailable``, ``StoreError/Code/credentialsExpired`` or another
    ///   credential error.
    func credentials(at now: Date, rejecting: StoreCredentials?) async throws(StoreError) -> StoreCredentials
}

/// A provider of credentials that do not change.
public struct FixedCredentials: CredentialProvider {
    private let credentials: StoreCredentials

    /// Creates a provider of the given credentials.
    public init(_ credentials: StoreCredentials) {
        self.credentials = credentials
    }

    /// Returns the credentials if they are still valid.
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
    /// Returns a provider of credentials that do not change.
    public static func fixed(_ credentials: StoreCredentials) -> FixedCredentials { FixedCredentials(credentials) }
}

extension StoreError.Code {
    /// A bucket name violates the store's rules.
    public static let invalidBucket = Self("invalidBucket")
    /// An object key violates the store's rules.
    public static let invalidKey = Self("invalidKey")
    /// The region is missing or is not a valid region ID.
    public static let invalidRegion = Self("invalidRegion")
    /// A presigned URL or a policy would be valid for too long, or not at all.
    public static let invalidExpiration = Self("invalidExpiration")
    /// A policy is invalid: it has no condition, an empty name, or an invalid range.
    public static let invalidPolicy = Self("invalidPolicy")
    /// No credentials are available. The message says what to set; the cause is the provider's error.
    public static let credentialsUnavailable = Self("credentialsUnavailable")
    /// The credentials have expired, and there are no others.
    public static let credentialsExpired = Self("credentialsExpired")
    /// The store rejected the credentials, and there are no others.
    public static let credentialsRejected = Self("credentialsRejected")
    /// The credential provider exceeded its time limit.
    public static let credentialsTimedOut = Self("credentialsTimedOut")
    /// The data is not valid credentials: it is not JSON, members are missing, or the expiration is implausible.
    public static let credentialsMalformed = Self("credentialsMalformed")
    /// Signing failed. The message has the reason; the cause is the signer's error.
    public static let signingFailed = Self("signingFailed")
    /// A URL or form that a server signed has expired. Request another one from the server.
    public static let presignedExpired = Self("presignedExpired")
    /// The data from a server is not a presigned URL or the fields of a form.
    public static let presignedMalformed = Self("presignedMalformed")
}
