import FoundationEssentials
import WaybillCore

/// The state of fetched credentials, and the decision whether to fetch. Has no clock, tasks or closures.
///
/// `now` is the date by the store's clock and decides what has expired; `elapsed` is a monotonic time and measures the
/// time since the last attempt.
struct CredentialCache: Sendable {
    /// The next step for a caller that needs credentials.
    enum Decision: Sendable {
        /// Use the cached credentials.
        case use(StoreCredentials)
        /// Use the cached credentials, which expire soon, and start this fetch without waiting for it.
        case useAndFetch(StoreCredentials, id: Int)
        /// Start this fetch and wait for it.
        case fetch(id: Int)
        /// Wait for a fetch that is in progress.
        case wait(id: Int)
        /// Fail: there are no valid credentials, and it is too early for another fetch.
        case fail(StoreError)
    }

    let pace: CredentialPace
    private(set) var current: StoreCredentials?
    private(set) var completedFetch = 0
    private(set) var lastResult: Result<StoreCredentials, StoreError>?
    private var fetchedAt: Date?
    private var started = 0
    private var failures = 0
    private var notBefore = Duration.zero

    init(pace: CredentialPace) {
        self.pace = pace
    }

    var isFetching: Bool { started > completedFetch }

    mutating func decide(now: Date, elapsed: Duration, rejecting: StoreCredentials?) -> Decision {
        if let current, current != rejecting, current.isValid(at: now) {
            guard needsRenewal(current, now: now), !isFetching, elapsed >= notBefore else { return .use(current) }
            return .useAndFetch(current, id: begin())
        }
        if isFetching { return .wait(id: started) }
        // Rate-limit fetches: after a failure by the back-off, after a success by the shortest interval. Within that
        // interval, fresh credentials that the store has just rejected lead to an error instead of another fetch.
        if elapsed < notBefore {
            if case .failure(let error) = lastResult { return .fail(error) }
            if let rejecting, current == rejecting { return .fail(Self.refused) }
        }
        return .fetch(id: begin())
    }

    /// Records the result of a fetch. Only valid credentials are kept.
    mutating func record(
        _ result: Result<StoreCredentials, StoreError>, of id: Int, now: Date, elapsed: Duration
    ) {
        guard id == started, isFetching else { return }
        completedFetch = id
        lastResult = result.flatMap { credentials in
            Result { () throws(StoreError) in try Self.checked(credentials, at: now) }
        }
        switch lastResult {
        case .success(let credentials)?:
            current = credentials
            fetchedAt = now
            failures = 0
            notBefore = elapsed + pace.minimumInterval
        case .failure?, nil:
            // Keep the previous credentials: they can still be valid for a while.
            failures += 1
            notBefore = elapsed + pace.backoff.delay(after: failures)
        }
    }

    private mutating func begin() -> Int {
        started += 1
        return started
    }

    private func needsRenewal(_ credentials: StoreCredentials, now: Date) -> Bool {
        guard let end = credentials.expiration, let fetchedAt else { return false }
        let lifetime = max(0, end.timeIntervalSince(fetchedAt))
        return end.timeIntervalSince(now) <= min(pace.leadSeconds, lifetime / 5)
    }

    private static func checked(_ credentials: StoreCredentials, at now: Date) throws(StoreError) -> StoreCredentials {
        try credentials.check()
        guard credentials.isValid(at: now) else {
            throw StoreError(
                .credentialsExpired,
                "The fetched credentials have already expired. Check the clocks, and that the token server does not "
                    + "cache expired credentials.")
        }
        return credentials
    }

    static let refused = StoreError(
        .credentialsRejected,
        "The store rejected the credentials that were just fetched. Check that they belong to this store, and that their "
            + "account or role has the permission.")
}

/// The timing of credential fetches.
public struct CredentialPace: Sendable, Hashable {
    /// The time before expiration at which credentials are renewed in the background: 5 minutes by default, but at most
    /// one fifth of their validity.
    public var lead: Duration
    /// The minimum time between two fetches after a success: 10 s by default.
    public var minimumInterval: Duration
    /// The time for which the first failure is cached: 1 s by default. Requests within that time fail with the same
    /// error. It doubles with each further failure, up to ``maximumBackoff``.
    public var initialBackoff: Duration
    /// The maximum time for which a failure is cached: 60 s by default.
    public var maximumBackoff: Duration
    /// The time limit of one fetch: 30 s by default.
    public var limit: Duration

    /// Creates a pace with the defaults above.
    public init(
        lead: Duration = .seconds(300), minimumInterval: Duration = .seconds(10),
        initialBackoff: Duration = .seconds(1), maximumBackoff: Duration = .seconds(60), limit: Duration = .seconds(30)
    ) {
        self.lead = lead
        self.minimumInterval = minimumInterval
        self.initialBackoff = initialBackoff
        self.maximumBackoff = maximumBackoff
        self.limit = limit
    }

    var leadSeconds: Double { lead / .seconds(1) }

    var backoff: Backoff { Backoff(from: initialBackoff, to: maximumBackoff) }
}
