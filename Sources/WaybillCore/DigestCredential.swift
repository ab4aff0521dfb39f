/// A user name and password for HTTP Digest (RFC 7616). Neither is sent, only hashes that include the server's nonce.
///
/// A request without a body fetches the server's challenge first, so the body is sent only once. A server that requires
/// no credentials therefore receives two requests, the first with an empty body.
public struct DigestCredential: Sendable, Hashable {
    /// The user name.
    public var user: String
    /// The password.
    public var password: Secret

    /// Creates a credential.
    public init(user: String, password: Secret) {
        self.user = user
        self.password = password
    }
}

extension DigestCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The scheme, without user name or password.
    public var description: String { "digest" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
