import HTTPTypes
import WaybillCore

/// The life of one upload: events in, actions out. It knows no clock, no transport and no task.
///
/// ```
/// waiting → preparing → queued → connecting → sending → awaitingResponse → succeeded | failed | cancelled
///                          ↑                                    │
///                          └────────────── retrying ←───────────┘
/// ```
///
/// Whatever order the events come in: there is exactly one `finish`, and nothing after it; what was acquired (a place in
/// a line, a preparation, a slot, a transfer, a timer) is given back exactly once; within an attempt neither phases nor
/// counts go back; and no outcome is more certain than what was seen.
package struct UploadStateMachine: Sendable {
    private enum State: Sendable {
        case idle
        case waiting
        case preparing
        case queued(PendingRetry?)
        case running(AttemptRecord)
        case asking(PendingRetry)
        case retrying(PendingRetry)
        case refreshing(AttemptVerdict.Failure)
        case ended
    }

    /// A retry that is on its way, and the failure that stands if it comes to nothing.
    private struct PendingRetry: Sendable {
        var plan: RetryPolicy.Plan
        var failure: AttemptVerdict.Failure
    }

    private let rules: LifeRules
    private var state = State.idle
    private var isReplayable = false
    private var cancelMessage: String?
    private var history = AttemptHistory()
    private var retries = 0
    private var route: UploadRoute?
    private var lastRetry: RetryPolicy.Plan?
    private var hasRefreshed = false

    /// Where the upload stands.
    package private(set) var snapshot = UploadSnapshot()

    /// The machine of an upload under these rules.
    package init(_ rules: LifeRules) {
        self.rules = rules
        route = rules.route
    }

    /// Takes in an event and says what is to be done.
    ///
    /// - Complexity: O(1).
    package mutating func handle(_ event: Event) -> [Action] {
        switch (state, event) {
        case (.ended, _):
            return []
        case (_, .cancel):
            return cancel("cancelled by the caller")
        case (_, .sessionClosing):
            return cancel("cancelled because the session was closed")
        case (.running(let record), .transfer(let event, let attempt, let jitter, let elapsed))
        where attempt == record.number:
            return proceed(record, with: event, jitter: jitter, elapsed: elapsed)
        case (.idle, .started):
            state = .waiting
            return [.join, .publish(snapshot)]
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
            state = .running(AttemptRecord(number: snapshot.attempt))
            return [enter(.connecting), .startTransfer(attempt: snapshot.attempt)]
        case (.asking(let pending), .retryAnswered(let attempt, let isGranted)) where attempt == snapshot.attempt:
            return isGranted ? schedule(pending) : giveUp(pending.failure, .budgetExhausted)
        case (.retrying(let pending), .retryDue(let attempt)) where attempt == snapshot.attempt + 1:
            return [beginAttempt(pending), .requeue]
        case (.refreshing(let failure), .credentialReady(let attempt)) where attempt == snapshot.attempt:
            return [beginAttempt(remainingLimits(of: failure)), .requeue]
        case (.refreshing, .credentialFailed(let attempt, let error)) where attempt == snapshot.attempt:
            history.withdrawSequel()
            let told = history.error(error.code, error.message, snapshot: snapshot, cause: error.cause)
            return end(.failure(told), as: .failed)
        default:
            return []
        }
    }
}

// MARK: - Cancelling

extension UploadStateMachine {
    private mutating func cancel(_ message: String) -> [Action] {
        let givingBack: [Action]
        switch state {
        case .ended: return []
        case .running:
            // The slot is taken until the transport has let go, and only its end tells how much was sent.
            guard cancelMessage == nil else { return [] }
            cancelMessage = message
            return [.cancelTransfer]
        case .idle: givingBack = []
        case .waiting, .queued: givingBack = [.withdraw]
        case .preparing: givingBack = [.stopPreparing, .withdraw]
        case .asking:
            history.withdrawSequel()
            givingBack = []
        case .retrying: givingBack = [.unscheduleRetry]
        case .refreshing:
            history.withdrawSequel()
            givingBack = [.stopRefreshing]
        }
        let error = history.error(.cancelled, message, snapshot: snapshot)
        return givingBack + end(.failure(error), as: .cancelled)
    }
}

