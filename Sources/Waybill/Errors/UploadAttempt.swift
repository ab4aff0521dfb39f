public import HTTPTypes
public import WaybillCore

/// One attempt of an upload: how it ended, why, and what came of it.
///
/// Every request that went out is an attempt: the first one, a retry, the hop of a redirect, the second try with fresh
/// credentials, a restart after a pause.
public struct UploadAttempt: Sendable, Hashable {
    /// The number, from 1.
    public var number: Int
    /// Why it failed, or `nil` when it brought the answer that was accepted.
    public var code: UploadError.Code?
    /// One sentence that says how it ended.
    public var reason: String
    /// What may be believed of a failed attempt; `nil` for the one that succeeded.
    public var outcome: UploadOutcome?
    /// The status, when a complete answer or at least its head came.
    public var status: HTTPResponse.Status?
    /// Body bytes handed to the kernel.
    public var sent: Int64
    /// Body bytes that the peer acknowledged.
    public var acknowledged: Int64
    /// Where the time went.
    public var metrics: TransferMetrics
    /// What came of it.
    public var sequel: AttemptSequel

    /// Describes an attempt.
    public init(
        number: Int, code: UploadError.Code?, reason: String, outcome: UploadOutcome?,
        status: HTTPResponse.Status? = nil, sent: Int64 = 0, acknowledged: Int64 = 0,
        metrics: TransferMetrics = TransferMetrics(), sequel: AttemptSequel = .end
    ) {
        self.number = number
        self.code = code
        self.reason = reason
        self.outcome = outcome
        self.status = status
        self.sent = sent
        self.acknowledged = acknowledged
        self.metrics = metrics
        self.sequel = sequel
    }

    /// How long was waited before the next attempt; `nil` when it was no retry.
    public var retryDelay: Duration? {
        if case .retry(let delay, _) = sequel { delay } else { nil }
    }
}

/// What came after an attempt.
public enum AttemptSequel: Sendable, Hashable {
    /// The end, with no question of going on: it was accepted, it was cancelled, or the next try would meet the same.
    case end
    /// A retry after a wait.
    case retry(after: Duration, source: DelaySource)
    /// The end, though the failure was of a kind that may pass.
    case noRetry(NoRetryReason)

    /// The server sent the upload on, to this URL (without user, password and query).
    case redirect(to: String)
    /// The same once more, with a fresh credential.
    case freshCredential
    /// The same once more, from the first byte: the upload was paused for longer than its connection was kept. That is no
    /// retry and spends none.
    case restart

    /// What set the length of a wait.
    public enum DelaySource: Sendable, Hashable {
        /// The policy's random wait.
        case backoff
        /// The server's `Retry-After`, which was longer.
        case retryAfter
    }
}

/// Why an attempt that failed in a passing way was the last.
public struct NoRetryReason: Sendable, Hashable, CustomStringConvertible {
    /// In words.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// ``RetryPolicy/maxRetries`` were made.
    public static let attemptsUsedUp = Self("the attempts are used up")
    /// The next one would begin after ``RetryPolicy/deadline``.
    public static let deadlinePassed = Self("the deadline would have passed")
    /// The session has no retry left for this host: ``RetryBudget``.
    public static let budgetExhausted = Self("the budget of retries for this host is used up")
    /// The body can be read once only.
    public static let bodyNotReplayable = Self("the body can be read once only")
    /// The server may have acted on an earlier attempt, and nobody said that it would know the second as the same.
    public static let mayBeStored = Self("the server may have acted on it")
    /// The server may have acted, and by the next attempt it may have forgotten the key: ``Idempotency``.
    public static let idempotencyWindowClosed = Self("the server may no longer know the idempotency key")
}

extension UploadAttempt: CustomStringConvertible {
    /// One line: `attempt 2: 503 Service Unavailable, next after 1.5 seconds`.
    public var description: String { "attempt \(number): \(reason)\(sequel.words)" }
}

extension AttemptSequel {
    fileprivate var words: String {
        switch self {
        case .end: ""
        case .retry(let delay, .backoff): ", next after \(delay)"
        case .retry(let delay, .retryAfter): ", next after \(delay) as the server asked"
        case .redirect(let url): ", on to \(url)"
        case .freshCredential: ", next with a fresh credential"
        case .restart: ", sent anew after the pause"
        case .noRetry(let reason): ", no retry: \(reason)"
        }
    }
}
