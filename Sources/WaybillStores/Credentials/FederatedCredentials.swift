public import FoundationEssentials
public import Waybill
import WaybillCore

/// Credentials that a closure fetches, mostly from a token server of your own: kept, renewed before they run out, and fetched
/// once however many ask.
///
/// ```swift
/// let credentials = FederatedCredentials {
///     let answer = try await session.send(UploadRequest(.get, "https://example.com/sts"))
///     return try StoreCredentials(json: answer.body)
/// }
/// ```
///
/// While there are credentials that are good, nobody waits: they are renewed in the background, and if that fails they are
/// used to their end. Without good ones, all who ask wait for one and the same fetch. A failure is told to all who wait for it
/// and to all who ask in the second after it; then the closure is called again. Cancelling one who waits ends that wait, not
/// the fetch.
///
/// Expiration is judged by the store's clock, which the client corrects, so a wrong clock of this machine does not make it
/// fetch for ever. Credentials without an expiration are used until the store refuses them.
public final class FederatedCredentials: CredentialProvider {
    private let fetch: @Sendable () async throws -> StoreCredentials?
    private let limit: Duration
    private let clock: any Clock<Duration>
    private let stopwatch: Stopwatch
    private let ledger: Observed<CredentialLedger>

    /// Credentials from a closure.
    ///
    /// - Parameters:
    ///   - pace: How early and how often.
    ///   - clock: What back-off and the limit of a fetch are measured with.
    ///   - fetch: Gets credentials; `nil` is taken as a failure. It is never called a second time before the first call has
    ///     ended or ``CredentialPace/limit`` is over; then it is cancelled, and what it still gives is ignored.
    public init(
        pace: CredentialPace = CredentialPace(), clock: any Clock<Duration> = ContinuousClock(),
        fetch: @escaping @Sendable () async throws -> StoreCredentials?
    ) {
        self.fetch = fetch
        limit = pace.limit
        self.clock = clock
        stopwatch = Stopwatch(clock)
        ledger = Observed(CredentialLedger(pace: pace))
    }

    /// What is at hand, or what is fetched.
    public func credentials(
        at now: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        let time = stopwatch.elapsed
        switch ledger.update({ $0.decide(now: now, elapsed: time, rejecting: rejecting) }) {
        case .use(let credentials):
            return credentials
        case .useAndFetch(let credentials, let flight):
            begin(flight, at: now, elapsed: time)
            return credentials
        case .fetch(let flight):
            begin(flight, at: now, elapsed: time)
            return try await landing(of: flight, rejecting: rejecting)
        case .wait(let flight):
            return try await landing(of: flight, rejecting: rejecting)
        case .fail(let error):
            throw error
        }
    }

    /// The task keeps this object until it is over, so that nobody waits for a flight that was dropped.
    private func begin(_ flight: Int, at start: Date, elapsed began: Duration) {
        Task {
            let result = await fetched()
            let time = self.stopwatch.elapsed
            let now = start.addingTimeInterval((time - began) / .seconds(1))
            ledger.update { $0.land(flight: flight, result, now: now, elapsed: time) }
        }
    }

    private func fetched() async -> Result<StoreCredentials, StoreError> {
        do {
            let fetch = fetch
            let credentials = try await StoreTimeLimit.run(
                limit, clock: clock, failing: .credentialsUnavailable, late: .credentialsTimedOut,
                "fetching credentials", fetch)
            guard let credentials else {
                return .failure(
                    StoreError(
                        .credentialsUnavailable,
                        "no credentials were given: whoever fetches them must return some, or throw and say why"))
            }
            return .success(credentials)
        } catch {
            return .failure(error)
        }
    }

    private func landing(
        of flight: Int, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        await ledger.wait { $0.landed >= flight }
        let (landed, result) = ledger.read { ($0.landed, $0.lastResult) }
        guard landed >= flight, let result else {
            throw StoreError(.cancelled, "cancelled while credentials were fetched; the fetch goes on for others")
        }
        let credentials = try result.get()
        guard credentials != rejecting else { throw CredentialLedger.refused }
        return credentials
    }
}

extension CredentialProvider where Self == FederatedCredentials {
    /// Credentials that a closure fetches. Make it once, and give it to all who use it.
    public static func federated(
        _ fetch: @escaping @Sendable () async throws -> StoreCredentials?
    ) -> FederatedCredentials {
        FederatedCredentials(fetch: fetch)
    }

    /// Credentials in JSON from a URL of yours, in any of the forms of ``StoreCredentials/init(json:)``.
    ///
    /// ```swift
    /// let credentials: any CredentialProvider = .tokenServer("https://example.com/sts", through: session)
    /// ```
    ///
    /// - Parameters:
    ///   - url: Where they are; asked with `GET`.
    ///   - session: Who sends it, with its header fields, its credentials for that server and its limits.
    /// - Returns: Credentials that are kept; make it once.
    public static func tokenServer(_ url: String, through session: UploadSession) -> FederatedCredentials {
        FederatedCredentials { try StoreCredentials(json: await session.send(UploadRequest(.get, url)).body) }
    }
}
