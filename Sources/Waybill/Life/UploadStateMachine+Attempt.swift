import HTTPTypes
import WaybillCore

// The events of an attempt, its result, and the transition that follows.

extension UploadStateMachine {
    mutating func proceed(
        _ record: AttemptRecord, with event: TransferEvent, jitter: Double, elapsed: Duration
    ) -> [Action] {
        var record = record
        record.add(event, total: snapshot.total)
        state = .running(record)
        var hasChanged = updateCounts(from: record)
        if case .stored(let stored) = event {
            snapshot.stored = stored
            if stored.isConfirmed { confirmedBytes = stored.bytes }
            hasChanged = true
        }
        if case .ended(let end) = event {
            let (before, releaseActions) = endPause()
            let actions = conclude(record, end, after: before, jitter: jitter, elapsed: elapsed)
            return releaseActions + [.releaseSlot] + actions
        }
        let phase: UploadPhase =
            record.isBodyAcknowledged ? .awaitingResponse : record.isConnected ? .sending : snapshot.phase
        if phase != snapshot.phase {
            snapshot.phase = phase
            hasChanged = true
        }
        let actions = resumeIfFullySent(record)
        guard hasChanged else { return actions }
        return actions.isEmpty ? [.publish(snapshot)] : actions + [.publish(snapshot)]
    }

    /// Updates the counts of the snapshot, and returns whether they have changed.
    private mutating func updateCounts(from record: AttemptRecord) -> Bool {
        let hasChanged =
            snapshot.sent != record.evidence.sent || snapshot.acknowledged != record.evidence.acknowledged
            || snapshot.accuracy != record.accuracy
        snapshot.sent = record.evidence.sent
        snapshot.acknowledged = record.evidence.acknowledged
        snapshot.accuracy = record.accuracy
        return hasChanged
    }

    private mutating func conclude(
        _ record: AttemptRecord, _ transferEnd: TransferEnd, after pauseState: PauseState, jitter: Double,
        elapsed: Duration
    ) -> [Action] {
        isRepeatable = transferEnd.resumption?.isRepeatable
        if transferEnd.resumption?.hasAdvanced == true { retries = 0 }
        var verdict = AttemptVerdict(record, transferEnd, accepts: rules.accepts, cancelMessage: cancelMessage)
        guard var failure = verdict.failure else {
            history.add(record, transferEnd, verdict, disposition: .end)
            guard let response = history.lastResponse else { return [] }
            return end(.success(response), as: .succeeded)
        }
        guard cancelMessage == nil else {
            history.add(record, transferEnd, verdict, disposition: .end)
            return fail(failure)
        }
        if let restarted = restart(record, transferEnd, &verdict, after: pauseState) { return restarted }
        failure = verdict.failure ?? failure
        if mayRefresh(after: verdict) {
            hasRefreshed = true
            history.add(record, transferEnd, verdict, disposition: .freshCredential)
            state = .refreshing(failure)
            return [enter(.retrying), .refreshCredential(attempt: record.number)]
        }
        if let redirected = redirect(record, transferEnd, &verdict) { return redirected }
        failure = verdict.failure ?? failure
        switch rules.retry.decision(for: retryContext(failure, verdict, elapsed), jitter: jitter) {
        case .stop(let reason):
            history.add(record, transferEnd, verdict, disposition: reason.map { .noRetry($0) } ?? .end)
            return fail(failure)
        case .retry(let plan):
            history.add(record, transferEnd, verdict, disposition: .retry(after: plan.delay, source: plan.source))
            state = .awaitingRetryDecision(PendingRetry(plan: plan, failure: failure))
            return [.requestRetry(attempt: record.number)]
        }
    }

    private mutating func retryContext(
        _ failure: AttemptVerdict.Failure, _ verdict: AttemptVerdict, _ elapsed: Duration
    ) -> RetryPolicy.Context {
        countPause(until: elapsed)
        var context = RetryPolicy.Context(
            attempt: retries + 1, code: failure.transferCode, outcome: failure.outcome,
            isReplayable: isReplayable || route?.hop.sendsBody == false, response: verdict.response?.head)
        context.mayBeStored = history.mayBeStored
        context.isIdempotent = isIdempotent
        context.keyWindow = rules.keyWindow
        context.elapsed = elapsed
        context.paused = paused
        return context
    }

    mutating func schedule(_ pending: PendingRetry) -> [Action] {
        state = .retrying(pending)
        lastRetry = pending.plan
        retries += 1
        snapshot.retry = UploadRetry(
            reason: history.attempts.last?.reason ?? "", delay: pending.plan.delay, timeLeft: pending.plan.delay,
            number: retries, limit: rules.retry.maxRetries)
        return [enter(.retrying), .scheduleRetry(after: pending.plan.delay, attempt: snapshot.attempt + 1)]
    }

    /// Returns the time limit of the idempotency key. It also applies if the body is sent again without a retry, for
    /// example after a redirect.
    func remainingLimits(of failure: AttemptVerdict.Failure) -> PendingRetry? {
        guard let lastRetry, route?.hop.sendsBody != false else { return nil }
        var plan = lastRetry
        plan.limits.removeAll { $0.reason != .idempotencyWindowClosed }
        return PendingRetry(plan: plan, failure: failure)
    }

    mutating func beginAttempt(_ pending: PendingRetry?) -> Action {
        state = .queued(pending)
        if route?.hop.sendsBody == false { snapshot.total = 0 }
        snapshot.attempt += 1
        snapshot.sent = confirmedBytes
        snapshot.acknowledged = confirmedBytes
        if snapshot.stored != nil { snapshot.stored = StoredProgress(bytes: confirmedBytes, isConfirmed: true) }
        snapshot.retry = nil
        return enter(.queued)
    }

    /// Abandons a retry. The upload fails with the previous failure.
    mutating func giveUp(_ failure: AttemptVerdict.Failure, _ reason: NoRetryReason) -> [Action] {
        history.revoke(reason)
        return fail(failure)
    }

    mutating func fail(_ failure: AttemptVerdict.Failure) -> [Action] {
        var error = history.error(failure.code, failure.message, snapshot: snapshot, cause: failure.cause)
        error.envelope = failure.envelope
        return end(.failure(error), as: error.isCancelled ? .cancelled : .failed)
    }

    mutating func enter(_ phase: UploadPhase) -> Action {
        snapshot.phase = phase
        return .publish(snapshot)
    }

    mutating func end(_ result: Result<UploadResponse, UploadError>, as phase: UploadPhase) -> [Action] {
        state = .ended
        snapshot.isPaused = false
        snapshot.retry = nil
        return [enter(phase), .finish(result)]
    }
}
