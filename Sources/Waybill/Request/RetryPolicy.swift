/// A policy that determines whether a failed attempt is retried, and after which delay.
///
/// An attempt is retried if the server has not seen it (`notSent`), if its body was not sent completely (`incomplete`),
/// and after a response with one of ``statuses``. If the server may have acted on this attempt or an earlier one
/// (`unknown`: no response, or 408, 500, 502 or 504 after the whole body), only two kinds of request are retried: those
/// with an idempotent method, such as `PUT` and `DELETE` (RFC 9110 section 9.2.2), and those with a key that the server
/// honours (``UploadOptions/idempotency``). There is no retry after a failed certificate verification, an error of the
/// body, or a cancellation, nor for a body that can't be read twice.
///
/// The delay has *full jitter*: a random time between zero and `baseDelay · 2ⁿ`, at most `maxDelay`, so that the
/// clients of a recovering server do not all reconnect at the same time. `Retry-After` is a lower bound of the delay,
/// in seconds or as a date. The date is compared with the `Date` of the response, so the clocks need not agree.
///
/// ```swift
/// options.retry = RetryPolicy(maxRetries: 5, maxDelay: .seconds(10), deadline: .seconds(90))
/// options.retry = .none
/// ```
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of retries after the first attempt; 0 for none.
    public var maxRetries: Int
    /// The upper bound of the first random delay. It doubles with each retry.
    public var baseDelay: Duration
    /// The maximum of the upper bound.
    public var maxDelay: Duration
    /// The maximum for `Retry-After`; a longer one counts as this.
    public var maxRetryAfter: Duration
    /// Whether an attempt that failed while its body was sent is retried. A server that acts on an incomplete body
    /// violates RFC 9112 section 8. Set this to `false` if yours does.
    public var retriesIncomplete: Bool
    /// The status codes after which the request is sent again, if that is safe.
    public var statuses: Set<Int>
    /// Whether a request with an idempotent method is sent again if its whole body was sent and no response arrived.
    /// Set this to `false` if your server does not treat `PUT` and `DELETE` as idempotent.
    public var retriesLostResponses: Bool
    /// The time after the start of the first attempt until which a retry may begin, or `nil` for no limit. A running
    /// attempt is not interrupted; for that, use `TransferLimits.total`. Time during which the upload was paused does
    /// not count.
    public var deadline: Duration?

    /// Creates a policy. The defaults are those of ``standard``.
    public init(
        maxRetries: Int = 3, baseDelay: Duration = .seconds(1), maxDelay: Duration = .seconds(60),
        maxRetryAfter: Duration = .seconds(120), retriesIncomplete: Bool = true,
        statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504], retriesLostResponses: Bool = true,
        deadline: Duration? = nil
    ) {
        self.maxRetries = maxRetries
        self.baseDelay = baseDelay
        self.maxDelay = maxDelay
        self.maxRetryAfter = maxRetryAfter
        self.retriesIncomplete = retriesIncomplete
        self.statuses = statuses
        self.retriesLostResponses = retriesLostResponses
        self.deadline = deadline
    }

    /// Three retries with full jitter from 1 s to 60 s.
    public static let standard = RetryPolicy()
    /// No retries.
    public static let none = RetryPolicy(maxRetries: 0)
}
