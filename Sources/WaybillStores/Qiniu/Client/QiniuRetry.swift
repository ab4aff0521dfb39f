import FoundationEssentials
import Waybill
import WaybillCore

/// Decides what follows a response of Qiniu, or of an intermediary. A lookup table without I/O and clock.
///
/// The session has already retried the statuses in ``transient`` and failed connections at the same host; this type
/// decides what follows.
struct QiniuRetry: Sendable, Hashable {
    /// The type of a request.
    enum Operation: Sendable, Hashable, CaseIterable { case form, begin, part, complete, list, abort, regions }

    /// The facts about a response.
    struct ResponseFacts: Sendable, Hashable {
        /// The status; `nil` without a complete response.
        var status: Int?
        /// The value of `error` in the JSON of the response.
        var message = ""
        /// Whether the response has a request ID, as every response of Qiniu does.
        var hasRequestID = true
        /// The time of the store, from the `Date` field.
        var date: Date?
        /// The outcome of the request; `nil` for success.
        var outcome: UploadOutcome?
        /// Whether a retry would fail in the same way: an error of the body, a cancellation, an untrusted certificate.
        var isPermanentFailure = false
    }

    /// The next step.
    enum Step: Sendable, Hashable, CaseIterable {
        /// Succeed.
        case accept
        /// Fail.
        case fail
        /// Fail without sending again: the object is stored, but the callback failed.
        case stored
        /// Repeat the request at the next host.
        case nextHost
        /// The bucket is in another region: resolve the upload hosts again and repeat the request there.
        case refreshRegions
        /// Repeat the request with a fresh token.
        case freshToken
        /// Repeat the request at the same host after a longer delay that applies to all requests.
        case slowDown
        /// The parts at the store are gone: restart the upload.
        case restart
    }

    /// The statuses of transient failures, which the session retries at the same host.
    ///
    /// Includes statuses of 500 and above, except final ones and those that request a slower pace.
    static let transient: Set<Int> = RetryPolicy.standard.statuses.union(500...699).subtracting(final).subtracting(
        throttled)

    /// The statuses of 500 and above that a retry would receive again.
    static let final: Set<Int> = [501, 509, 579, 608, 612, 614, 616, 618, 619, 630, 631, 632, 640]

    /// The statuses that request a slower pace.
    static let throttled: Set<Int> = [571, 573]

    /// Returns the next step.
    ///
    /// - Parameters:
    ///   - facts: The facts about the response, after the session's own retries.
    ///   - operation: The type of the request.
    ///   - isRepeatable: Whether repeating the request is harmless even if the first one was applied.
    /// - Returns: The next step.
    static func step(after facts: ResponseFacts, of operation: Operation, isRepeatable: Bool) -> Step {
        if facts.isPermanentFailure { return .fail }
        guard let status = facts.status else { return stepWithoutResponse(facts, isRepeatable: isRepeatable) }
        guard facts.hasRequestID else { return .nextHost }
        switch status {
        case 200..<300: return status == 298 ? .fail : .accept
        case 579: return .stored
        case 400:
            if facts.message.contains("incorrect region") { return .refreshRegions }
            return facts.message.contains("transfer acceleration is not configured") ? .nextHost : .fail
        case 401: return .freshToken
        case 612, 701: return isResumed(operation) ? .restart : .fail
        case _ where throttled.contains(status): return .slowDown
        case _ where transient.contains(status): return .nextHost
        default: return .fail
        }
    }

    /// Returns the time of the store if it reports that the token has expired: the token may have been signed with a wrong
    /// local clock.
    static func storeTime(after facts: ResponseFacts) -> Date? {
        guard facts.status == 401, facts.message.contains("expired") else { return nil }
        return facts.date.flatMap { StoreRetryDecision.isPlausible($0) ? $0 : nil }
    }

    private static func stepWithoutResponse(_ facts: ResponseFacts, isRepeatable: Bool) -> Step {
        switch facts.outcome {
        case .notSent, .incomplete: .nextHost
        case .unknown: isRepeatable ? .nextHost : .fail
        case .rejected, .processed, nil: .fail
        }
    }

    private static func isResumed(_ operation: Operation) -> Bool {
        switch operation {
        case .part, .complete, .list: true
        case .form, .begin, .abort, .regions: false
        }
    }
}

/// The request pace of a client. All requests are delayed after the store reports too many requests.
final class QiniuThrottle: Sendable {
    private struct State: Sendable {
        /// The number of active delays; requests wait until it is 0.
        var waiting = 0
    }

    private let clock: any Clock<Duration>
    private let state = Observed(State())

    init(clock: any Clock<Duration>) {
        self.clock = clock
    }

    /// Waits while the client is slowed down. Returns immediately in a cancelled task.
    func wait() async {
        await state.wait { $0.waiting == 0 }
    }

    /// Delays all requests of the client.
    func slowDown(for wait: Duration) async {
        state.update { $0.waiting += 1 }
        try? await clock.sleep(for: wait)
        state.update { $0.waiting -= 1 }
    }

    /// Returns the delay after the n-th rejection, counted from 1: it starts at one second, doubles, and is at most 30
    /// s.
    static func delay(after rejections: Int) -> Duration {
        Backoff(from: .seconds(1), to: .seconds(30)).delay(after: rejections)
    }
}
