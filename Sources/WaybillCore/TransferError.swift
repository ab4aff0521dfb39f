public import HTTPTypes

/// The reason why an attempt received no complete response.
///
/// ``code`` is for programs and ``message`` for people: it says what went wrong and what to do. ``outcome`` says
/// whether the server may have acted.
public struct TransferError: Error, Sendable {
    /// A type of failure. New codes may be added in any release, so give a `switch` a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, as printed.
        public let description: String
        /// Creates a code, for transports with their own errors. Use a short name in camel case.
        public init(_ name: String) { description = name }
    }

    /// The type of failure.
    public var code: Code
    /// A description of the failure and its remedy.
    public var message: String
    /// Whether the server may have acted.
    public var outcome: UploadOutcome
    /// The number and description of libcurl's error code, if there is one: `52 (Server returned nothing…)`.
    public var transportCode: String?
    /// The status of a final response whose head arrived before the failure.
    public var status: HTTPResponse.Status?
    /// The underlying error, such as a body that could not be read.
    public var cause: (any Error)?

    /// Creates an error.
    public init(
        _ code: Code, _ message: String, outcome: UploadOutcome, transportCode: String? = nil,
        status: HTTPResponse.Status? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.outcome = outcome
        self.transportCode = transportCode
        self.status = status
        self.cause = cause
    }
}

extension TransferError.Code {
    /// The URL is malformed, or its scheme is not `http` or `https`.
    public static let invalidURL = Self("invalidURL")
    /// A header field or another value of the request is invalid.
    public static let invalidRequest = Self("invalidRequest")
    /// The host name could not be resolved.
    public static let hostNotFound = Self("hostNotFound")
    /// The connection was refused or the host is unreachable.
    public static let cannotConnect = Self("cannotConnect")
    /// No file descriptor or thread is available.
    public static let resourcesExhausted = Self("resourcesExhausted")
    /// The connection was not established within the limit.
    public static let connectTimeout = Self("connectTimeout")
    /// The peer stopped acknowledging bytes.
    public static let stalled = Self("stalled")
    /// The body was sent, and no complete response arrived within the limit.
    public static let responseTimeout = Self("responseTimeout")
    /// The limit for the whole attempt expired.
    public static let totalTimeout = Self("totalTimeout")
    /// The connection broke.
    public static let connectionLost = Self("connectionLost")
    /// The peer closed the connection before or during the response.
    public static let responseIncomplete = Self("responseIncomplete")
    /// The server sent a success status before it had received the whole body.
    public static let bodyNotTaken = Self("bodyNotTaken")
    /// The response is not valid HTTP.
    public static let malformedResponse = Self("malformedResponse")
    /// The response is larger than allowed.
    public static let responseTooLarge = Self("responseTooLarge")
    /// The TLS handshake failed.
    public static let tlsFailed = Self("tlsFailed")
    /// The peer's certificate is not trusted. Never retried.
    public static let certificateNotTrusted = Self("certificateNotTrusted")
    /// A certificate, key or certificate authority in the options can't be used. Never retried.
    public static let tlsSettingsUnusable = Self("tlsSettingsUnusable")
    /// The proxy refused the request or could not reach the server. The message contains the proxy's response.
    public static let proxyFailed = Self("proxyFailed")
    /// The body could not be read to its end; see ``TransferError/cause``.
    public static let bodyFailed = Self("bodyFailed")
    /// The body would have to be sent again, which this transport never does implicitly.
    public static let resendRefused = Self("resendRefused")
    /// The caller cancelled the attempt.
    public static let cancelled = Self("cancelled")
    /// Any other failure. The message contains libcurl's description.
    public static let other = Self("other")
}

extension TransferError: CustomStringConvertible {
    /// One line with the code, the message and libcurl's code.
    public var description: String {
        let suffix = transportCode.map { " [curl \($0)]" } ?? ""
        return "\(code): \(message)\(suffix)"
    }
}
