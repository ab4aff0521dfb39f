public import WaybillCore

/// Somebody who has a credential and can get a new one: shared by all uploads that use it.
///
/// ``BearerRefresher`` is one, and enough for most. One of your own must see to it that any number of uploads may ask at
/// once and only one refresh comes of it.
public protocol CredentialRefresher: AnyObject, Sendable {
    /// The value of `Authorization` to send now; `nil` when there is none yet, or the one there is will not last.
    /// Asked often and from any thread: it must answer at once.
    var current: Secret? { get }

    /// Gets a value that is not `rejected`.
    ///
    /// - Parameter rejected: The value that the server refused, or `nil` when there was none to send. When another upload
    ///   has had it replaced already, that replacement is the answer, and nothing is fetched.
    /// - Returns: The whole value of `Authorization`.
    /// - Throws: Why there is none. The uploads that wait for it end with
    ///   ``UploadError/Code/credentialRefreshFailed``, this error as the cause.
    func refresh(rejected: Secret?) async throws -> Secret
}

/// A bearer token (RFC 6750) that is fetched when there is none, when it is about to run out, and when a server refuses
/// it: one fetch at a time, whoever asks.
///
/// ```swift
/// let refresher = BearerRefresher {
///     let answer = try await signIn(clerk)
///     return BearerToken(.secret(answer.token), validFor: .seconds(answer.expiresIn))
/// }
/// configuration.options.authentication = .refreshing(refresher)
/// ```
public final class BearerRefresher: CredentialRefresher {
    private struct State {
        var value: Secret?
        var runsOut: Duration?
        var flight: Task<Secret, any Error>?
    }

    private let fetch: @Sendable () async throws -> BearerToken
    private let margin: Duration
    private let stopwatch: Stopwatch
    private let state: Locked<State>

    /// - Parameters:
    ///   - token: A token that is at hand already.
    ///   - margin: How long before its end a token is fetched anew; 30 s by default. Only for tokens that say how long
    ///     they are valid.
    ///   - clock: What that is measured with.
    ///   - fetch: Gets a token. It is never called a second time before the first call has returned, and goes on when the
    ///     upload that asked first is cancelled, because others may wait for it.
    public init(
        token: BearerToken? = nil, margin: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock(),
        fetch: @escaping @Sendable () async throws -> BearerToken
    ) {
        self.fetch = fetch
        self.margin = margin
        stopwatch = Stopwatch(clock)
        state = Locked(State())
        if let token { _ = keep(token) }
    }

    /// `Bearer` and the token, unless it is about to run out.
    public var current: Secret? {
        let time = stopwatch.elapsed
        return state.withLock { usable($0, at: time) }
    }

    /// Joins the fetch that is under way, or begins one.
    public func refresh(rejected: Secret?) async throws -> Secret {
        let time = stopwatch.elapsed
        // Looked at and begun under one lock: who comes late finds the new token or the fetch, never neither.
        let (value, flight) = state.withLock { state -> (Secret?, Task<Secret, any Error>?) in
            if let value = usable(state, at: time), value != rejected { return (value, nil) }
            if state.flight == nil { state.flight = Task { try await self.fetchAndKeep() } }
            return (nil, state.flight)
        }
        if let value { return value }
        guard let flight else { throw CancellationError() }
        return try await flight.value
    }

    private func usable(_ state: State, at time: Duration) -> Secret? {
        if let end = state.runsOut, end - margin <= time { return nil }
        return state.value
    }

    private func fetchAndKeep() async throws -> Secret {
        do {
            return keep(try await fetch())
        } catch {
            state.withLock { $0.flight = nil }
            throw error
        }
    }

    private func keep(_ token: BearerToken) -> Secret {
        let value = Secret.secret("Bearer \(token.token.value)")
        let time = stopwatch.elapsed
        state.withLock { state in
            state.value = value
            state.runsOut = token.validFor.map { time + $0 }
            state.flight = nil
        }
        return value
    }
}

/// A token and how long it is good for.
public struct BearerToken: Sendable, Hashable {
    /// The token, without the word `Bearer`.
    public var token: Secret
    /// How long from now it is valid, or `nil` when nobody says.
    public var validFor: Duration?

    /// Describes a token.
    public init(_ token: Secret, validFor: Duration? = nil) {
        self.token = token
        self.validFor = validFor
    }
}
