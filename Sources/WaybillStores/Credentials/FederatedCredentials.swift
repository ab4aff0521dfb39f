import FoundationEssentials
public import Waybill
import WaybillCore

/// A provider of credentials that a closure fetches, usually from your token server. Credentials are cached and renewed
/// before they expire; concurrent requests share one fetch.
///
/// ```swift
/// let credentials: CredentialProvider = .federated {
///     let answer = try await session.send(UploadRequest(.get, "https://example.com/sts"))
///     return try StoreCredentials(json: answer.body)
/// }
/// ```
///
/// While the cached credentials are valid, callers do not wait: they are renewed in the background, and used until they
/// expire if the renewal fails. Without valid credentials, all callers wait for the same fetch. A failure is reported
/// to all waiting callers and to callers within the back-off, at first one second; then the closure is called again.
/// Cancelling a waiting task ends its wait but not the fetch.
///
/// Expiration is judged by the store's clock, which the client corrects, so that a wrong local clock does not cause
/// endless fetches. Credentials without an expiration are used until the store rejects them.
final class FederatedCredentials: Sendable {
    private let fetch: @Sendable () async throws -> StoreCredentials?
    private let limit: Duration
    private let clock: any Clock<Duration>
    private let stopwatch: Stopwatch
    private let cache: Observed<CredentialCache>

    /// Creates a provider with a closure that fetches credentials.
    ///
    /// - Parameters:
    ///   - pace: The timing of fetches.
    ///   - clock: The clock that measures back-off and the time limit of a fetch.
    ///   - fetch: Returns credentials; `nil` counts as a failure. Calls do not overlap: the next one starts after the
    ///     previous one has ended or has exceeded ``CredentialPace/limit``, when it is cancelled and its result is
    ///     ignored.
    init(
        pace: CredentialPace = CredentialPace(), clock: any Clock<Duration> = ContinuousClock(),
        fetch: @escaping @Sendable () async throws -> StoreCredentials?
    ) {
        self.fetch = fetch
        limit = pace.limit
        self.clock = clock
        stopwatch = Stopwatch(clock)
        cache = Observed(CredentialCache(pace: pace))
    }

    /// Returns the cached credentials, or fetches new ones.
    func credentials(
        at now: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        let time = stopwatch.elapsed
        switch cache.update({ $0.decide(now: now, elapsed: time, rejecting: rejecting) }) {
        case .use(let credentials):
            return credentials
        case .useAndFetch(let credentials, let id):
            begin(id, at: now, elapsed: time)
            return credentials
        case .fetch(let id):
            begin(id, at: now, elapsed: time)
            return try await awaitResult(of: id, rejecting: rejecting)
        case .wait(let id):
            return try await awaitResult(of: id, rejecting: rejecting)
        case .fail(let error):
            throw error
        }
    }

    /// Starts a fetch. The task retains this object until the fetch has ended, so that its waiters always get a result.
    private func begin(_ id: Int, at start: Date, elapsed began: Duration) {
        Task {
            let result = await fetched()
            let time = self.stopwatch.elapsed
            let now = start.addingTimeInterval((time - began) / .seconds(1))
            cache.update { $0.record(result, of: id, now: now, elapsed: time) }
        }
    }

    private func fetched() async -> Result<StoreCredentials, StoreError> {
        do {
            let fetch = fetch
            let credentials = try await StoreTimeLimit.run(
                limit, clock: clock, failing: .credentialsUnavailable, late: .credentialsTimedOut,
                "Fetching credentials", fetch)
            guard let credentials else {
                return .failure(
                    StoreError(
                        .credentialsUnavailable,
                        "No credentials were returned. Return credentials from the closure, or throw an error with "
                            + "the reason."))
            }
            return .success(credentials)
        } catch {
            return .failure(error)
        }
    }

    private func awaitResult(
        of id: Int, rejecting: StoreCredentials?
    ) async throws(StoreError) -> StoreCredentials {
        await cache.wait { $0.completedFetch >= id }
        let (completed, result) = cache.read { ($0.completedFetch, $0.lastResult) }
        guard completed >= id, let result else {
            throw StoreError(
                .cancelled,
                "The task was cancelled while credentials were being fetched. The fetch continues for other tasks.")
        }
        let credentials = try result.get()
        guard credentials != rejecting else { throw CredentialCache.refused }
        return credentials
    }
}

extension CredentialProvider {
    /// Returns a provider with a closure that fetches credentials. Credentials are cached and renewed before they expire;
    /// concurrent requests share one fetch. Create the provider only once, and share it.
    ///
    /// While the cached credentials are valid, callers do not wait: they are renewed in the background, and used until they
    /// expire if the renewal fails. Without valid credentials, all callers wait for the same fetch. A failure is reported
    /// to all waiting callers and to callers within the back-off. Cancelling a waiting task does not cancel the fetch.
    ///
    /// - Parameters:
    ///   - pace: The timing of fetches.
    ///   - clock: The clock that measures back-off and the time limit of a fetch.
    ///   - fetch: Returns credentials; `nil` counts as a failure. Calls do not overlap.
    /// - Returns: The provider.
    public static func federated(
        pace: CredentialPace = CredentialPace(), clock: any Clock<Duration> = ContinuousClock(),
        _ fetch: @escaping @Sendable () async throws -> StoreCredentials?
    ) -> CredentialProvider {
        let source = FederatedCredentials(pace: pace, clock: clock, fetch: fetch)
        return CredentialProvider { now, rejected throws(StoreError) in
            try await source.credentials(at: now, rejecting: rejected)
        }
    }

    /// Returns a provider that fetches JSON from a URL, in one of the formats of ``StoreCredentials/init(json:)``.
    ///
    /// ```swift
    /// let credentials: CredentialProvider = .tokenServer("https://example.com/sts", through: session)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL, requested with `GET`.
    ///   - session: The session whose header fields, limits and credentials for that server are used. The request does
    ///     not wait for its uploads.
    /// - Returns: A provider with a cache. Create it only once.
    public static func tokenServer(_ url: String, through session: UploadSession) -> CredentialProvider {
        .federated { try StoreCredentials(json: await session.sibling.send(UploadRequest(.get, url)).body) }
    }
}