// MARK: - An attempt

extension UploadStateMachine {
    private mutating func proceed(
        _ record: AttemptRecord, with event: TransferEvent, jitter: Double, elapsed: Duration
    ) -> [Action] {
        var record = record
        record.see(event, total: snapshot.total)
        state = .running(record)
        let before = snapshot
        snapshot.sent = record.evidence.sent
        snapshot.acknowledged = record.evidence.acknowledged
        snapshot.accuracy = record.accuracy
        if case .ended(let end) = event {
            return [.releaseSlot] + conclude(record, end, jitter: jitter, elapsed: elapsed)
        }
        if record.isBodyAcknowledged {
            snapshot.phase = .awaitingResponse
        } else if record.isConnected {
            snapshot.phase = .sending
        }
        return snapshot == before ? [] : [.publish(snapshot)]
    }

    private mutating func conclude(
        _ record: AttemptRecord, _ ending: TransferEnd, jitter: Double, elapsed: Duration
    ) -> [Action] {
        let verdict = AttemptVerdict(record, ending, accepts: rules.accepts, cancelMessage: cancelMessage)
        guard let failure = verdict.failure else {
            history.add(record, ending, verdict, sequel: .end)
            guard let response = history.lastResponse else { return [] }
            return end(.success(response), as: .succeeded)
        }
        guard cancelMessage == nil else {
            history.add(record, ending, verdict, sequel: .end)
            return fail(failure)
        }
        if mayRefresh(after: verdict) {
            hasRefreshed = true
            history.add(record, ending, verdict, sequel: .freshCredential)
            state = .refreshing(failure)
            return [enter(.retrying), .refreshCredential(attempt: record.number)]
        }
        if let redirected = redirect(record, ending, verdict) { return redirected }
        switch rules.retry.answer(to: question(failure, verdict, elapsed), jitter: jitter) {
        case .stop(let reason):
            history.add(record, ending, verdict, sequel: reason.map { .noRetry($0) } ?? .end)
            return fail(failure)
        case .retry(let plan):
            history.add(record, ending, verdict, sequel: .retry(after: plan.delay, source: plan.source))
            state = .asking(PendingRetry(plan: plan, failure: failure))
            return [.askForRetry(attempt: record.number)]
        }
    }

    private func question(
        _ failure: AttemptVerdict.Failure, _ verdict: AttemptVerdict, _ elapsed: Duration
    ) -> RetryPolicy.Question {
        var question = RetryPolicy.Question(
            attempt: retries + 1, code: failure.transferCode, outcome: failure.outcome,
            isReplayable: isReplayable || route?.hop.sendsBody == false, response: verdict.response?.head)
        question.mayBeStored = history.mayBeStored
        question.isSafe = route?.hop.isSafe ?? rules.isSafe
        question.keyWindow = rules.keyWindow
        question.elapsed = elapsed
        return question
    }

    private mutating func schedule(_ pending: PendingRetry) -> [Action] {
        state = .retrying(pending)
        lastRetry = pending.plan
        retries += 1
        return [enter(.retrying), .scheduleRetry(after: pending.plan.delay, attempt: snapshot.attempt + 1)]
    }

    /// A body that goes out again without being a retry still needs the key under which a retry was allowed.
    private func remainingLimits(of failure: AttemptVerdict.Failure) -> PendingRetry? {
        guard let lastRetry, route?.hop.sendsBody != false else { return nil }
        var plan = lastRetry
        plan.limits.removeAll { $0.reason != .idempotencyWindowClosed }
        return PendingRetry(plan: plan, failure: failure)
    }

    private mutating func beginAttempt(_ pending: PendingRetry?) -> Action {
        state = .queued(pending)
        if route?.hop.sendsBody == false { snapshot.total = 0 }
        snapshot.attempt += 1
        snapshot.sent = 0
        snapshot.acknowledged = 0
        return enter(.queued)
    }

