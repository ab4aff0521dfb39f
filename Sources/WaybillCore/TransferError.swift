public import HTTPTypes

/// Why an attempt came to no complete response.
///
/// ``code`` is for programs, ``message`` for people: it says what went wrong and what to do. ``outcome`` says what may
/// be believed about the server's side.
public struct TransferError: Error, Sendable {
    /// A kind of failure. Open: new ones may come with any release, so give a `switch` a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name, as it is printed.
        public let description: String
        /// Makes a code, for transports with errors of their own: a short name in camel case.
        public init(_ name: String) { description = name }
    }

    /// What kind of failure it is.
    public var code: Code
    /// What went wrong, and the remedy.
    public var message: String
    /// What may be believed about the server's side.
    public var outcome: UploadOutcome
    /// The number and name of libcurl's own code, when there is one: `52 (Server returned nothing…)`.
    public var transportCode: String?
    /// The status of a final response whose head was seen before the failure.
    public var status: HTTPResponse.Status?
    /// The error underneath: a body that could not be read, for example.
    public var cause: (any Error)?

    /// Describes a failure.
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
    /// The URL can't be used: malformed, or not `http` or `https`.
    public static let invalidURL = Self("invalidURL")
    /// A header field or another value of the request is refused.
    public static let invalidRequest = Self("invalidRequest")
    /// The host's name has no address.
    public static let hostNotFound = Self("hostNotFound")
    /// Nobody listens, or the way there is closed.
    public static let cannotConnect = Self("cannotConnect")
    /// No file descriptor or no thread is free.
    public static let resourcesExhausted = Self("resourcesExhausted")
    /// The connection was not ready in time.
    public static let connectTimeout = Self("connectTimeout")
    /// The peer stopped taking bytes.
    public static let stalled = Self("stalled")
    /// The body was taken, and no whole answer came in time.
    public static let responseTimeout = Self("responseTimeout")
    /// The limit for the whole attempt ran out.
    public static let totalTimeout = Self("totalTimeout")
    /// The connection broke.
    public static let connectionLost = Self("connectionLost")
    /// The peer closed without an answer, or in the middle of it.
    public static let responseIncomplete = Self("responseIncomplete")
    /// The server said yes before it had taken the whole body.
    public static let bodyNotTaken = Self("bodyNotTaken")
    /// The answer is not HTTP, or breaks its rules.
    public static let malformedResponse = Self("malformedResponse")
    /// The answer is larger than allowed.
    public static let responseTooLarge = Self("responseTooLarge")
    /// TLS could not be agreed on.
    public static let tlsFailed = Self("tlsFailed")
    /// The peer's certificate is not trusted. Never retried.
    public static let certificateNotTrusted = Self("certificateNotTrusted")
    /// A certificate, a key or an authority of the options can't be used. Never retried.
    public static let tlsSettingsUnusable = Self("tlsSettingsUnusable")
    /// The proxy refused, or could not reach the server; what it said is in the message.
    public static let proxyFailed = Self("proxyFailed")
    /// The body could not be read to its end; see ``TransferError/cause``.
    public static let bodyFailed = Self("bodyFailed")
    /// The body would have to be sent again, and this transport never does that by itself.
    public static let resendRefused = Self("resendRefused")
    /// Cancelled by the caller.
    public static let cancelled = Self("cancelled")
    /// Anything else; the message says what libcurl said.
    public static let other = Self("other")
}

extension TransferError: CustomStringConvertible {
    /// One line: code, message, libcurl's code.
    public var description: String {
        let suffix = transportCode.map { " [curl \($0)]" } ?? ""
        return "\(code): \(message)\(suffix)"
    }
}
