/// A user and a password for HTTP Digest (RFC 7616): neither goes over the wire, only hashes of them with what the server
/// sent for the occasion.
///
/// The server is asked for that by a request without a body. So a body is sent once; but a server that asks nobody for
/// credentials sees the request twice, first empty.
public struct DigestCredential: Sendable, Hashable {
    /// The user.
    public var user: String
    /// The password.
    public var password: Secret

    /// Describes a credential.
    public init(user: String, password: Secret) {
        self.user = user
        self.password = password
    }
}

extension DigestCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The scheme; no user, no secret.
    public var description: String { "digest" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
