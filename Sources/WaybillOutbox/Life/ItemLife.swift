/// The state machine of one item: handles events and returns effects. Uses no clock, store or network.
///
/// Every change of state goes through this type. Times are milliseconds since 1970.
package struct ItemLife: Sendable, Hashable, Codable {
    /// A pending request for an item that is being worked on.
    package enum PendingRequest: Int, Sendable, Hashable, Codable {
        case nothing, pause, cancel
    }

    package var state = OutboxState.ready
    /// The number of attempts that count.
    package var attempts = 0
    /// The number of leases so far; events with an older lease number are ignored.
    package var leaseNumber: Int64 = 0
    /// Whether a lease is held for verification.
    package var isVerifying = false
    package var pendingRequest = PendingRequest.nothing
    /// The earliest time of the next attempt or verification.
    package var runAt: Int64 = 0
    /// The time before which the first attempt does not start; `nil` if that time has passed.
    package var notBefore: Int64?
    package var firstAttemptAt: Int64?
    /// The time of the last lease.
    package var leasedAt: Int64?
    /// Whether the server may have processed an attempt. Reset only by evidence from the server: a response to a later
    /// attempt that delivers the item, or a verification with a definite result; or by the caller with `retry`.
    package var isDoubtful = false
    /// The number of verifications that did not reach the server.
    package var failedVerifications = 0
    /// The reason for the state.
    package var reason: String?

    package var maxAttempts: Int
    package var deadline: Int64?
    package var onUnknown: UnknownPolicy
    package var onChange: SourceChangePolicy

    /// The coding keys of release 0.1, which are used between processes. Properties that only a store sets have none.
    private enum CodingKeys: String, CodingKey {
        case state, attempts, leaseNumber, isVerifying, runAt, firstAttemptAt, isDoubtful, reason, maxAttempts
        case deadline, onUnknown, onChange
        case pendingRequest = "asked"
        case failedVerifications = "vainQuestions"
    }

    package init(
        maxAttempts: Int = 10, deadline: Int64? = nil, onUnknown: UnknownPolicy = .fail,
        onChange: SourceChangePolicy = .fail
    ) {
        self.maxAttempts = max(1, maxAttempts)
        self.deadline = deadline
        self.onUnknown = onUnknown
        self.onChange = onChange
    }

    package enum Event: Sendable, Hashable, Codable {
        /// A worker leases the item for delivery or verification.
        case lease
        /// The delivery ended.
        case ended(Ending, lease: Int64)
        /// The verification ended.
        case verdict(Verdict, lease: Int64)
        /// The server has received more of the item than before.
        case progressed(lease: Int64)
        /// The data on the server is unusable, so the attempt with this number made no progress.
        case setBack(attempt: Int, lease: Int64)
        /// The holder of the lease no longer exists.
        case lost
        /// The waiting time may have passed.
        case due
        case pause, resume, cancel
        /// Verifies an item with an unknown outcome again, also one that failed for this reason.
        case verify
        /// Sends the item from the start, regardless of the outcome of earlier attempts.
        case retry
        /// The item is a copy in a backup, while the original may be delivered.
        case copied

        /// The lease number of a report; `nil` for other events.
        package var lease: Int64? {
            switch self {
            case .ended(_, let lease), .verdict(_, let lease), .progressed(let lease), .setBack(_, let lease): lease
            default: nil
            }
        }
    }

    /// The outcome of a delivery.
    package enum Ending: Sendable, Hashable, Codable {
        case delivered
        /// Permanent failure: the next attempt would fail in the same way.
        case refused(String)
        /// Transient failure: another attempt follows after a delay.
        case transient(String, delay: Int64)
        /// A failure of the lane, not of the item; the attempt is not counted.
        case lane(String)
        /// No server was reached; the attempt is not counted.
        case offline(String)
        /// The server may have processed the upload. It is verified after the delay, and then possibly sent again.
        case unknown(String, delay: Int64 = 0)
        /// A source file has changed.
        case sourceChanged(String, delay: Int64)
        /// The delivery was stopped locally before the server had received all of it.
        case aborted
    }

    package enum Verdict: Sendable, Hashable, Codable {
        case delivered
        /// The server does not have the upload.
        case absent
        /// Sending again does not create a duplicate. Whether the server has the upload remains unknown.
        case repeatable
        case cannotTell(String)
        /// The server could not be reached.
        case later(String, delay: Int64)
    }

    package enum Effect: Sendable, Hashable, Codable {
        case deliver(attempt: Int, lease: Int64)
        case verify(lease: Int64)
        /// Stop the delivery in progress.
        case abort
        /// Use the files in their current state.
        case useCurrentSource
        case finished(OutboxState)
    }

    /// Handles an event.
    ///
    /// - Returns: The effects to perform; empty for an event of an outdated lease.
    package mutating func handle(_ event: Event, at now: Int64) -> [Effect] {
        guard accepts(event) else { return [] }
        switch event {
        case .lease: return lease(now)
        case .ended(let ending, _): return ended(ending, now)
        case .verdict(let verdict, _): return verified(verdict, now)
        case .progressed: attempts = min(attempts, 1)
        case .setBack(let attempt, _): attempts = min(max(attempts, attempt), maxAttempts)
        case .lost:
            if state == .leased {
                state = .verify
                isDoubtful = true
                reason = "interrupted"
            }
            isVerifying = false
        case .due:
            if state == .waiting, notBefore != nil || Self.isDue(runAt, now) { makeReady(now) }
        case .pause: return pause()
        case .resume: resume(now)
        case .cancel: return cancel()
        case .verify: verifyAgain()
        case .retry: retry(now)
        case .copied: return copied()
        }
        return []
    }

    /// Whether an event belongs to the current lease. Events without a lease number are always accepted.
    package func accepts(_ event: Event) -> Bool {
        switch event {
        case .ended(_, let number), .progressed(let number), .setBack(_, let number):
            state == .leased && number == leaseNumber
        case .verdict(_, let number): state == .verify && isVerifying && number == leaseNumber
        default: true
        }
    }

    /// Whether a time has passed. Also `true` for a time beyond the longest wait, stored before the clock was set back.
    package static func isDue(_ time: Int64, _ now: Int64) -> Bool { time <= now || time > now + longestWait }

    /// The longest possible wait plus one minute: one hour, as for `Retry-After`.
    package static let longestWait: Int64 = 3_660_000

    /// Returns the time since `start`. If the clock was set back before `start`, returns 100 years, which exceeds every
    /// idempotency window, because the actual time is unknown.
    static func time(since start: Int64, at now: Int64) -> Int64 {
        now < start - 60_000 ? 100 * 365 * 86_400_000 : max(0, now - start)
    }

    /// Returns the time since the first attempt; 0 before it.
    package func sinceFirstAttempt(at now: Int64) -> Int64 { firstAttemptAt.map { Self.time(since: $0, at: now) } ?? 0 }
}

