/// The rules for the state machine of an upload.
package struct UploadRules: Sendable {
    package var retry: RetryPolicy
    package var accepts: StatusPolicy
    /// Whether a second request has no further effect.
    package var isIdempotent = false
    /// How long the server recognizes the idempotency key of the request; `nil` if there is no key, or if it is not
    /// honoured.
    package var keyWindow: Duration?
    /// The first hop and the redirect policy; `nil` to follow no redirects.
    package var route: UploadRoute?
    /// Whether there is a refresher that can provide a new credential.
    package var canRefresh = false
    /// Whether the transport computes credentials from the server's challenge.
    package var answersChallenges = false
    /// How long a paused transfer keeps its slot and its connection.
    package var pauseKeepsSlot = Duration.seconds(20)

    package init(retry: RetryPolicy = .standard, accepts: StatusPolicy = .successful) {
        self.retry = retry
        self.accepts = accepts
    }
}
