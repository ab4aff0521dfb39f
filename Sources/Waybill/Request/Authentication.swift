import FoundationEssentials
import HTTPTypes
public import WaybillCore

/// The credentials of an upload.
///
/// ```swift
/// options.authentication = .basic(user: "clerk", password: .secret(password))
/// options.authentication = .digest(user: "clerk", password: .secret(password))
/// options.authentication = .bearer(.secret(token))
/// options.authentication = .refreshing(BearerRefresher { try await signIn() })
/// ```
///
/// Except for Digest, credentials are sent with the first request, without waiting for a challenge. They are sent only
/// to the upload's own origin. An additional header field `Authorization` is rejected: a request has one credential.
public struct Authentication: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        case basic(user: String, password: Secret)
        case digest(DigestCredential)
        case bearer(Secret)
        case refreshing(RefresherReference)
    }
    private let kind: Kind

    /// Returns credentials for Basic authentication (RFC 7617), encoded as UTF-8. The user must not contain a colon.
    /// Over `http`, an eavesdropper can read both user and password.
    public static func basic(user: String, password: Secret) -> Authentication {
        Authentication(kind: .basic(user: user, password: password))
    }

    /// Returns credentials for Digest authentication (RFC 7616), which sends only hashes: MD5, SHA-256 or SHA-512/256,
    /// as the server chooses. Each upload begins with a request without a body to receive the challenge; see
    /// ``DigestCredential``. A stream of unknown length can't be sent this way.
    public static func digest(user: String, password: Secret) -> Authentication {
        Authentication(kind: .digest(DigestCredential(user: user, password: password)))
    }

    /// Returns credentials with a bearer token (RFC 6750).
    public static func bearer(_ token: Secret) -> Authentication { Authentication(kind: .bearer(token)) }

    /// Returns credentials that expire. If the server responds with 401, the credential is refreshed once for all
    /// uploads that were sent with it, and the upload is sent again.
    public static func refreshing(_ refresher: any CredentialRefresher) -> Authentication {
        Authentication(kind: .refreshing(RefresherReference(refresher)))
    }

    var refresher: (any CredentialRefresher)? {
        if case .refreshing(let reference) = kind { reference.refresher } else { nil }
    }

    var digest: DigestCredential? {
        if case .digest(let credential) = kind { credential } else { nil }
    }

    /// Returns the value of `Authorization`; `nil` if the refresher provides it, or if it is computed from a challenge.
    ///
    /// - Throws: ``UploadError/Code/invalidRequest`` for characters that are not allowed in a header field.
    func fieldValue() throws(UploadError) -> String? {
        switch kind {
        case .refreshing: return nil
        case .digest(let credential):
            guard Self.isPlain(credential.user), Self.isPlain(credential.password.value) else {
                throw Self.refused("User and password must not contain control characters.")
            }
            return nil
        case .bearer(let token): return try Self.checked("Bearer \(token.value)")
        case .basic(let user, let password):
            guard Self.isPlain(user), Self.isPlain(password.value), !user.utf8.contains(UInt8(ascii: ":")) else {
                throw Self.refused(
                    "User and password must not contain control characters, and the user must not contain a colon.")
            }
            return "Basic \(Data("\(user):\(password.value)".utf8).base64EncodedString())"
        }
    }

    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Returns the value if it is valid in a header field.
    static func checked(_ value: String) throws(UploadError) -> String {
        guard HTTPField.isValidValue(value) else {
            throw refused("The credential contains characters that are not allowed in a header field.")
        }
        return value
    }

    private static func refused(_ message: String) -> UploadError {
        UploadError(.invalidRequest, message, phase: .preparing)
    }
}

extension Authentication: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type of the credentials, without user and secret.
    public var description: String {
        switch kind {
        case .basic: "basic"
        case .digest: "digest"
        case .bearer: "bearer"
        case .refreshing: "refreshing"
        }
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The type only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}

/// A reference that is equal to another one if both refer to the same refresher.
private struct RefresherReference: Sendable, Hashable {
    let refresher: any CredentialRefresher

    init(_ refresher: any CredentialRefresher) {
        self.refresher = refresher
    }

    static func == (left: Self, right: Self) -> Bool { left.refresher === right.refresher }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(refresher)) }
}
