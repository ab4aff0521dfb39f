/// A user and a password for a proxy.
public struct ProxyCredential: Sendable, Hashable {
    /// The user; without a colon for HTTP proxies.
    public var user: String
    /// The password.
    public var password: Secret

    /// Describes a credential.
    public init(user: String, password: Secret) {
        self.user = user
        self.password = password
    }
}

extension ProxyCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always the placeholder; no user, no secret.
    public var description: String { Secret.placeholder }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A certificate with its private key, to show to a server that asks for one.
///
/// ```swift
/// options.transfer.tls.clientCertificate = ClientCertificate(.file("client.pem"), key: .file("client.key"))
/// options.transfer.tls.clientCertificate = ClientCertificate(
///     .bytes(store), format: .pkcs12, passphrase: .secret(passphrase))
/// ```
public struct ClientCertificate: Sendable, Hashable {
    /// Where a certificate or a key is.
    public enum Source: Sendable, Hashable {
        /// In a file. It is read when a connection is made.
        case file(String)
        /// In memory.
        case bytes([UInt8])
    }

    /// How it is written.
    public enum Format: Sendable, Hashable {
        /// Lines of Base64 between BEGIN and END; the certificates of the chain may follow the first.
        case pem
        /// Both certificate and key in one file, as `.p12` and `.pfx` are.
        case pkcs12
    }

    /// The certificate, and the key, if that has no place of its own.
    public var certificate: Source
    /// The key; `nil` when it is where the certificate is.
    public var key: Source?
    /// How both are written.
    public var format: Format
    /// What the key is encrypted with; `nil` when it is not.
    public var passphrase: Secret?

    /// Describes a certificate.
    public init(_ certificate: Source, key: Source? = nil, format: Format = .pem, passphrase: Secret? = nil) {
        self.certificate = certificate
        self.key = key
        self.format = format
        self.passphrase = passphrase
    }
}

extension ClientCertificate.Source: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The path, or how many bytes there are; never the bytes, which may be a key.
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

/// An option of libcurl that has no property of its own, by its name without `CURLOPT_`.
///
/// ```swift
/// options.transfer.curlOptions = [
///     CurlOption("INTERFACE", .text("eth1")), CurlOption("TCP_FASTOPEN", .number(1)),
///     CurlOption("SSL_EC_CURVES", .text("X25519")), CurlOption("MAXAGE_CONN", .number(30)),
/// ]
/// ```
///
/// For one upload; the next one on the same connection handle begins anew. The manual page `curl_easy_setopt(3)` lists
/// the names, and what they mean is libcurl's to say. Refused before anything is connected are names that the loaded
/// libcurl doesn't know, values of another kind than the option takes, callbacks and pointers, and all options on which the
/// promises of Waybill stand: body, method and framing, redirects, protocols, limits, credentials, cookies, verification,
/// and those that have a property here.
public struct CurlOption: Sendable, Hashable {
    /// The value of an option.
    public enum Value: Sendable, Hashable {
        /// For options of type `long`.
        case number(Int)
        /// For options of type `curl_off_t`.
        case large(Int64)
        /// For options of type `char *`.
        case text(String)
        /// For options of type `char *` whose value must not be printed.
        case secret(Secret)
        /// For options of type `struct curl_slist *`.
        case list([String])
        /// For options of type `struct curl_blob *`, copied.
        case bytes([UInt8])
    }

    /// The name: `INTERFACE`. `CURLOPT_` before it does no harm.
    public var name: String
    /// The value.
    public var value: Value

    /// Describes an option.
    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }

    /// An option by its number, as `curl/curl.h` has it.
    public init(number: Int, _ value: Value) {
        self.init("#\(number)", value)
    }
}

extension CurlOption: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, and the value where it is a number: texts may be credentials.
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
    /// The texts of these options that must not be printed, besides those in the proxy's URL.
    package var secrets: [String] {
        var found = [proxyCredential?.password.value, digest?.password.value].compactMap(\.self)
        found += [tls, proxyTLS].compactMap { $0.clientCertificate?.passphrase?.value }
        for option in curlOptions {
            switch option.value {
            case .secret(let secret): found.append(secret.value)
            case .number, .large, .text, .list, .bytes: continue
            }
        }
        // Text of one or two characters is everywhere and hides nothing.
        return found.filter { $0.utf8.count > 2 }.sorted { $0.utf8.count > $1.utf8.count }
    }
}
