public import FoundationEssentials
public import WaybillCore

/// Credentials of an object store: an ID, a secret, and for temporary credentials a token and an expiration.
///
/// ```swift
/// let credentials = StoreCredentials(accessKeyID: "LTAI…", accessKeySecret: .secret(secret))
/// ```
///
/// Only the expiration is ever printed, even by `dump`. A program that is distributed to users should have temporary
/// credentials, or preferably none: use ``OSSPresignedUpload`` or ``OSSPostForm``.
public struct StoreCredentials: Sendable, Hashable {
    /// The AccessKey ID.
    public var accessKeyID: String
    /// The AccessKey secret.
    public var accessKeySecret: Secret
    /// The security token of temporary credentials.
    public var securityToken: Secret?
    /// The expiration; `nil` if the credentials do not expire, or if it is unknown.
    public var expiration: Date?

    /// Creates credentials.
    public init(
        accessKeyID: String, accessKeySecret: Secret, securityToken: Secret? = nil, expiration: Date? = nil
    ) {
        self.accessKeyID = accessKeyID
        self.accessKeySecret = accessKeySecret
        self.securityToken = securityToken
        self.expiration = expiration
    }

    /// The part of the credentials that a signature refers to.
    public var identity: OSSSigningIdentity {
        OSSSigningIdentity(accessKeyID: accessKeyID, securityToken: securityToken)
    }

    /// Whether the credentials are valid at a date.
    func isValid(at now: Date) -> Bool { expiration.map { $0 > now } ?? true }

    /// Throws for implausible credentials, for which the store's error would be less clear.
    func check() throws(StoreError) {
        let texts = [accessKeyID, accessKeySecret.value] + (securityToken.map { [$0.value] } ?? [])
        guard texts.allSatisfy({ !$0.isEmpty }) else {
            throw StoreError(
                .credentialsUnavailable,
                "The AccessKey ID, secret or security token is empty. Check the source of the credentials.")
        }
        // The values become header fields, in which a line break would start another field.
        guard texts.allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else {
            throw StoreError(
                .credentialsMalformed,
                "The credentials contain whitespace or a character that is not printable ASCII. Check whether they "
                    + "were copied correctly.")
        }
        if let expiration { try Self.check(expiration) }
    }

    /// Throws for implausible dates: zero, milliseconds taken as seconds, or the year 1 from a failed parser.
    private static func check(_ expiration: Date) throws(StoreError) {
        let seconds = expiration.timeIntervalSince1970
        guard seconds >= 1_420_070_400, seconds < 7_258_118_400 else {
            throw StoreError(
                .credentialsMalformed,
                "The expiration of the credentials is not between the years 2015 and 2200. Use ISO 8601, or seconds "
                    + "or milliseconds since 1970.")
        }
    }
}

extension StoreCredentials: RedactedDescription {
    /// The type of the credentials and their expiration.
    public var description: String {
        let kind = securityToken == nil ? "credentials" : "temporary credentials"
        return expiration.map { "\(kind) until \(StoreDate.iso8601($0))" } ?? kind
    }
}

extension OSSSigningIdentity: RedactedDescription {
    /// The type of the identity, without its values.
    public var description: String { securityToken == nil ? "identity" : "temporary identity" }
}
