/// What an upload's life is lived by.
package struct LifeRules: Sendable {
    package var retry: RetryPolicy
    package var accepts: StatusPolicy
    /// Whether a second request has no further effect.
    package var isIdempotent = false
    /// How long the server knows the request's idempotency key, if it has one and that is honoured.
    package var keyWindow: Duration?
    /// Where it begins and how it goes on from there; `nil` to follow no redirect.
    package var route: UploadRoute?
    /// Whether there is somebody who can get a fresh credential.
    package var canRefresh = false
    /// Whether the transport makes credentials in answer to the server's challenge.
    package var answersChallenges = false
    /// How long a paused transfer keeps its slot and its connection.
    package var pauseKeepsSlot = Duration.seconds(20)

    package init(retry: RetryPolicy = .standard, accepts: StatusPolicy = .successful) {
        self.retry = retry
        self.accepts = accepts
    }
}
