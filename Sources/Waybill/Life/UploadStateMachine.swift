import HTTPTypes
import WaybillCore

/// The state machine of one upload, which turns events into actions. It uses no clock, transport or tasks.
///
/// ```
/// waiting → preparing → queued → connecting → sending → awaitingResponse → succeeded | failed | cancelled
///                          ↑                                    │
///                          └────────────── retrying ←───────────┘
/// ```
///
/// For any order of events, these invariants hold. There is exactly one `finish`, and no action after it. Every
/// acquired resource (a position in a queue, a preparation, a slot, a transfer, a timer) is released exactly once.
/// Within an attempt, neither phases nor counts decrease. No outcome is more certain than the evidence.
package struct UploadStateMachine: Sendable {
    enum State: Sendable {
        case idle
        case waiting
        case preparing
        case queued(PendingRetry?)
        case running(AttemptRecord)
        case awaitingRetryDecision(PendingRetry)
        case retrying(PendingRetry)
        case refreshing(AttemptVerdict.Failure)
        case ended
    }

    /// A pending retry, and the failure that is reported if the retry is abandoned.
    struct PendingRetry: Sendable {
        var plan: RetryPolicy.Plan
        var failure: AttemptVerdict.Failure
    }

    let rules: UploadRules
    var state = State.idle
    var isReplayable = false
    var cancelMessage: String?
    var history = AttemptHistory()
    var retries = 0
    var route: UploadRoute?
    var lastRetry: RetryPolicy.Plan?
    var hasRefreshed = false
    /// The number of bytes that the server of a resumable upload has confirmed last.
    var confirmedBytes: Int64 = 0
    /// Whether another attempt continues a resumable upload, so that it can't make the server act twice; `nil` if that
    /// depends on the method.
    var isRepeatable: Bool?
    /// The effect of a pause on the running attempt.
    var pauseState = PauseState.none
    /// The number of pauses so far, which associates a timer with its pause.
    var pauses = 0
    /// The time during which the upload was paused, and the start of the part that is not included yet.
    var paused = Duration.zero
    var pausedSince: Duration?

    /// The current snapshot.
    package internal(set) var snapshot = UploadSnapshot()

    /// Creates the state machine of an upload with the given rules.
    package init(_ rules: UploadRules) {
        self.rules = rules
        route = rules.route
    }

    /// Handles an event and returns the actions to perform.
    ///
    /// - Complexity: O(1).
    package mutating func handle(_ event: Event) -> [Action] {
        // Most events, so they are handled without a copy of state and event.
        if case .transfer(let event, let attempt, let jitter, let elapsed) = event {
            guard case .running(let record) = state, attempt == record.number else { return [] }
            return proceed(record, with: event, jitter: jitter, elapsed: elapsed)
        }
        switch (state, event) {
        case (.ended, _):
            return []
        case (_, .pause(let elapsed)):
            return pause(at: elapsed)
        case (_, .resume(let elapsed)):
            return resume(at: elapsed)
        case (.running, .rateChanged(let rate)):
            return [.limitTransfer(rate)]
        case (.running, .slotReturnDue(let pause)):
            return returnSlot(pause)
        case (.waiting, .mayPrepare) where snapshot.isPaused, (.queued, .admitted) where snapshot.isPaused:
            return [.requeueHeld]
        case (_, .cancel):
            return cancel("The upload was cancelled by the caller.")
        case (_, .sessionClosing):
            return cancel("The upload was cancelled because the session was closed.")
        case (.idle, .started):
            state = .waiting
            return [.join(isHeld: snapshot.isPaused), .publish(snapshot)]
        case (.idle, .refused(let error)):
            return end(.failure(error), as: .failed)
        case (.waiting, .mayPrepare):
            state = .preparing
            return [enter(.preparing), .prepare]
        case (.preparing, .prepared(let total, let isReplayable)):
            state = .queued(nil)
            snapshot.total = total
            self.isReplayable = isReplayable
            return [enter(.queued), .awaitSlot]
        case (.preparing, .preparationFailed(let error)):
            return [.withdraw] + end(.failure(error), as: error.isCancelled ? .cancelled : .failed)
        case (.queued(let pending), .admitted(let elapsed)):
            if let pending, let objection = pending.plan.objection(at: elapsed) {
                return [.releaseSlot] + giveUp(pending.failure, objection)
            }
            state = .running(AttemptRecord(number: snapshot.attempt, from: confirmedBytes))
            return [enter(.connecting), .startTransfer(attempt: snapshot.attempt)]
        case (.awaitingRetryDecision(let pending), .retryDecided(let attempt, let isGranted))
        where attempt == snapshot.attempt:
            return isGranted ? schedule(pending) : giveUp(pending.failure, .budgetExhausted)
        case (.retrying(let pending), .retryDue(let attempt)) where attempt == snapshot.attempt + 1:
            return [beginAttempt(pending), .requeue(isHeld: snapshot.isPaused)]
        case (.refreshing(let failure), .credentialReady(let attempt)) where attempt == snapshot.attempt:
            return [beginAttempt(remainingLimits(of: failure)), .requeue(isHeld: snapshot.isPaused)]
        case (.refreshing, .credentialFailed(let attempt, let error)) where attempt == snapshot.attempt:
            history.clearDisposition()
            let reported = history.error(error.code, error.message, snapshot: snapshot, cause: error.cause)
            return end(.failure(reported), as: .failed)
        default:
            return []
        }
    }
}

// MARK: - Cancelling

extension UploadStateMachine {
    private mutating func cancel(_ message: String) -> [Action] {
        let releaseActions: [Action]
        switch state {
        case .ended: return []
        case .running:
            // The slot is in use until the transport has ended the transfer, and only that event has the number of
            // bytes sent.
            guard cancelMessage == nil else { return [] }
            cancelMessage = message
            // The transfer was already cancelled because of a pause.
            if case .closing = pauseState { return [] }
            return endPause().releaseActions + [.cancelTransfer]
        case .idle: releaseActions = []
        case .waiting, .queued: releaseActions = [.withdraw]
        case .preparing: releaseActions = [.stopPreparing, .withdraw]
        case .awaitingRetryDecision:
            history.clearDisposition()
            releaseActions = []
        case .retrying: releaseActions = [.unscheduleRetry]
        case .refreshing:
            history.clearDisposition()
            releaseActions = [.stopRefreshing]
        }
        let error = history.error(.cancelled, message, snapshot: snapshot)
        return releaseActions + end(.failure(error), as: .cancelled)
    }
}

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
