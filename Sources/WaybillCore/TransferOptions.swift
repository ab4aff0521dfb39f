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
    /// The proxy's URL, or `nil` for none. The environment's proxies are never used unasked.
    public var proxy: String?
    /// Addresses to use in place of a name look-up, as `host:port:address` (`CURLOPT_RESOLVE`).
    public var resolve: [String] = []

    /// The defaults.
    public init() {}

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
