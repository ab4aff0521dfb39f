import HTTPTypes
import Waybill
import WaybillCore

/// The effect of a failed delivery on its item and its lane: a mapping of the codes of ``UploadError``.
struct FailureClass {
    var ending: ItemLife.Ending
    var lane: LaneLife.Event?
    /// Whether another attempt counts against the retry budget of the lane.
    var isRetry = false

    /// - Parameters:
    ///   - error: The error of the delivery.
    ///   - attempt: The number of the attempt, from 1; the random wait doubles with it.
    ///   - policy: The retry policy.
    ///   - jitter: A random number in 0...1.
    init(_ error: UploadError, attempt: Int, policy: OutboxRetry, jitter: Double) {
        let reason = error.code.description
        let wait = policy.wait(attempt: attempt, jitter: jitter)
        if error.isCancelled, !error.outcome.mayHaveActed {
            ending = .aborted
        } else if Self.sourceChangeCodes.contains(error.code) {
            ending = .sourceChanged(reason, delay: wait)
        } else if error.outcome == .processed {
            // It is certain that the server has acted, so it is never sent again; only its response is unknown.
            ending = .refused(reason)
        } else if error.outcome.mayHaveActed, error.envelope == nil {
            self = Self.unknown(error, wait: wait)
        } else if Self.laneCodes.contains(error.code) {
            ending = .lane(reason)
            lane = .block(reason, jitter: jitter)
        } else if error.phase == .waiting || error.phase == .preparing {
            // Nothing was sent, and the next attempt would fail in the same way.
            ending = .refused(reason)
        } else if error.outcome == .notSent, Self.offlineCodes.contains(error.code) {
            ending = .offline(reason)
            lane = .offline(jitter: jitter)
        } else if let response = error.response, error.outcome == .rejected {
            self = Self.rejected(status: response.status.code, error, wait: wait, jitter: jitter)
        } else if Self.permanentCodes.contains(error.code) {
            ending = .refused(reason)
        } else {
            ending = .transient(reason, delay: wait)
            isRetry = true
        }
    }

    private init(_ ending: ItemLife.Ending, lane: LaneLife.Event? = nil, isRetry: Bool = false) {
        self.ending = ending
        self.lane = lane
        self.isRetry = isRetry
    }

    /// A lost response is verified immediately; after a response such as 500 the server gets the wait of a retry.
    private static func unknown(_ error: UploadError, wait: Int64) -> FailureClass {
        guard let status = error.response?.status.code, status >= 300 else {
            return FailureClass(.unknown(error.code.description))
        }
        let requested = requestedDelay(error)
        return FailureClass(
            .unknown("status\(status)", delay: max(wait, requested ?? 0)), lane: requested.map { .suspend($0) },
            isRetry: true)
    }

    /// Returns the delay of `Retry-After` in milliseconds, at most one hour.
    private static func requestedDelay(_ error: UploadError) -> Int64? {
        error.retryAfter.map { min($0.milliseconds, 3_600_000) }
    }

    private static func rejected(
        status: Int, _ error: UploadError, wait: Int64, jitter: Double
    ) -> FailureClass {
        let requested = requestedDelay(error)
        if error.envelope?.requestsRetry == true || OutboxRetry.statuses.contains(status) {
            let lane: LaneLife.Event? = requested.map { .suspend($0) }
            return FailureClass(
                .transient("status\(status)", delay: max(wait, requested ?? 0)), lane: lane, isRetry: true)
        }
        if [401, 407].contains(status) {
            return FailureClass(.lane("status\(status)"), lane: .block("status\(status)", jitter: jitter))
        }
        let reason = error.code == .rejected ? "status\(status)" : error.code.description
        return FailureClass(.refused(reason), lane: status == 403 ? .forbidden(reason, jitter: jitter) : .responded)
    }

    private static let sourceChangeCodes: Set<UploadError.Code> = [.sourceChanged]
    private static let laneCodes: Set<UploadError.Code> = [
        .certificateNotTrusted, .tlsSettingsUnusable, .credentialRefreshFailed,
    ]
    private static let offlineCodes: Set<UploadError.Code> = [
        .hostNotFound, .cannotConnect, .connectTimeout, .proxyFailed, .resourcesExhausted,
    ]
    private static let permanentCodes: Set<UploadError.Code> = [
        .invalidURL, .invalidRequest, .redirectRefused, .redirectWouldDropBody, .redirectLoop, .tooManyRedirects,
        .envelopeRejected, .resumptionUnsupported, .uploadTooLarge, .responseTooLarge, .bodyFailed, .fileNotFound,
        .notARegularFile, .fileNotReadable,
    ]
}

/// The retry policy of an outbox.
public struct OutboxRetry: Sendable, Hashable {
    /// The maximum number of attempts of an item. Attempts that did not reach a server are not counted.
    public var maxAttempts: Int
    /// The upper bound of the first random wait; it doubles with each attempt.
    public var baseDelay: Duration
    /// The maximum of the upper bound.
    public var maxDelay: Duration
    /// The time after enqueuing after which no attempt is started; `nil` for no deadline.
    public var deadline: Duration?

    /// Creates a policy. The defaults are ten attempts within seven days, with waits of up to 15 minutes.
    public init(
        maxAttempts: Int = 10, baseDelay: Duration = .seconds(1), maxDelay: Duration = .seconds(900),
        deadline: Duration? = .seconds(7 * 86_400)
    ) {
        self.maxAttempts = maxAttempts
        self.baseDelay = baseDelay
        self.maxDelay = maxDelay
        self.deadline = deadline
    }

    /// Returns a random time between zero and the upper bound, in milliseconds.
    func wait(attempt: Int, jitter: Double) -> Int64 {
        Backoff(from: baseDelay, to: maxDelay).delay(after: attempt, jitter: jitter).milliseconds
    }

    /// The statuses after which an item is sent again: those of a session, "locked" (423), "a request with this key is
    /// still in progress" (409), and those of proxies that lost their origin server.
    package static let statuses = RetryPolicy.standard.statuses.union([409, 423, 509, 520, 521, 522, 523, 524, 529])
}

extension Duration {
    /// The number of whole milliseconds.
    package var milliseconds: Int64 {
        let (whole, isTooLong) = components.seconds.multipliedReportingOverflow(by: 1_000)
        return isTooLong ? .max / 4 : whole + components.attoseconds / 1_000_000_000_000_000
    }
}
