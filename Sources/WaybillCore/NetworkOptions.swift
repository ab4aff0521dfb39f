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

/// A user name and password for a proxy.
public struct ProxyCredential: Sendable, Hashable {
    /// The user name, without a colon for HTTP proxies.
    public var user: String
    /// The password.
    public var password: Secret

    /// Creates a credential.
    public init(user: String, password: Secret) {
        self.user = user
        self.password = password
    }
}

extension ProxyCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always the placeholder, never the user name or password.
    public var description: String { Secret.placeholder }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A certificate with its private key, presented to a server that requests one.
///
/// ```swift
/// options.transfer.tls.clientCertificate = ClientCertificate(.file("client.pem"), key: .file("client.key"))
/// options.transfer.tls.clientCertificate = ClientCertificate(
///     .bytes(store), format: .pkcs12, passphrase: .secret(passphrase))
/// ```
public struct ClientCertificate: Sendable, Hashable {
    /// The location of a certificate or key.
    public enum Source: Sendable, Hashable {
        /// A file, which is read when a connection is made.
        case file(String)
        /// Bytes in memory.
        case bytes([UInt8])
    }

    /// The encoding of a certificate and its key.
    public enum Format: Sendable, Hashable {
        /// PEM: Base64 between BEGIN and END lines. The certificates of the chain may follow the first.
        case pem
        /// PKCS #12: certificate and key in one file (`.p12`, `.pfx`).
        case pkcs12
    }

    /// The certificate, and the key if ``key`` is `nil`.
    public var certificate: Source
    /// The key, or `nil` if it is stored with the certificate.
    public var key: Source?
    /// The format of the certificate and the key.
    public var format: Format
    /// The passphrase of the key, or `nil` if the key is not encrypted.
    public var passphrase: Secret?

    /// Creates a client certificate.
    public init(_ certificate: Source, key: Source? = nil, format: Format = .pem, passphrase: Secret? = nil) {
        self.certificate = certificate
        self.key = key
        self.format = format
        self.passphrase = passphrase
    }
}

extension ClientCertificate.Source: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The path or the number of bytes, never the bytes themselves, which may contain a key.
    public var description: String {
        switch self {
        case .file(let path): path
        case .bytes(let bytes): "<\(bytes.count) bytes>"
        }
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["source": description]) }
}

/// A libcurl option that has no property in ``TransferOptions``, identified by its name without `CURLOPT_`.
///
/// ```swift
/// options.transfer.curlOptions = [
///     CurlOption("INTERFACE", .text("eth1")), CurlOption("TCP_FASTOPEN", .number(1)),
///     CurlOption("SSL_EC_CURVES", .text("X25519")), CurlOption("MAXAGE_CONN", .number(30)),
/// ]
/// ```
///
/// The option applies to one upload; it is reset before the connection handle is reused. The manual page
/// `curl_easy_setopt(3)` lists the names and their meaning. Before connecting, Waybill rejects names that the loaded
/// libcurl does not know, values of the wrong type, callbacks and pointers, and all options that would break Waybill's
/// guarantees: body, method and framing, redirects, protocols, limits, credentials, cookies, verification, and the
/// options that have a property here.
public struct CurlOption: Sendable, Hashable {
    /// The value of an option.
    public enum Value: Sendable, Hashable {
        /// A value for options of type `long`.
        case number(Int)
        /// A value for options of type `curl_off_t`.
        case large(Int64)
        /// A value for options of type `char *`.
        case text(String)
        /// A value for options of type `char *` that must not be printed.
        case secret(Secret)
        /// A value for options of type `struct curl_slist *`.
        case list([String])
        /// A value for options of type `struct curl_blob *`, which is copied.
        case bytes([UInt8])
    }

    /// The name, such as `INTERFACE`. A `CURLOPT_` prefix is accepted.
    public var name: String
    /// The value.
    public var value: Value

    /// Creates an option from its name.
    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }

    /// Creates an option from its number in `curl/curl.h`.
    public init(number: Int, _ value: Value) {
        self.init("#\(number)", value)
    }
}

extension CurlOption: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, and the value if it is a number. Strings are redacted because they may be credentials.
    public var description: String {
        switch value {
        case .number(let number): "\(name)=\(number)"
        case .large(let number): "\(name)=\(number)"
        case .text, .secret, .list, .bytes: "\(name)=\(Secret.placeholder)"
        }
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["option": description]) }
}

extension TransferOptions {
    /// The strings in these options that must not be printed, except those in the proxy's URL.
    package var secrets: [String] {
        var found = [proxyCredential?.password.value, digest?.password.value].compactMap(\.self)
        found += [tls, proxyTLS].compactMap { $0.clientCertificate?.passphrase?.value }
        for option in curlOptions {
            switch option.value {
            case .secret(let secret): found.append(secret.value)
            case .number, .large, .text, .list, .bytes: continue
            }
        }
        // One or two characters match everywhere and protect nothing.
        return found.filter { $0.utf8.count > 2 }.sorted { $0.utf8.count > $1.utf8.count }
    }
}
