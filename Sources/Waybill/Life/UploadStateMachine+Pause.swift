import WaybillCore

// Standing still: in line without a slot, on the wire with one for a while, and the way back.

/// What a pause has done to an attempt that runs.
enum Standstill: Sendable {
    case none
    /// The transfer stands, and keeps its slot and its connection. With the number of the pause if that is for a time only.
    case kept(pause: Int?)
    /// That time was over: the transfer was told to stop, and the upload starts anew.
    case closing
    /// It goes on, from so many acknowledged bytes. If it breaks without one more, the connection had died under the pause.
    case resumed(acknowledged: Int64)
}

extension UploadStateMachine {
    mutating func pause(at elapsed: Duration) -> [Action] {
        // Whoever is being cancelled has nothing to wait for.
        guard !snapshot.isPaused, cancelMessage == nil else { return [] }
        snapshot.isPaused = true
        pausedSince = elapsed
        pauses += 1
        switch state {
        case .idle, .ended: return []
        case .waiting, .preparing, .queued: return [.hold, .publish(snapshot)]
        case .asking, .retrying, .refreshing: return [.publish(snapshot)]
        case .running(let record):
            if case .closing = standstill { return [.publish(snapshot)] }
            guard !isBeyondPause(record) else { return [.publish(snapshot)] }
            // What could not be sent again would be lost with its connection, so it keeps that for as long as it takes.
            standstill = .kept(pause: maySendAgain ? pauses : nil)
            let timer = [Action.scheduleSlotReturn(after: rules.pauseKeepsSlot, pause: pauses)]
            return [.pauseTransfer] + (maySendAgain ? timer : []) + [.publish(snapshot)]
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
        case .asking, .retrying, .refreshing: return [.publish(snapshot)]
        case .running:
            guard case .kept = standstill else { return [.publish(snapshot)] }
            return goOn() + [.publish(snapshot)]
        }
    }

    /// The pause has lasted longer than a slot is kept.
    mutating func returnSlot(_ pause: Int) -> [Action] {
        guard case .kept(pause) = standstill else { return [] }
        standstill = .closing
        return [.cancelTransfer]
    }

    /// The attempt does not stand any more, whatever has ended that.
    mutating func endStandstill() -> (before: Standstill, givingBack: [Action]) {
        defer { standstill = .none }
        if case .kept(.some) = standstill { return (standstill, [.unscheduleSlotReturn]) }
        return (standstill, [])
    }

    /// A transfer that stands goes on when its last byte turns out to have left before: only the answer would be kept away.
    mutating func goOnIfBeyond(_ record: AttemptRecord) -> [Action] {
        guard case .kept = standstill, isBeyondPause(record) else { return [] }
        return goOn()
    }

    private mutating func goOn() -> [Action] {
        let givingBack = endStandstill().givingBack
        standstill = .resumed(acknowledged: snapshot.acknowledged)
        return givingBack + [.resumeTransfer]
    }

    /// Whether a pause can't take anything back any more: the whole request is out of our hands.
    private func isBeyondPause(_ record: AttemptRecord) -> Bool {
        snapshot.total == 0 || record.evidence.isBodyComplete || record.head != nil
    }

    /// Whether an attempt that is closed within its body may be made again.
    private var maySendAgain: Bool {
        (isReplayable || route?.hop.sendsBody == false) && rules.retry.retriesIncomplete
    }

    /// Time in which the upload stood still is not that of its deadline.
    mutating func countPause(until elapsed: Duration) {
        guard let since = pausedSince, elapsed > since else { return }
        pausedSince = elapsed
        paused += elapsed - since
        switch state {
        case .queued(var pending?):
            pending.plan.add(pause: elapsed - since)
            state = .queued(pending)
        case .asking(var pending):
            pending.plan.add(pause: elapsed - since)
            state = .asking(pending)
        case .retrying(var pending):
            pending.plan.add(pause: elapsed - since)
            state = .retrying(pending)
        default: break
        }
    }
}

// MARK: - Starting anew

extension UploadStateMachine {
    /// What follows when the attempt was ended by a pause: the same once more, which is no retry. `nil` when it was not, or
    /// when sending it again might store it twice.
    mutating func restart(
        _ record: AttemptRecord, _ ending: TransferEnd, _ verdict: inout AttemptVerdict, after standstill: Standstill
    ) -> [Action]? {
        guard var failure = verdict.failure else { return nil }
        switch standstill {
        case .none: return nil
        case .closing:
            guard verdict.response == nil, failure.transferCode == .cancelled else { return nil }
            failure.code = .paused
            failure.message = "the upload was paused for longer than its connection is kept"
            if failure.outcome == .unknown {
                failure.message +=
                    ", and its whole body had just left: look whether it was stored before you send it again"
            }
            verdict.failure = failure
            verdict.reason = "closed, because the upload was paused"
        case .kept:
            guard isServersImpatience(record, verdict) else { return nil }
        case .resumed(let acknowledged):
            guard record.evidence.acknowledged <= acknowledged, isServersImpatience(record, verdict) else { return nil }
        }
        guard maySendAgain, mayRepeat(failure) else { return nil }
        history.add(record, ending, verdict, sequel: .restart)
        if history.mayBeStored, !isIdempotent, let window = rules.keyWindow {
            let limit = RetryPolicy.Plan.Limit(end: window, reason: .idempotencyWindowClosed)
            lastRetry = RetryPolicy.Plan(delay: .zero, source: .backoff, limits: [limit])
        }
        let begin = beginAttempt(remainingLimits(of: failure))
        return [.restarted(attempt: snapshot.attempt), begin, .requeue(isHeld: snapshot.isPaused)]
    }

    /// Whether the server gave up on a body that stood: by closing, or by 408 (RFC 9110 section 15.5.9).
    private func isServersImpatience(_ record: AttemptRecord, _ verdict: AttemptVerdict) -> Bool {
        if let status = verdict.response?.head.status { return status.code == 408 }
        guard record.isConnected, let code = verdict.failure?.transferCode else { return false }
        return [.connectionLost, .responseIncomplete].contains(code)
    }

    private func mayRepeat(_ failure: AttemptVerdict.Failure) -> Bool {
        switch failure.outcome {
        case .notSent, .incomplete, .rejected: true
        case .unknown: rules.keyWindow != nil || isIdempotent && rules.retry.retriesLostResponses
        }
    }

    var isIdempotent: Bool { route?.hop.isIdempotent ?? rules.isIdempotent }
}
