public import WaybillCore

/// A type that provides a credential and can refresh it. It is shared by all uploads that use it.
///
/// ``BearerRefresher`` suffices in most cases. A custom type must ensure that concurrent calls by any number of uploads
/// cause only one refresh.
public protocol CredentialRefresher: AnyObject, Sendable {
    /// The current value of `Authorization`; `nil` before the first fetch, or if it is about to expire. Read often and from
    /// any thread, so it must return immediately.
    var current: Secret? { get }

    /// Returns a value other than `rejected`.
    ///
    /// - Parameter rejected: The value that the server rejected, or `nil` if there was none to send. If another upload
    ///   has already replaced it, return the replacement without another refresh.
    /// - Returns: The whole value of `Authorization`.
    /// - Throws: The reason for the failure. The uploads that wait for the value end with
    ///   ``UploadError/Code/credentialRefreshFailed`` and this error as the cause.
    func refresh(rejected: Secret?) async throws -> Secret
}

/// A bearer token (RFC 6750) that is fetched before the first upload, when it is about to expire, and when a server rejects
/// it. Only one fetch runs at a time.
///
/// ```swift
/// let refresher = BearerRefresher {
///     let response = try await signIn(clerk)
///     return BearerToken(.secret(response.token), validFor: .seconds(response.expiresIn))
/// }
/// configuration.options.authentication = .refreshing(refresher)
/// ```
public final class BearerRefresher: CredentialRefresher {
    private struct State {
        var value: Secret?
        var expiry: Duration?
        var fetchTask: Task<Secret, any Error>?
    }

    private let fetch: @Sendable () async throws -> BearerToken
    private let margin: Duration
    private let stopwatch: Stopwatch
    private let state: Locked<State>

    /// Creates a refresher.
    ///
    /// - Parameters:
    ///   - token: The initial token, if there is one.
    ///   - margin: The time before expiry at which a new token is fetched; 30 s by default. Applies only to tokens with
    ///     a known validity.
    ///   - clock: The clock for the validity.
    ///   - fetch: Fetches a token. Calls do not overlap. The call continues if the upload that caused it is cancelled,
    ///     because other uploads may wait for it.
    public init(
        token: BearerToken? = nil, margin: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock(),
        fetch: @escaping @Sendable () async throws -> BearerToken
    ) {
        self.fetch = fetch
        self.margin = margin
        stopwatch = Stopwatch(clock)
        state = Locked(State())
        if let token { _ = store(token) }
    }

    /// `Bearer` and the token, unless it is about to expire.
    public var current: Secret? {
        let time = stopwatch.elapsed
        return state.withLock { usable($0, at: time) }
    }

    /// Waits for the running fetch, or starts one.
    public func refresh(rejected: Secret?) async throws -> Secret {
        let time = stopwatch.elapsed
        // Check and start under one lock: a late caller finds either the new token or the fetch, never neither.
        let (value, fetchTask) = state.withLock { state -> (Secret?, Task<Secret, any Error>?) in
            if let value = usable(state, at: time), value != rejected { return (value, nil) }
            if state.fetchTask == nil { state.fetchTask = Task { try await self.fetchAndStore() } }
            return (nil, state.fetchTask)
        }
        if let value { return value }
        guard let fetchTask else { throw CancellationError() }
        return try await fetchTask.value
    }

    private func usable(_ state: State, at time: Duration) -> Secret? {
        if let end = state.expiry, end - margin <= time { return nil }
        return state.value
    }

    private func fetchAndStore() async throws -> Secret {
        do {
            return store(try await fetch())
        } catch {
            state.withLock { $0.fetchTask = nil }
            throw error
        }
    }

    private func store(_ token: BearerToken) -> Secret {
        let value = Secret.secret("Bearer \(token.token.value)")
        let time = stopwatch.elapsed
        state.withLock { state in
            state.value = value
            state.expiry = token.validFor.map { time + $0 }
            state.fetchTask = nil
        }
        return value
    }
}

/// A token and its validity.
public struct BearerToken: Sendable, Hashable {
    /// The token, without the prefix `Bearer`.
    public var token: Secret
    /// How long the token is valid from now, or `nil` if unknown.
    public var validFor: Duration?

    /// Creates a token.
    public init(_ token: Secret, validFor: Duration? = nil) {
        self.token = token
        self.validFor = validFor
    }
}