extension ItemLife {
    private mutating func lease(_ now: Int64) -> [Effect] {
        switch state {
        case .ready:
            if isPast(now) { return finish(.failed, "deadlinePassed") }
            state = .leased
            leaseNumber += 1
            attempts += 1
            firstAttemptAt = firstAttemptAt ?? now
            leasedAt = now
            return [.deliver(attempt: attempts, lease: leaseNumber)]
        case .verify where !isVerifying && Self.isDue(runAt, now):
            leaseNumber += 1
            isVerifying = true
            leasedAt = now
            return [.verify(lease: leaseNumber)]
        default: return []
        }
    }

    private mutating func ended(_ ending: Ending, _ now: Int64) -> [Effect] {
        switch ending {
        case .delivered: return finish(.done, nil)
        case .unknown(let reason, let delay):
            state = .verify
            isDoubtful = true
            runAt = delay > 0 ? now + min(delay, Self.longestWait) : 0
            self.reason = reason
            return []
        case .refused(let reason): return pendingRequest == .cancel ? finish(.cancelled, nil) : finish(.failed, reason)
        case .transient(let reason, let delay): return wait(reason, delay, now)
        case .sourceChanged(let reason, let delay): return sourceChanged(reason, delay, now)
        case .lane(let reason), .offline(let reason):
            attempts -= 1
            self.reason = reason
            if case .offline = ending, attempts == 0 { firstAttemptAt = nil }
            return applyPendingRequest(now)
        case .aborted:
            attempts -= 1
            return applyPendingRequest(now)
        }
    }

    private mutating func verified(_ verdict: Verdict, _ now: Int64) -> [Effect] {
        isVerifying = false
        switch verdict {
        case .delivered: return finish(.done, nil)
        case .absent, .repeatable:
            if verdict == .absent { isDoubtful = false }
            failedVerifications = 0
            return failIfExhausted(now) ?? applyPendingRequest(now)
        case .later(let reason, let delay) where failedVerifications + 1 < maxAttempts && !isPast(now + delay):
            failedVerifications += 1
            runAt = now + delay
            self.reason = reason
            return []
        case .later(let reason, _), .cannotTell(let reason): return outcomeUndetermined(reason, now)
        }
    }

