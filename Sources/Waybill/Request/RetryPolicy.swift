/// When a failed attempt is followed by another one, and after how long a wait.
///
/// An attempt is repeated if the server knows nothing of it (`notSent`), if its body was never sent whole (`incomplete`), and
/// after a response with one of ``statuses``. If the server may have acted on this attempt or an earlier one (`unknown`: no
/// response, or 408, 500, 502 or 504 after the whole body), only two kinds of request are repeated: those with an
/// idempotent method, such as `PUT` and `DELETE` (RFC 9110 section 9.2.2), and those with a key that the server honours
/// (``UploadOptions/idempotency``). Nothing is retried after a failed certificate verification, an error of the body, or a
/// cancel. A body that can't be read twice is never retried.
///
/// The wait is *full jitter*: a random time between zero and `baseDelay · 2ⁿ`, at most `maxDelay`, so that a thousand
/// clients of a server that comes back don't come back together. A `Retry-After` is a floor under it, in seconds or as a
/// date, which is read against the answer's own `Date`: the two clocks need not agree.
///
/// ```swift
/// options.retry = RetryPolicy(maxRetries: 5, maxDelay: .seconds(10), deadline: .seconds(90))
/// options.retry = .none
/// ```
public struct RetryPolicy: Sendable, Hashable {
    /// The most retries after the first attempt; 0 for none.
    public var maxRetries: Int
    /// The upper end of the first random wait; it doubles with each retry.
    public var baseDelay: Duration
    /// The most that the upper end grows to.
    public var maxDelay: Duration
    /// The longest `Retry-After` that is waited for; a longer one counts as this.
    public var maxRetryAfter: Duration
    /// Whether an attempt that broke within its body is repeated. A server that acts on half a body breaks
    /// RFC 9112 section 8, but if yours does, say `false`.
    public var retriesIncomplete: Bool
    /// The status codes after which the request is sent again, where that is harmless.
    public var statuses: Set<Int>
    /// Whether a request with an idempotent method is sent again if its whole body was sent and no response arrived. Say
    /// `false` if your server does not treat `PUT` and `DELETE` as idempotent.
    public var retriesLostResponses: Bool
    /// How long after the start of the first attempt a retry may still begin, or `nil` for as long as it takes. An attempt
    /// that runs is not cut off by it; that is `TransferLimits.total`. Time in which the upload was paused does not count.
    public var deadline: Duration?

    /// The defaults are those of ``standard``.
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

    /// Three retries, full jitter from 1 s to 60 s.
    public static let standard = RetryPolicy()
    /// No retry.
    public static let none = RetryPolicy(maxRetries: 0)
}
