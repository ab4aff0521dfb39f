public import HTTPTypes
public import WaybillCore

/// One attempt of an upload: how it ended, why, and what followed.
///
/// Every request is an attempt: the first one, a retry, a redirect, a repetition with new credentials, and a restart
/// after a pause.
public struct UploadAttempt: Sendable, Hashable {
    /// The number of the attempt, from 1.
    public var number: Int
    /// The error code, or `nil` for the attempt that received the accepted response.
    public var code: UploadError.Code?
    /// One sentence that describes how the attempt ended.
    public var reason: String
    /// The outcome of a failed attempt on the server; `nil` for the attempt that succeeded.
    public var outcome: UploadOutcome?
    /// The status, if at least the head of a response was received.
    public var status: HTTPResponse.Status?
    /// Body bytes handed to the kernel.
    public var sent: Int64
    /// Body bytes that the peer acknowledged.
    public var acknowledged: Int64
    /// The timing of the attempt.
    public var metrics: TransferMetrics
    /// What followed the attempt.
    public var disposition: AttemptDisposition
    /// The URL under which a tus server has stored the body.
    var uploadURL: String?

    /// Creates an attempt.
    public init(
        number: Int, code: UploadError.Code?, reason: String, outcome: UploadOutcome?,
        status: HTTPResponse.Status? = nil, sent: Int64 = 0, acknowledged: Int64 = 0,
        metrics: TransferMetrics = TransferMetrics(), disposition: AttemptDisposition = .end
    ) {
        self.number = number
        self.code = code
        self.reason = reason
        self.outcome = outcome
        self.status = status
        self.sent = sent
        self.acknowledged = acknowledged
        self.metrics = metrics
        self.disposition = disposition
    }

    /// The delay before the next attempt; `nil` if no retry followed.
    public var retryDelay: Duration? {
        if case .retry(let delay, _) = disposition { delay } else { nil }
    }
}

/// What followed an attempt.
public enum AttemptDisposition: Sendable, Hashable {
    /// The upload ended, and no retry was considered: it was accepted or cancelled, or a retry would fail in the same
    /// way.
    case end
    /// A retry after a delay.
    case retry(after: Duration, source: DelaySource)
    /// The upload ended without a retry, although the failure was transient.
    case noRetry(NoRetryReason)

    /// A redirect to this URL (without user, password and query).
    case redirect(to: String)
    /// The same request with a new credential.
    case freshCredential
    /// The same request from its first byte, because the upload was paused for longer than its connection was kept. It
    /// does not count as a retry.
    case restart

    /// The source of a retry delay.
    public enum DelaySource: Sendable, Hashable {
        /// The random delay of the policy.
        case backoff
        /// The server's `Retry-After`, which was longer.
        case retryAfter
    }
}

/// The reason why an attempt with a transient failure was not retried.
public struct NoRetryReason: Sendable, Hashable, CustomStringConvertible {
    /// A description of the reason in words.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// All ``RetryPolicy/maxRetries`` were used.
    public static let attemptsUsedUp = Self("the maximum number of retries is reached")
    /// The retry would begin after ``RetryPolicy/deadline``.
    public static let deadlinePassed = Self("the retry would start after the deadline")
    /// The session has no retry left for this host. See ``RetryBudget``.
    public static let budgetExhausted = Self("the retry budget of the host is exhausted")
    /// The body can be read only once.
    public static let bodyNotReplayable = Self("the body can be read only once")
    /// The server may have acted on an earlier attempt, and there is no indication that it would recognize a duplicate.
    public static let mayBeStored = Self("the server may have acted on the upload")
    /// The server may have acted on an earlier attempt, and may have forgotten the key by the next one. See
    /// ``Idempotency``.
    public static let idempotencyWindowClosed = Self("the idempotency key may have expired on the server")
}

extension UploadAttempt: CustomStringConvertible {
    /// One line: `attempt 2: 503 Service Unavailable [retry after 1.5 seconds]`.
    public var description: String { "attempt \(number): \(reason)\(disposition.suffix)" }
}

extension AttemptDisposition {
    fileprivate var suffix: String {
        switch self {
        case .end: ""
        case .retry(let delay, .backoff): " [retry after \(delay)]"
        case .retry(let delay, .retryAfter): " [retry after \(delay), as the server requested]"
        case .redirect(let url): " [redirected to \(url)]"
        case .freshCredential: " [repeated with a new credential]"
        case .restart: " [restarted after the pause]"
        case .noRetry(let reason): " [no retry: \(reason)]"
        }
    }
}