    private mutating func outcomeUndetermined(_ detail: String, _ now: Int64) -> [Effect] {
        if pendingRequest == .cancel { return finish(.cancelled, "outcomeUnknown") }
        switch onUnknown {
        case .fail: return finish(.failed, "outcomeUnknown")
        case .ask:
            state = .paused
            pendingRequest = .nothing
            reason = "outcomeUnknown"
            return []
        case .retry:
            reason = detail
            return failIfExhausted(now) ?? applyPendingRequest(now)
        }
    }

    private mutating func sourceChanged(_ reason: String, _ delay: Int64, _ now: Int64) -> [Effect] {
        if pendingRequest == .cancel { return finish(.cancelled, nil) }
        switch onChange {
        case .fail: return finish(.failed, reason)
        case .skip: return finish(.cancelled, reason)
        case .restart:
            let effects = wait(reason, delay, now)
            return state.isTerminal ? effects : effects + [.useCurrentSource]
        }
    }

    private mutating func wait(_ reason: String, _ delay: Int64, _ now: Int64) -> [Effect] {
        self.reason = reason
        if pendingRequest == .cancel { return finish(.cancelled, nil) }
        if let effects = failIfExhausted(now + delay) { return effects }
        guard pendingRequest != .pause else { return applyPendingRequest(now) }
        state = .waiting
        runAt = now + min(max(0, delay), Self.longestWait)
        return []
    }

    /// Ends the item if no attempt is left or the next one would be past the deadline.
    private mutating func failIfExhausted(_ next: Int64) -> [Effect]? {
        if pendingRequest == .cancel { return nil }
        if attempts >= maxAttempts { return finish(.failed, reason ?? "attemptsUsedUp") }
        return isPast(next) ? finish(.failed, "deadlinePassed") : nil
    }

    /// Continues with the pending request, or else makes the item ready again.
    private mutating func applyPendingRequest(_ now: Int64) -> [Effect] {
        switch pendingRequest {
        case .cancel: return finish(.cancelled, nil)
        case .pause:
            pendingRequest = .nothing
            state = .paused
        case .nothing:
            if isPast(now) { return finish(.failed, "deadlinePassed") }
            makeReady(now)
        }
        return []
    }

    private mutating func pause() -> [Effect] {
        switch state {
        case .ready, .waiting: state = .paused
        case .leased where pendingRequest == .nothing:
            pendingRequest = .pause
            return [.abort]
        case .verify where pendingRequest == .nothing: pendingRequest = .pause
        default: break
        }
        return []
    }

    private mutating func resume(_ now: Int64) {
        if pendingRequest == .pause { pendingRequest = .nothing }
        guard state == .paused else { return }
        runAt = 0
        failedVerifications = 0
        if isDoubtful { state = .verify } else { makeReady(now) }
    }

    private mutating func cancel() -> [Effect] {
        switch state {
        case .ready, .waiting, .paused: return finish(.cancelled, nil)
        case .leased:
            pendingRequest = .cancel
            return [.abort]
        case .verify: pendingRequest = .cancel
        default: break
        }
        return []
    }

    private mutating func verifyAgain() {
        guard isDoubtful, !isVerifying, [.failed, .paused, .verify].contains(state) else { return }
        if state != .verify {
            state = .verify
            pendingRequest = .nothing
            reason = nil
        }
        runAt = 0
        failedVerifications = 0
    }

    private mutating func retry(_ now: Int64) {
        guard state != .done, state != .cancelled, state != .leased, state != .ready, !isVerifying else { return }
        state = .ready
        pendingRequest = .nothing
        attempts = 0
        failedVerifications = 0
        runAt = 0
        notBefore = nil
        isDoubtful = false
        reason = nil
        if isPast(now) { deadline = nil }
    }

    /// Pauses the item until a decision, and then verifies it: the original may have been delivered meanwhile.
    private mutating func copied() -> [Effect] {
        guard !state.isTerminal else { return [] }
        isDoubtful = true
        isVerifying = false
        if pendingRequest == .cancel { return finish(.cancelled, nil) }
        pendingRequest = .nothing
        state = .paused
        reason = "copied"
        return []
    }

    private mutating func finish(_ end: OutboxState, _ reason: String?) -> [Effect] {
        state = end
        pendingRequest = .nothing
        isVerifying = false
        if end == .done { isDoubtful = false }
        self.reason = reason ?? (isDoubtful && end == .cancelled ? "outcomeUnknown" : nil)
        return [.finished(end)]
    }

    private func isPast(_ time: Int64) -> Bool { deadline.map { time > $0 } ?? false }
}
