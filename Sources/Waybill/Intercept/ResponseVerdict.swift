/// What an interceptor makes of an answer whose status is accepted.
public enum ResponseVerdict: Sendable, Hashable {
    /// It is a yes.
    case accepted
    /// It is a no: the upload ends with ``UploadError/Code/envelopeRejected``, the answer inside. Never retried.
    case rejected(code: String = "", message: String = "")
    /// The credential is no longer good. As after 401, it is refreshed and the upload sent once more, if
    /// ``UploadOptions/authentication`` can be; else it is a no.
    case credentialExpired(code: String = "", message: String = "")
    /// It means "not now": retried as ``RetryPolicy`` has it for 503, `Retry-After` and the budget included. With no retry
    /// left it is a no.
    case retry(code: String = "", message: String = "")
}

/// What the server said in the body of an answer whose status was a yes: ``UploadError/envelope``.
public struct EnvelopeRefusal: Sendable, Hashable {
    /// The code, as text; empty where there is none.
    public var code: String
    /// What it says to people; empty where it says nothing. Foreign text, with control characters made visible.
    public var message: String
    /// Whether it means "not now".
    public var asksForRetry: Bool

    /// Describes a refusal.
    public init(code: String, message: String, asksForRetry: Bool = false) {
        self.code = code
        self.message = message
        self.asksForRetry = asksForRetry
    }
}

extension EnvelopeRefusal: CustomStringConvertible {
    /// Code and message: `1001 no such business`.
    public var description: String { [code, message].filter { !$0.isEmpty }.joined(separator: " ") }
}
