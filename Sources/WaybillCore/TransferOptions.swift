/// How a transfer is to be run.
public struct TransferOptions: Sendable, Hashable {
    /// The limits in time and size.
    public var limits = TransferLimits()
    /// The most bytes per second that the body may take, or `nil` for no limit.
    public var rateLimit: ByteCount?
    /// The version of HTTP. HTTP/1.1 by default: for uploads it is the faster one, by half.
    public var httpVersion: HTTPVersion = .http1
    /// When to ask the server's leave before the body is sent (RFC 9110 section 10.1.1).
    public var expectContinue: ExpectContinue = .above(.mebibytes(8))
    /// What is asked of TLS.
    public var tls = TLSOptions()
    /// The user and password of HTTP Digest, or `nil` for none. The body's length must be known.
    public var digest: DigestCredential?
    /// The proxy's URL, or `nil` for none: `http`, `https`, `socks4`, `socks4a`, `socks5`, and `socks5h`, which looks names
    /// up itself. The environment's proxies are never used unasked.
    public var proxy: String?
    /// The user and password that the proxy wants (Basic, or RFC 1929 with SOCKS 5), unless they stand in its URL.
    public var proxyCredential: ProxyCredential?
    /// Hosts that are spoken to without the proxy: names, with all names that end in them (`example.com`), addresses, and
    /// ranges of addresses (`10.0.0.0/8`); `*` for all.
    public var proxyExceptions: [String] = []
    /// What is asked of TLS with an `https` proxy; what is asked of the server's is ``tls``.
    public var proxyTLS = TLSOptions()
    /// Addresses to use in place of a name look-up, as `host:port:address`, for this upload alone. Other uploads of the
    /// session never see them.
    public var resolve: [String] = []
    /// Which addresses of a name are used.
    public var addressFamily = AddressFamily.any
    /// The path of a Unix socket to connect to in place of the URL's host, which still goes into `Host`. At most 107 bytes.
    public var unixSocket: String?
    /// Other options of libcurl, for what has no property here.
    public var curlOptions: [CurlOption] = []

    /// The defaults.
    public init() {}

    /// Which addresses of a name are used.
    public enum AddressFamily: Sendable, Hashable {
        /// Both; the faster one wins (RFC 8305).
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
        /// With bodies of more than so many bytes, or of unknown length; never under 1 MiB, where the question takes longer
        /// than the body. A server that does not answer within the wait gets the body all the same, and one that ignored
        /// or refused the question (417) is not asked again.
        case above(ByteCount, wait: Duration = .milliseconds(200))
    }

    /// What is asked of TLS. The version is 1.2 or later, always.
    public struct TLSOptions: Sendable, Hashable {
        /// A PEM file with the authorities to trust in place of the system's.
        public var certificateAuthorities: String?
        /// The same as the text of such a file, for programs that bring it along. Not beside a file.
        public var certificateAuthoritiesPEM: String?
        /// What we show to a server that wants to know who we are.
        public var clientCertificate: ClientCertificate?
        /// The hashes of public keys of which the server's has to be one, as `sha256//` and 44 characters of Base64 (RFC
        /// 7469 section 2.4, without the quotes). Empty to take any. This comes on top of what is verified otherwise.
        ///
        /// ```sh
        /// openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der |
        ///     openssl dgst -sha256 -binary | base64
        /// ```
        public var pinnedKeys: [String] = []
        /// Accepts any certificate. Whoever sits between you and the server reads and changes everything: for a
        /// laboratory only. Each use is logged as a warning.
        public var insecureSkipVerification = false

        /// The system's authorities, verified.
        public init() {}
    }
}

/// The limits of a transfer. Time spent in a queue never counts, nor does that of a pause, except for `connect` and `total`.
public struct TransferLimits: Sendable, Hashable {
    /// From the start to a connection that is ready: name look-up, TCP, TLS.
    public var connect: Duration = .seconds(15)
    /// How long the peer may acknowledge nothing while bytes wait for it.
    public var stall: Duration = .seconds(15)
    /// From the last acknowledged byte of the body to the last byte of the answer.
    public var response: Duration = .seconds(60)
    /// From the start to the end of the attempt, or `nil`: a large file over a slow line takes what it takes.
    public var total: Duration?
    /// The largest response body that is kept. A longer one is an error.
    public var responseBody: ByteCount = .mebibytes(10)
    /// The largest response head.
    public var responseHead: ByteCount = .kibibytes(64)
    /// The most header lines in a response head.
    public var responseHeadLines = 128

    /// The defaults.
    public init() {}
}
