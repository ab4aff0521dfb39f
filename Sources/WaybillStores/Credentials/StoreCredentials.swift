public import FoundationEssentials
public import WaybillCore

/// What opens an object store: an id, a secret, and for temporary credentials a token and the date on which they run out.
///
/// ```swift
/// let credentials = StoreCredentials(accessKeyID: "LTAI…", accessKeySecret: .secret(secret))
/// ```
///
/// Nothing of it but the date is ever printed, not by `dump` either. Temporary credentials are what a program in the hands
/// of others should have; better still, none at all: ``OSSPresignedUpload``, ``OSSPostForm``.
public struct StoreCredentials: Sendable, Hashable {
    /// The AccessKey ID.
    public var accessKeyID: String
    /// The AccessKey secret.
    public var accessKeySecret: Secret
    /// The security token of temporary credentials.
    public var securityToken: Secret?
    /// When they run out; `nil` when they do not, or nobody says.
    public var expiration: Date?

    /// Describes credentials.
    public init(
        accessKeyID: String, accessKeySecret: Secret, securityToken: Secret? = nil, expiration: Date? = nil
    ) {
        self.accessKeyID = accessKeyID
        self.accessKeySecret = accessKeySecret
        self.securityToken = securityToken
        self.expiration = expiration
    }

    /// What a signature says of them.
    public var identity: OSSSigningIdentity {
        OSSSigningIdentity(accessKeyID: accessKeyID, securityToken: securityToken)
    }

    /// Whether they are good at a date.
    func isValid(at now: Date) -> Bool { expiration.map { $0 > now } ?? true }

    /// What can't be meant, told before the store answers with a riddle.
    func check() throws(StoreError) {
        let texts = [accessKeyID, accessKeySecret.value] + (securityToken.map { [$0.value] } ?? [])
        guard texts.allSatisfy({ !$0.isEmpty }) else {
            throw StoreError(
                .credentialsUnavailable, "a part of the credentials is empty: check where they come from")
        }
        // They stand in header fields, where a line break would begin another field.
        guard texts.allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else {
            throw StoreError(
                .credentialsMalformed,
                "the credentials hold a blank, a line break or a character beyond ASCII: look for what was pasted along "
                    + "with them")
        }
        if let expiration { try Self.check(expiration) }
    }

    /// Dates that are a mistake: zero, milliseconds taken for seconds, the year 1 of a parser that gave up.
    private static func check(_ expiration: Date) throws(StoreError) {
        let seconds = expiration.timeIntervalSince1970
        guard seconds >= 1_420_070_400, seconds < 7_258_118_400 else {
            throw StoreError(
                .credentialsMalformed,
                "the credentials' expiration is not between the years 2015 and 2200: give ISO 8601, or seconds or "
                    + "milliseconds since 1970")
        }
    }
}

extension StoreCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// That they are some, and when they run out.
    public var description: String {
        let kind = securityToken == nil ? "credentials" : "temporary credentials"
        return expiration.map { "\(kind) until \(StoreDate.iso8601($0))" } ?? kind
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["credentials": description]) }
}

extension OSSSigningIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// That it is one.
    public var description: String { securityToken == nil ? "identity" : "temporary identity" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["identity": description]) }
}
