public import FoundationEssentials
import WaybillCore

/// A source of credentials for OSS and S3: fixed ones, those of the environment, of a token server, of a command, or of a
/// closure.
///
/// ```swift
/// .fixed(credentials)                                  // credentials that do not change
/// .environment()                                       // OSS_ACCESS_KEY_ID and the variables beside it
/// .aws()                                               // where the tools of Amazon find them
/// .federated { try await tokens.fetch() }              // fetched, cached, renewed before they expire
/// .process(["/usr/local/bin/oss-login"])               // the output of a command
/// ```
///
/// A client asks for credentials before every attempt of every request, so a provider that fetches them must cache them, as
/// ``federated(pace:clock:_:)`` does.
public struct CredentialProvider: Sendable {
    private let find: @Sendable (Date, StoreCredentials?) async throws(StoreError) -> StoreCredentials

    /// Creates a provider that calls a closure for each attempt.
    ///
    /// - Parameter find: Returns credentials that are valid at `now`, the date by the store's clock, and that are not
    ///   `rejected`, the credentials that the store has just refused. It throws
    ///   ``StoreError/Code/credentialsRejected`` when it has no others, ``StoreError/Code/credentialsUnavailable`` or
    ///   ``StoreError/Code/credentialsExpired``.
    public init(
        _ find:
            @escaping @Sendable (
                _ now: Date, _ rejected: StoreCredentials?
            ) async throws(StoreError) -> StoreCredentials
    ) {
        self.find = find
    }

    /// Returns credentials that are valid at a date.
    ///
    /// - Parameters:
    ///   - now: The date by the store's clock, which decides what has expired.
    ///   - rejecting: The credentials that the store has just refused, if any.
    /// - Returns: Valid credentials other than the refused ones.
    /// - Throws: ``StoreError/Code/credentialsUnavailable``, ``StoreError/Code/credentialsExpired``,
    ///   ``StoreError/Code/credentialsRejected`` and others.
    public func credentials(
        at now: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        try await find(now, rejecting)
    }

    /// Credentials that do not change.
    public static func fixed(_ credentials: StoreCredentials) -> CredentialProvider {
        CredentialProvider { now, rejected throws(StoreError) in
            try credentials.check()
            guard credentials.isValid(at: now) else {
                throw StoreError(
                    .credentialsExpired,
                    "The credentials have expired and are fixed. \(Remedy.renewCredentials)")
            }
            guard credentials != rejected else {
                throw StoreError(
                    .credentialsRejected,
                    "The store rejected the fixed credentials. Check the AccessKey ID, secret and security token.")
            }
            return credentials
        }
    }
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