    /// The retry comes to nothing: the failure before it stands.
    private mutating func giveUp(_ failure: AttemptVerdict.Failure, _ reason: NoRetryReason) -> [Action] {
        history.revoke(reason)
        return fail(failure)
    }

    private mutating func fail(_ failure: AttemptVerdict.Failure) -> [Action] {
        var error = history.error(failure.code, failure.message, snapshot: snapshot, cause: failure.cause)
        error.envelope = failure.envelope
        return end(.failure(error), as: error.isCancelled ? .cancelled : .failed)
    }

    private mutating func enter(_ phase: UploadPhase) -> Action {
        snapshot.phase = phase
        return .publish(snapshot)
    }

    private mutating func end(_ result: Result<UploadResponse, UploadError>, as phase: UploadPhase) -> [Action] {
        state = .ended
        return [enter(phase), .finish(result)]
    }
}

// MARK: - Credentials and redirects

extension UploadStateMachine {
    /// Whether another credential may help: once, and where the credential goes at all.
    private func mayRefresh(after verdict: AttemptVerdict) -> Bool {
        guard !hasRefreshed, verdict.isCredentialRefused, let answer = verdict.response?.head else { return false }
        guard rules.canRefresh || rules.answersChallenges && Self.hasStaleChallenge(answer) else { return false }
        guard let hop = route?.hop else { return isReplayable }
        return hop.keepsSecrets && (isReplayable || !hop.sendsBody)
    }

    /// Whether the credentials were right and only what they were hashed with had grown old (RFC 7616 section 3.3).
    private static func hasStaleChallenge(_ head: HTTPResponse) -> Bool {
        head.headerFields[values: .wwwAuthenticate].contains { challenges in
            challenges.lowercased().filter { $0 != " " && $0 != "\"" }.split(separator: ",").contains {
                $0.hasSuffix("stale=true")
            }
        }
    }

    /// What follows from a redirect; `nil` when the answer is none.
    private mutating func redirect(
        _ record: AttemptRecord, _ ending: TransferEnd, _ verdict: AttemptVerdict
    ) -> [Action]? {
        guard var route, let head = verdict.response?.head, var failure = verdict.failure else { return nil }
        guard failure.code == .rejected else { return nil }
        var verdict = verdict
        switch route.decision(after: head, isReplayable: isReplayable) {
        case .stay: return nil
        case .refuse(let code, let message):
            failure.code = code
            failure.message = message
            verdict.failure = failure
            history.add(record, ending, verdict, sequel: .end)
            return fail(failure)
        case .follow(let next):
            failure.code = .redirected
            // Whoever says "look over there" instead of "send it there" has taken it.
            if route.hop.sendsBody, !next.sendsBody { failure.outcome = .unknown }
            verdict.failure = failure
            route.follow(next, status: head.status)
            self.route = route
            history.redirects = route.redirects
            history.add(record, ending, verdict, sequel: .redirect(to: Redaction.url(next.url)))
            return [.redirect(next), beginAttempt(remainingLimits(of: failure)), .requeue]
        }
    }
}

/// What an upload's life is lived by.
package struct LifeRules: Sendable {
    package var retry: RetryPolicy
    package var accepts: StatusPolicy
    /// Whether the request changes nothing at the server.
    package var isSafe = false
    /// How long the server knows the request's idempotency key, if it has one and that is honoured.
    package var keyWindow: Duration?
    /// Where it begins and how it goes on from there; `nil` to follow no redirect.
    package var route: UploadRoute?
    /// Whether there is somebody who can get a fresh credential.
    package var canRefresh = false
    /// Whether the transport makes credentials in answer to the server's challenge.
    package var answersChallenges = false

    package init(retry: RetryPolicy = .standard, accepts: StatusPolicy = .successful) {
        self.retry = retry
        self.accepts = accepts
    }
}
