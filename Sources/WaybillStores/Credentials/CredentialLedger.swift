import FoundationEssentials
import WaybillCore

/// What is known of fetched credentials, and whether to fetch: pure, without clock, task or closure.
///
/// `now` is the date by the store's clock, which says what has run out; `elapsed` is the time by a clock that nobody sets,
/// which says how long ago something was tried.
struct CredentialLedger: Sendable {
    /// What to do for somebody who wants credentials.
    enum Decision: Sendable {
        /// They are at hand.
        case use(StoreCredentials)
        /// They are at hand, and will not last: begin this flight, and wait for nothing.
        case useAndFetch(StoreCredentials, flight: Int)
        /// Begin this flight and wait for it.
        case fetch(flight: Int)
        /// Wait for a flight that is under way.
        case wait(flight: Int)
        /// There are none, and it is too early to ask again.
        case fail(StoreError)
    }

    let pace: CredentialPace
    private(set) var current: StoreCredentials?
    private(set) var landed = 0
    private(set) var lastResult: Result<StoreCredentials, StoreError>?
    private var fetchedAt: Date?
    private var started = 0
    private var failures = 0
    private var notBefore = Duration.zero

    init(pace: CredentialPace) {
        self.pace = pace
    }

    var isFetching: Bool { started > landed }

    mutating func decide(now: Date, elapsed: Duration, rejecting: StoreCredentials?) -> Decision {
        if let current, current != rejecting, current.isValid(at: now) {
            guard isDue(current, now: now), !isFetching, elapsed >= notBefore else { return .use(current) }
            return .useAndFetch(current, flight: begin())
        }
        if isFetching { return .wait(flight: started) }
        // After a failure nobody is asked again before its time, and after a success the store must refuse what came, or
        // it must have run out.
        if elapsed < notBefore {
            if case .failure(let error) = lastResult { return .fail(error) }
            if let rejecting, current == rejecting { return .fail(Self.refused) }
        }
        return .fetch(flight: begin())
    }

    /// A flight has come back. What it brought is kept only if it is good.
    mutating func land(
        flight: Int, _ result: Result<StoreCredentials, StoreError>, now: Date, elapsed: Duration
    ) {
        guard flight == started, isFetching else { return }
        landed = flight
        lastResult = result.flatMap { credentials in
            Result { () throws(StoreError) in try Self.checked(credentials, at: now) }
        }
        switch lastResult {
        case .success(let credentials)?:
            current = credentials
            fetchedAt = now
            failures = 0
            notBefore = elapsed + pace.shortestInterval
        case .failure?, nil:
            // What was there stays: it may be good for a while.
            failures += 1
            notBefore = elapsed + pace.backoff.time(after: failures)
        }
    }

    private mutating func begin() -> Int {
        started += 1
        return started
    }

    private func isDue(_ credentials: StoreCredentials, now: Date) -> Bool {
        guard let end = credentials.expiration, let fetchedAt else { return false }
        let life = max(0, end.timeIntervalSince(fetchedAt))
        return end.timeIntervalSince(now) <= min(pace.leadSeconds, life / 5)
    }

    private static func checked(_ credentials: StoreCredentials, at now: Date) throws(StoreError) -> StoreCredentials {
        try credentials.check()
        guard credentials.isValid(at: now) else {
            throw StoreError(
                .credentialsExpired,
                "the credentials that were fetched had run out already: check the clocks, and that whoever gives them keeps "
                    + "none that are old")
        }
        return credentials
    }

    static let refused = StoreError(
        .credentialsRejected,
        "the store refused credentials that were fetched a moment ago: check what the token server's role may do, and that "
            + "it is of this store")
}

/// How early and how often credentials are fetched.
public struct CredentialPace: Sendable, Hashable {
    /// How long before their end credentials are renewed in the background: 5 minutes, but never more than a fifth of the
    /// time that they are good for.
    public var lead: Duration
    /// The time between two fetches while there are credentials that are good: 10 s.
    public var shortestInterval: Duration
    /// How long the first failure is remembered: 1 s. Whoever asks within gets the same error. It doubles with every further
    /// failure, up to ``longestBackOff``.
    public var firstBackOff: Duration
    /// The longest time that a failure is remembered: 60 s.
    public var longestBackOff: Duration
    /// How long one fetch may take: 30 s.
    public var limit: Duration

    /// The times above, unless told otherwise.
    public init(
        lead: Duration = .seconds(300), shortestInterval: Duration = .seconds(10),
        firstBackOff: Duration = .seconds(1), longestBackOff: Duration = .seconds(60), limit: Duration = .seconds(30)
    ) {
        self.lead = lead
        self.shortestInterval = shortestInterval
        self.firstBackOff = firstBackOff
        self.longestBackOff = longestBackOff
        self.limit = limit
    }

    var leadSeconds: Double { lead / .seconds(1) }

    var backoff: Backoff { Backoff(from: firstBackOff, to: longestBackOff) }
}
