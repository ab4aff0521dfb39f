/// The verdict of an interceptor on a response with an accepted status.
public enum ResponseVerdict: Sendable, Hashable {
    /// The upload succeeded.
    case accepted
    /// The upload failed with ``UploadError/Code/envelopeRejected``, and the error contains the response. Never
    /// retried.
    case rejected(code: String = "", message: String = "")
    /// The credential has expired. As after 401, it is refreshed and the upload is sent again, if
    /// ``UploadOptions/authentication`` can be refreshed. Otherwise the upload fails.
    case credentialExpired(code: String = "", message: String = "")
    /// The server asks for a retry. The upload is retried like 503 under ``RetryPolicy``, including `Retry-After` and
    /// the budget. If no retry is left, the upload fails.
    case retry(code: String = "", message: String = "")
}

/// The failure that the body of a response reports although its status indicates success. See ``UploadError/envelope``.
public struct EnvelopeRejection: Sendable, Hashable {
    /// The code as text; empty without a code.
    public var code: String
    /// The message of the server; empty without a message. Untrusted text, with control characters made visible.
    public var message: String
    /// Whether the server asks for a retry.
    public var requestsRetry: Bool

    /// Creates a rejection.
    public init(code: String, message: String, requestsRetry: Bool = false) {
        self.code = code
        self.message = message
        self.requestsRetry = requestsRetry
    }
}

extension EnvelopeRejection: CustomStringConvertible {
    /// The code and the message: `1001 no such business`.
    public var description: String { [code, message].filter { !$0.isEmpty }.joined(separator: " ") }
}
