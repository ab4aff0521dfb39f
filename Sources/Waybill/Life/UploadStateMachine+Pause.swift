import WaybillCore

// Pausing: in the queue without a slot, during a transfer that keeps its slot for a while, and resuming.

/// The effect of a pause on a running attempt.
enum PauseState: Sendable {
    case none
    /// The transfer is paused and keeps its slot and its connection. Has the number of the pause if the time is
    /// limited.
    case kept(pause: Int?)
    /// The time limit was reached: the transfer was cancelled, and the upload starts again.
    case closing
    /// The transfer was resumed at this number of acknowledged bytes. If it fails before another byte is acknowledged,
    /// the connection was lost during the pause.
    case resumed(acknowledged: Int64)
}

extension UploadStateMachine {
    mutating func pause(at elapsed: Duration) -> [Action] {
        // An upload that is being cancelled can't be paused.
        guard !snapshot.isPaused, cancelMessage == nil else { return [] }
        snapshot.isPaused = true
        pausedSince = elapsed
        pauses += 1
        switch state {
        case .idle, .ended: return []
        case .waiting, .preparing, .queued: return [.hold, .publish(snapshot)]
        case .awaitingRetryDecision, .retrying, .refreshing: return [.publish(snapshot)]
        case .running(let record):
            if case .closing = pauseState { return [.publish(snapshot)] }
            guard !isFullySent(record) else { return [.publish(snapshot)] }
            // A body that can't be sent again would be lost with its connection, so the connection is kept without a
            // time limit.
            pauseState = .kept(pause: canResend ? pauses : nil)
            let timer = [Action.scheduleSlotReturn(after: rules.pauseKeepsSlot, pause: pauses)]
            return [.pauseTransfer] + (canResend ? timer : []) + [.publish(snapshot)]
        }
    }

    mutating func resume(at elapsed: Duration) -> [Action] {
        guard snapshot.isPaused else { return [] }
        countPause(until: elapsed)
        pausedSince = nil
        snapshot.isPaused = false
        switch state {
        case .idle, .ended: return []
        case .waiting, .preparing, .queued: return [.release, .publish(snapshot)]
        case .awaitingRetryDecision, .retrying, .refreshing: return [.publish(snapshot)]
        case .running:
            guard case .kept = pauseState else { return [.publish(snapshot)] }
            return continueTransfer() + [.publish(snapshot)]
        }
    }

    /// Ends a pause that has lasted longer than a slot is kept.
    mutating func returnSlot(_ pause: Int) -> [Action] {
        guard case .kept(pause) = pauseState else { return [] }
        pauseState = .closing
        return [.cancelTransfer]
    }

    /// Resets the pause state of the attempt, for whatever reason it ended.
    mutating func endPause() -> (before: PauseState, releaseActions: [Action]) {
        defer { pauseState = .none }
        if case .kept(.some) = pauseState { return (pauseState, [.unscheduleSlotReturn]) }
        return (pauseState, [])
    }

    /// Resumes a paused transfer whose last byte was already sent: pausing would only delay the response.
    mutating func resumeIfFullySent(_ record: AttemptRecord) -> [Action] {
        guard case .kept = pauseState, isFullySent(record) else { return [] }
        return continueTransfer()
    }

    private mutating func continueTransfer() -> [Action] {
        let releaseActions = endPause().releaseActions
        pauseState = .resumed(acknowledged: snapshot.acknowledged)
        return releaseActions + [.resumeTransfer]
    }

    /// Returns whether a pause has no effect any more, because the whole request was sent.
    private func isFullySent(_ record: AttemptRecord) -> Bool {
        snapshot.total == 0 || record.evidence.isBodyComplete || record.head != nil
    }

    /// Whether an attempt that is closed during its body may be sent again.
    private var canResend: Bool {
        (isReplayable || route?.hop.sendsBody == false) && rules.retry.retriesIncomplete
    }

    /// Adds the time of the pause, by which the deadline is extended.
    mutating func countPause(until elapsed: Duration) {
        guard let since = pausedSince, elapsed > since else { return }
        pausedSince = elapsed
        paused += elapsed - since
        switch state {
        case .queued(var pending?):
            pending.plan.add(pause: elapsed - since)
            state = .queued(pending)
        case .awaitingRetryDecision(var pending):
            pending.plan.add(pause: elapsed - since)
            state = .awaitingRetryDecision(pending)
        case .retrying(var pending):
            pending.plan.add(pause: elapsed - since)
            state = .retrying(pending)
        default: break
        }
    }
}

// MARK: - Restarting

extension UploadStateMachine {
    /// Returns the actions that restart an attempt that was ended by a pause, without counting a retry. Returns `nil`
    /// if the pause did not end it, or if sending it again might store it twice.
    mutating func restart(
        _ record: AttemptRecord, _ transferEnd: TransferEnd, _ verdict: inout AttemptVerdict,
        after pauseState: PauseState
    ) -> [Action]? {
        guard var failure = verdict.failure else { return nil }
        switch pauseState {
        case .none: return nil
        case .closing:
            guard verdict.response == nil, failure.transferCode == .cancelled else { return nil }
            failure.code = .paused
            failure.message = "The upload was paused for longer than its connection is kept."
            if failure.outcome == .unknown {
                failure.message +=
                    " Its whole body was already sent. Check whether it was stored before you send it again."
            }
            verdict.failure = failure
            verdict.reason = "The attempt was closed because the upload was paused."
        case .kept:
            guard isServerTimeout(record, verdict) else { return nil }
        case .resumed(let acknowledged):
            guard record.evidence.acknowledged <= acknowledged, isServerTimeout(record, verdict) else { return nil }
        }
        guard canResend, mayRepeat(failure) else { return nil }
        history.add(record, transferEnd, verdict, disposition: .restart)
        if history.mayBeStored, !isIdempotent, let window = rules.keyWindow {
            let limit = RetryPolicy.Plan.Limit(end: window, reason: .idempotencyWindowClosed)
            lastRetry = RetryPolicy.Plan(delay: .zero, source: .backoff, limits: [limit])
        }
        let begin = beginAttempt(remainingLimits(of: failure))
        return [.restarted(attempt: snapshot.attempt), begin, .requeue(isHeld: snapshot.isPaused)]
    }

    /// Returns whether the server gave up on the paused body, by closing the connection or with 408 (RFC 9110 section
    /// 15.5.9).
    private func isServerTimeout(_ record: AttemptRecord, _ verdict: AttemptVerdict) -> Bool {
        if let status = verdict.response?.head.status { return status.code == 408 }
        guard record.isConnected, let code = verdict.failure?.transferCode else { return false }
        return [.connectionLost, .responseIncomplete].contains(code)
    }

    private func mayRepeat(_ failure: AttemptVerdict.Failure) -> Bool {
        switch failure.outcome {
        case .notSent, .incomplete, .rejected: true
        case .processed: false
        case .unknown: rules.keyWindow != nil || isIdempotent && rules.retry.retriesLostResponses
        }
    }

    var isIdempotent: Bool { isRepeatable ?? (rules.isIdempotent || route?.hop.isIdempotent ?? false) }
}
