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
        case queued
        case running(AttemptRecord)
        case retrying
        case ended
    }

    private let retry: RetryPolicy
    private let accepts: StatusPolicy
    private var state = State.idle
    private var isReplayable = false
    private var cancelMessage: String?
    private var history = AttemptHistory()

    /// Where the upload stands.
    package private(set) var snapshot = UploadSnapshot()

    /// The machine of an upload under these policies.
    package init(retry: RetryPolicy, accepts: StatusPolicy) {
        self.retry = retry
        self.accepts = accepts
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
        case (.running(let record), .transfer(let event, let attempt, let jitter)) where attempt == record.number:
            return proceed(record, with: event, jitter: jitter)
        case (.idle, .started):
            state = .waiting
            return [.join, .publish(snapshot)]
        case (.idle, .refused(let error)):
            return end(.failure(error), as: .failed)
        case (.waiting, .mayPrepare):
            state = .preparing
            return [enter(.preparing), .prepare]
        case (.preparing, .prepared(let total, let isReplayable)):
            state = .queued
            snapshot.total = total
            self.isReplayable = isReplayable
            return [enter(.queued), .awaitSlot]
        case (.preparing, .preparationFailed(let error)):
            return [.withdraw] + end(.failure(error), as: error.isCancelled ? .cancelled : .failed)
        case (.queued, .admitted):
            state = .running(AttemptRecord(number: snapshot.attempt))
            return [enter(.connecting), .startTransfer(attempt: snapshot.attempt)]
        case (.retrying, .retryDue(let attempt)) where attempt == snapshot.attempt + 1:
            state = .queued
            snapshot.attempt = attempt
            snapshot.sent = 0
            snapshot.acknowledged = 0
            return [enter(.queued), .requeue]
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
        case .retrying: givingBack = [.unscheduleRetry]
        }
        let error = history.error(.cancelled, message, snapshot: snapshot)
        return givingBack + end(.failure(error), as: .cancelled)
    }
}

// MARK: - An attempt

extension UploadStateMachine {
    private mutating func proceed(_ record: AttemptRecord, with event: TransferEvent, jitter: Double) -> [Action] {
        var record = record
        record.see(event, total: snapshot.total)
        state = .running(record)
        let before = snapshot
        snapshot.sent = record.evidence.sent
        snapshot.acknowledged = record.evidence.acknowledged
        snapshot.accuracy = record.accuracy
        if case .ended(let end) = event {
            return conclude(record, end, jitter: jitter)
        }
        if record.isBodyAcknowledged {
            snapshot.phase = .awaitingResponse
        } else if record.isConnected {
            snapshot.phase = .sending
        }
        return snapshot == before ? [] : [.publish(snapshot)]
    }

    private mutating func conclude(_ record: AttemptRecord, _ ending: TransferEnd, jitter: Double) -> [Action] {
        let verdict = AttemptVerdict(
            record, ending, accepts: accepts, cancelMessage: cancelMessage)
        guard let failure = verdict.failure else {
            return succeed(record, ending, verdict)
        }
        let question = RetryPolicy.Question(
            attempt: record.number, code: failure.transferCode, outcome: failure.outcome, isReplayable: isReplayable,
            response: verdict.response?.head)
        let delay = cancelMessage == nil ? retry.delay(after: question, jitter: jitter) : nil
        history.add(record, ending, verdict, retryDelay: delay)
        if let delay {
            state = .retrying
            let next = record.number + 1
            return [.releaseSlot, enter(.retrying), .scheduleRetry(after: delay, attempt: next)]
        }
        let error = history.error(failure.code, failure.message, snapshot: snapshot, cause: failure.cause)
        return [.releaseSlot] + end(.failure(error), as: error.isCancelled ? .cancelled : .failed)
    }

    private mutating func succeed(
        _ record: AttemptRecord, _ ending: TransferEnd, _ verdict: AttemptVerdict
    ) -> [Action] {
        history.add(record, ending, verdict, retryDelay: nil)
        guard let response = history.lastResponse else { return [] }
        return [.releaseSlot] + end(.success(response), as: .succeeded)
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
