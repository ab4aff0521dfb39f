package import HTTPTypes
package import WaybillCore

/// When a failed attempt is followed by another one, and after how long a wait.
///
/// Only what cannot do harm is repeated: an attempt of which the server knows nothing (`notSent`), one whose body never
/// left whole (`incomplete`), and an answer that itself says "not now" (408, 425, 429, 500, 502, 503, 504). What may have
/// been stored (`unknown`) is never sent again on a guess; nor is anything after a failure of trust in TLS, an error of
/// the body, or a cancel. A body that can't be read twice is never retried.
///
/// The wait is *full jitter*: a random time between zero and `baseDelay · 2ⁿ`, at most `maxDelay`, so that a thousand
/// clients of a server that comes back don't come back together. A `Retry-After` in seconds is a floor under it.
///
/// ```swift
/// options.retry = RetryPolicy(maxRetries: 5, maxDelay: .seconds(10))
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
    /// The status codes that say "not now".
    public var statuses: Set<Int>

    /// The defaults are those of ``standard``.
    public init(
        maxRetries: Int = 3, baseDelay: Duration = .seconds(1), maxDelay: Duration = .seconds(60),
        maxRetryAfter: Duration = .seconds(120), retriesIncomplete: Bool = true,
        statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    ) {
        self.maxRetries = maxRetries
        self.baseDelay = baseDelay
        self.maxDelay = maxDelay
        self.maxRetryAfter = maxRetryAfter
        self.retriesIncomplete = retriesIncomplete
        self.statuses = statuses
    }

    /// Three retries, full jitter from 1 s to 60 s.
    public static let standard = RetryPolicy()
    /// No retry.
    public static let none = RetryPolicy(maxRetries: 0)
}

extension RetryPolicy {
    /// What a policy looks at.
    package struct Question: Sendable {
        /// The attempt that failed, from 1.
        package var attempt: Int
        /// Why; a body that failed on the way is `bodyFailed` here, whatever its own reason was.
        package var code: UploadError.Code
        /// What may be believed of it.
        package var outcome: UploadOutcome
        /// Whether the body can be sent again.
        package var isReplayable: Bool
        /// The answer, if there was a complete one.
        package var response: HTTPResponse?

        package init(
            attempt: Int, code: UploadError.Code, outcome: UploadOutcome, isReplayable: Bool,
            response: HTTPResponse? = nil
        ) {
            self.attempt = attempt
            self.code = code
            self.outcome = outcome
            self.isReplayable = isReplayable
            self.response = response
        }
    }

    /// The wait before the next attempt, or `nil` when there must be none. The same random number in 0...1 gives the
    /// same answer.
    package func delay(after question: Question, jitter: Double) -> Duration? {
        guard question.attempt <= maxRetries, question.isReplayable, isWorthwhile(question) else { return nil }
        let doublings = min(question.attempt - 1, 30)
        let ceiling = min(maxDelay, baseDelay * (1 << doublings))
        let wait = ceiling * min(max(jitter, 0), 1)
        guard let floor = question.response.flatMap(Self.retryAfter) else { return wait }
        return max(wait, min(floor, maxRetryAfter))
    }

    private func isWorthwhile(_ question: Question) -> Bool {
        guard !Self.neverRetried.contains(question.code) else { return false }
        return switch question.outcome {
        case .notSent: true
        case .incomplete: retriesIncomplete
        case .rejected: question.response.map { statuses.contains($0.status.code) } ?? false
        case .unknown: false
        }
    }

    /// Failures that the next attempt would meet again, or that must not be tried around.
    static let neverRetried: Set<UploadError.Code> = [
        .cancelled, .sessionClosed, .certificateNotTrusted, .bodyFailed, .invalidURL, .invalidRequest,
        .responseTooLarge, .decodingFailed,
    ]

    /// The seconds of `Retry-After` (RFC 9110 section 10.2.3). Its date form depends on two clocks agreeing and is not
    /// read: the jitter alone then rules.
    static func retryAfter(of response: HTTPResponse) -> Duration? {
        guard let text = response.headerFields[.retryAfter], !text.isEmpty, text.utf8.count <= 9,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text)
        else { return nil }
        return .seconds(seconds)
    }
}
