import Waybill
import WaybillCore

/// What follows a request that Qiniu, or somebody in its place, did not answer with a yes. Pure: one table, no clock.
///
/// The session repeats at the same host what ``again`` names and what never reached it; this says what comes after that.
struct QiniuRetry: Sendable, Hashable {
    /// A kind of request.
    enum Operation: Sendable, Hashable, CaseIterable { case form, begin, part, complete, list, abort, regions }

    /// What came back.
    struct Answer: Sendable, Hashable {
        /// The status; `nil` when there was no whole answer.
        var status: Int?
        /// What the store said, from `error` of its JSON.
        var message = ""
        /// Whether the answer has the id that every answer of Qiniu has.
        var hasRequestID = true
        /// What may be believed; `nil` for an answer that was a yes.
        var outcome: UploadOutcome?
        /// Whether the next attempt would meet the same: an error of the body, a cancel, a certificate that is not trusted.
        var isHopeless = false
    }

    /// What is to be done.
    enum Step: Sendable, Hashable, CaseIterable {
        /// Nothing: it was a yes.
        case accept
        /// It is over.
        case fail
        /// The object is there; the callback failed. Over, and never sent again.
        case stored
        /// The same at the next host.
        case nextHost
        /// The bucket is elsewhere: forget where, ask again, and send it there.
        case askRegions
        /// The same with a fresh token.
        case freshToken
        /// The same at the same host after a longer wait, for everybody.
        case slowDown
        /// The parts that were sent are gone: begin anew.
        case restart
    }

    /// The statuses that mean "not now": repeated by the session at the same host.
    ///
    /// Of 500 and above those are left out that are final, and those that ask for a slower pace.
    static let again: Set<Int> = RetryPolicy.standard.statuses.union(500...699).subtracting(final).subtracting(
        throttled)

    /// Statuses of 500 and above that the next try would meet again.
    static let final: Set<Int> = [501, 509, 579, 608, 612, 614, 616, 618, 619, 630, 631, 632, 640]

    /// Statuses that ask for a slower pace.
    static let throttled: Set<Int> = [571, 573]

    /// What follows.
    ///
    /// - Parameters:
    ///   - answer: What came back, after the session's own tries.
    ///   - operation: Of what.
    ///   - isRepeatable: Whether the same request a second time does no harm even if the first was acted on.
    /// - Returns: What is to be done.
    static func step(after answer: Answer, of operation: Operation, isRepeatable: Bool) -> Step {
        if answer.isHopeless { return .fail }
        guard let status = answer.status else { return withoutAnswer(answer, isRepeatable: isRepeatable) }
        guard answer.hasRequestID else { return .nextHost }
        switch status {
        case 200..<300: return status == 298 ? .fail : .accept
        case 579: return .stored
        case 400:
            if answer.message.contains("incorrect region") { return .askRegions }
            return answer.message.contains("transfer acceleration is not configured") ? .nextHost : .fail
        case 401: return .freshToken
        case 612, 701: return isResumed(operation) ? .restart : .fail
        case _ where throttled.contains(status): return .slowDown
        case _ where again.contains(status): return .nextHost
        default: return .fail
        }
    }

    private static func withoutAnswer(_ answer: Answer, isRepeatable: Bool) -> Step {
        switch answer.outcome {
        case .notSent, .incomplete: .nextHost
        case .unknown: isRepeatable ? .nextHost : .fail
        case .rejected, nil: .fail
        }
    }

    private static func isResumed(_ operation: Operation) -> Bool {
        switch operation {
        case .part, .complete, .list: true
        case .form, .begin, .abort, .regions: false
        }
    }
}

/// The pace of a client. When the store answers that there are too many requests, all requests of the client wait.
final class QiniuPace: Sendable {
    private struct State: Sendable {
        /// Counts the waits that were ordered; requests wait until none is left.
        var waiting = 0
    }

    private let clock: any Clock<Duration>
    private let books = Observed(State())

    init(clock: any Clock<Duration>) {
        self.clock = clock
    }

    /// Waits while the client has to slow down. A cancelled task does not wait.
    func wait() async {
        await books.wait { $0.waiting == 0 }
    }

    /// Delays all requests.
    func slowDown(for wait: Duration) async {
        books.update { $0.waiting += 1 }
        try? await clock.sleep(for: wait)
        books.update { $0.waiting -= 1 }
    }

    /// The wait after the n-th refusal, from 1: it doubles from one second, and is half a minute at most.
    static func delay(after refusals: Int) -> Duration {
        Backoff(from: .seconds(1), to: .seconds(30)).time(after: refusals)
    }
}
