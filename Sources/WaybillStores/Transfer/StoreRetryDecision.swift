import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore

/// Decides how to recover from a failure that the session can't handle, because it needs the store's clock, its
/// credentials, or knowledge of what is stored. Performs no I/O. Each remedy is tried at most once per request.
///
/// | failure | remedy |
/// | --- | --- |
/// | the local clock is wrong, and the store reports a plausible time | correct the clock and repeat the request |
/// | the clock is wrong, and the store reports no plausible time | none |
/// | 401, or 403 for expired credentials | get fresh credentials and repeat the request |
/// | the bucket is in another region | sign for that region and repeat the request |
/// | the stored bytes differ from those sent, or the store asks for the request again | send again |
/// | the store may have acted: no response, or one such as 504 | query the store and act on the result |
/// | anything else | none; the session has already retried transient failures |
struct StoreRetryDecision: Sendable {
    /// The facts about a failure.
    struct Failure: Sendable, Hashable {
        var outcome: UploadOutcome
        var status: Int?
        var isClockError = false
        var isCredentialError = false
        var isChecksumMismatch = false
        /// Whether the store asks for the same request again with a status that the session does not retry.
        var isTransient = false
        /// The region of the bucket, if it is not that of the request.
        var region: String?
        var isCancelled = false
        /// The time in the error response.
        var serverTime: Date?
        /// The time in the `Date` field of the response.
        var dateField: Date?
        /// Whether the body can be sent again.
        var isReplayable = true

        init(outcome: UploadOutcome) {
            self.outcome = outcome
        }
    }

    /// The next step.
    enum Step: Sendable, Hashable {
        /// Repeat the request with a clock that is ahead of the local one by this number of seconds.
        case correctClock(TimeInterval)
        /// Repeat the request with different credentials.
        case refreshCredentials
        /// Repeat the request in another region.
        case changeRegion(String)
        /// Send the request again.
        case sendAgain
        /// Query the store for the object.
        case lookUp
        /// Give up; the reason is set if a remedy exists but can't be applied.
        case stop(String?)
    }

    private var hasCorrected = false
    private var hasRefreshed = false
    private var hasMoved = false
    private var hasRepeated = false
    private var hasLookedUp = false

    /// Returns the next step after a failure at a time of the local clock.
    mutating func step(after failure: Failure, now: Date) -> Step {
        guard !failure.isCancelled else { return .stop(nil) }
        let step = remedy(for: failure, now: now)
        switch step {
        case .stop, .lookUp: return step
        default: return failure.isReplayable ? step : .stop("The body can be read only once and was not sent again.")
        }
    }

    private mutating func remedy(for failure: Failure, now: Date) -> Step {
        if failure.isClockError {
            guard !Self.testAndSet(&hasCorrected) else { return .stop("The clock was already corrected.") }
            guard let time = [failure.serverTime, failure.dateField].compactMap(\.self).first(where: Self.isPlausible)
            else {
                return .stop("The store reported no plausible time. Set the clock of this machine.")
            }
            return .correctClock(time.timeIntervalSince(now))
        }
        if failure.isCredentialError || failure.status == 401 {
            return Self.testAndSet(&hasRefreshed) ? .stop("The credentials were already renewed.") : .refreshCredentials
        }
        if let region = failure.region {
            return Self.testAndSet(&hasMoved)
                ? .stop("The request was already sent to another region.") : .changeRegion(region)
        }
        if failure.isChecksumMismatch || failure.isTransient {
            return Self.testAndSet(&hasRepeated) ? .stop("The request was already sent twice.") : .sendAgain
        }
        if failure.outcome == .unknown {
            return Self.testAndSet(&hasLookedUp) ? .stop(nil) : .lookUp
        }
        return .stop(nil)
    }

    /// Whether a date is between 2015 and 2200. A server with a failed battery can report any date.
    static func isPlausible(_ date: Date) -> Bool {
        (1_420_070_400..<7_258_118_400).contains(date.timeIntervalSince1970)
    }

    private static func testAndSet(_ flag: inout Bool) -> Bool {
        defer { flag = true }
        return flag
    }
}

extension UploadResponse {
    /// The time in the `Date` field.
    var date: Date? { date(in: .date) }

    /// Returns the time in a field.
    func date(in name: HTTPField.Name) -> Date? {
        headers[name].flatMap { HTTPDate($0) }.map { Date(timeIntervalSince1970: TimeInterval($0.seconds)) }
    }
}

/// The clock of the store at one endpoint, as learned from its responses.
final class StoreClock: Sendable {
    private let now: @Sendable () -> Date
    private let offset = Locked<TimeInterval>(0)

    init(now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    /// The date of the local clock.
    var local: Date { now() }

    /// The date of the store's clock.
    var date: Date { now().addingTimeInterval(offset.withLock { $0 }) }

    /// The number of seconds by which the store's clock is ahead.
    var correction: TimeInterval { offset.withLock { $0 } }

    /// Sets the number of seconds by which the store's clock is ahead.
    func correct(to seconds: TimeInterval) { offset.withLock { $0 = seconds } }
}
