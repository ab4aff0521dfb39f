/// Options of a transfer.
public struct TransferOptions: Sendable, Hashable {
    /// The limits in time and size.
    public var limits = TransferLimits()
    /// The maximum number of body bytes sent per second, or `nil` for no limit.
    public var rateLimit: ByteCount?
    /// The HTTP version. The default is HTTP/1.1, which is faster by half for uploads.
    public var httpVersion: HTTPVersion = .http1
    /// When to wait for `100 Continue` before the body is sent (RFC 9110 section 10.1.1).
    public var expectContinue: ExpectContinue = .above(.mebibytes(8))
    /// The TLS options for the server.
    public var tls = TLSOptions()
    /// The user name and password for HTTP Digest, or `nil` for none. Requires a body of known length.
    public var digest: DigestCredential?
    /// The proxy's URL, or `nil` for none. Supported schemes: `http`, `https`, `socks4`, `socks4a`, `socks5`, and
    /// `socks5h`, with which the proxy resolves names. Proxies from the environment are never used implicitly.
    public var proxy: String?
    /// The user name and password for the proxy (Basic, or RFC 1929 with SOCKS 5), unless its URL contains them.
    public var proxyCredential: ProxyCredential?
    /// Hosts to connect to without the proxy: names, including all their subdomains (`example.com`), addresses, and
    /// address ranges (`10.0.0.0/8`); `*` for all.
    public var proxyExceptions: [String] = []
    /// The TLS options for an `https` proxy. The options for the server are in ``tls``.
    public var proxyTLS = TLSOptions()
    /// Addresses to use instead of resolving a name, as `host:port:address`. They apply to this upload only, not to
    /// other uploads of the session.
    public var resolve: [String] = []
    /// The address family to use for a name.
    public var addressFamily = AddressFamily.any
    /// The path of a Unix socket, at most 107 bytes, to connect to instead of the URL's host. `Host` is unchanged.
    public var unixSocket: String?
    /// Other libcurl options, for settings that have no property here.
    public var curlOptions: [CurlOption] = []

    /// Creates the default options.
    public init() {}

    /// The address family to use for a name.
    public enum AddressFamily: Sendable, Hashable {
        /// Both families; the first to connect is used (RFC 8305).
        case any
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }

    /// A version of HTTP.
    public enum HTTPVersion: Sendable, Hashable {
        /// HTTP/1.1 only.
        case http1
        /// HTTP/2 over TLS where the server offers it, else HTTP/1.1.
        case http2
    }

    /// When `Expect: 100-continue` is sent.
    public enum ExpectContinue: Sendable, Hashable {
        /// Never.
        case never
        /// Sent with bodies larger than the given size or of unknown length, but never below 1 MiB, where waiting takes
        /// longer than sending the body. If the server does not respond within `wait`, the body is sent anyway. A
        /// server that ignored or rejected the expectation (417) does not receive it again.
        case above(ByteCount, wait: Duration = .milliseconds(200))
    }

    /// TLS options. The minimum version is always TLS 1.2.
    public struct TLSOptions: Sendable, Hashable {
        /// A PEM file with the certificate authorities to trust instead of the system's.
        public var certificateAuthorities: String?
        /// The same as the content of such a file, for programs that embed it. Cannot be combined with a file.
        public var certificateAuthoritiesPEM: String?
        /// The certificate to present to a server that requests one.
        public var clientCertificate: ClientCertificate?
        /// The accepted hashes of the server's public key, each as `sha256//` and 44 characters of Base64 (RFC 7469
        /// section 2.4, without the quotes). If empty, any key is accepted. This is in addition to other verification.
        ///
        /// ```sh
        /// openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der |
        ///     openssl dgst -sha256 -binary | base64
        /// ```
        public var pinnedKeys: [String] = []
        /// Accepts any certificate. An attacker between client and server can then read and change all data: use it in
        /// test environments only. Each use is logged as a warning.
        public var insecureSkipVerification = false

        /// Creates options that verify against the system's certificate authorities.
        public init() {}
    }
}

/// The limits of a transfer. Time in a queue never counts. Time while paused counts only for `connect` and `total`.
public struct TransferLimits: Sendable, Hashable {
    /// The time from the start until the connection is ready: name resolution, TCP, TLS.
    public var connect: Duration = .seconds(15)
    /// The time that the peer may acknowledge nothing while bytes are outstanding.
    public var stall: Duration = .seconds(15)
    /// The time from the last acknowledged byte of the body to the last byte of the response.
    public var response: Duration = .seconds(60)
    /// The time from the start to the end of the attempt, or `nil` for no limit: a large file may take long.
    public var total: Duration?
    /// The maximum size of a response body. A longer body is an error.
    public var responseBody: ByteCount = .mebibytes(10)
    /// The maximum size of a response head.
    public var responseHead: ByteCount = .kibibytes(64)
    /// The maximum number of header lines in a response head.
    public var responseHeadLines = 128

    /// Creates the default limits.
    public init() {}
}
