import FoundationEssentials
import Waybill
import WaybillCore

/// What is done about a failure that a session can't mend: it knows no store's clock, no store's credentials, and nothing
/// about what was stored. Pure, and each remedy is tried once at most in the life of a request.
///
/// | failure | remedy |
/// | --- | --- |
/// | our clock is wrong, and the store tells a sane time | the clock is corrected, and the request made again |
/// | the clock is wrong, and the store tells none | none |
/// | 401, or 403 for credentials that have run out | fresh credentials, and the request made again |
/// | what is stored differs from what was sent | sent again |
/// | everything was handed over, and no answer came | a look at the store, then what that says |
/// | anything else | none; what may pass was retried by the session already |
struct OSSRetryDecision: Sendable {
    /// What is known of a failure.
    struct Failure: Sendable, Hashable {
        var outcome: UploadOutcome
        var status: Int?
        var isClockComplaint = false
        var isCredentialComplaint = false
        var isChecksumMismatch = false
        var isCancelled = false
        /// The time that the refusal names.
        var serverTime: Date?
        /// The time of the answer's `Date`.
        var dateField: Date?
        /// Whether the body can be sent again.
        var isReplayable = true

        init(outcome: UploadOutcome) {
            self.outcome = outcome
        }
    }

    /// What to do.
    enum Step: Sendable, Hashable {
        /// Go on with a clock that is ahead of ours by so many seconds.
        case correctClock(TimeInterval)
        /// Go on with other credentials.
        case refreshCredentials
        /// Send it again.
        case sendAgain
        /// Look what the store has.
        case lookUp
        /// Give up, with a reason where there would have been a remedy.
        case stop(String?)
    }

    private var hasCorrected = false
    private var hasRefreshed = false
    private var hasRepeated = false
    private var hasLooked = false

    /// What to do about a failure that was seen at a moment of our own clock.
    mutating func step(after failure: Failure, now: Date) -> Step {
        guard !failure.isCancelled else { return .stop(nil) }
        let step = remedy(for: failure, now: now)
        switch step {
        case .stop, .lookUp: return step
        default: return failure.isReplayable ? step : .stop("its body can be read once, so it was not sent again")
        }
    }

    private mutating func remedy(for failure: Failure, now: Date) -> Step {
        if failure.isClockComplaint {
            guard !Self.take(&hasCorrected) else { return .stop("the clock was corrected already") }
            guard let time = [failure.serverTime, failure.dateField].compactMap(\.self).first(where: Self.isSane) else {
                return .stop("the store tells no time that can be believed: set the clock of this machine")
            }
            return .correctClock(time.timeIntervalSince(now))
        }
        if failure.isCredentialComplaint || failure.status == 401 {
            return Self.take(&hasRefreshed) ? .stop("the credentials were renewed already") : .refreshCredentials
        }
        if failure.isChecksumMismatch {
            return Self.take(&hasRepeated) ? .stop("it was sent twice") : .sendAgain
        }
        if failure.outcome == .unknown, failure.status == nil { return Self.take(&hasLooked) ? .stop(nil) : .lookUp }
        return .stop(nil)
    }

    /// After 2015, when these signatures were young, and before 2200. What sent it may have a dead battery.
    static func isSane(_ date: Date) -> Bool {
        (1_420_070_400..<7_258_118_400).contains(date.timeIntervalSince1970)
    }

    private static func take(_ flag: inout Bool) -> Bool {
        defer { flag = true }
        return flag
    }
}

/// The store's clock, as far as its answers have told: one for each endpoint.
final class StoreClock: Sendable {
    private let now: @Sendable () -> Date
    private let offset = Locked<TimeInterval>(0)

    init(now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    /// This machine's date.
    var local: Date { now() }

    /// The store's date.
    var date: Date { now().addingTimeInterval(offset.withLock { $0 }) }

    /// How far the store's clock is ahead, in seconds.
    var correction: TimeInterval { offset.withLock { $0 } }

    /// From now on, the store's clock is ahead by so many seconds.
    func correct(to seconds: TimeInterval) { offset.withLock { $0 = seconds } }
}
