/// The life of one item: events in, effects out. No clock, no store, no network.
///
/// Every change of state goes through here, whoever asks for it. Times are milliseconds since 1970.
package struct ItemLife: Sendable, Hashable, Codable {
    /// What somebody wants of an item that is being worked on.
    package enum Asked: Int, Sendable, Hashable, Codable {
        case nothing, pause, cancel
    }

    package var state = OutboxState.ready
    /// Attempts that count.
    package var attempts = 0
    /// Counts leases; whoever reports with an old number is not heard.
    package var leaseNumber: Int64 = 0
    /// Whether a lease is held to find out what became of it.
    package var isVerifying = false
    package var asked = Asked.nothing
    /// Not before this time.
    package var runAt: Int64 = 0
    package var firstAttemptAt: Int64?
    /// Whether the server may have acted on an attempt. Only what the server shows ends this: a response to a later attempt that
    /// delivers it, or a verification that finds it or does not.
    package var isDoubtful = false
    /// How often nobody could be asked.
    package var vainQuestions = 0
    /// Why it stands where it does.
    package var reason: String?

    package var maxAttempts: Int
    package var deadline: Int64?
    package var onUnknown: UnknownPolicy
    package var onChange: SourceChangePolicy

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
        /// A worker takes it: to deliver it, or to find out.
        case lease
        /// The delivery is over.
        case ended(Ending, lease: Int64)
        /// What was found out.
        case verdict(Verdict, lease: Int64)
        /// The server has more of it than before.
        case progressed(lease: Int64)
        /// What the server had of it is of no use, so that this attempt, which has this number, was none that came further.
        case setBack(attempt: Int, lease: Int64)
        /// Whoever held the lease is gone.
        case lost
        /// Time has passed.
        case due
        case pause, resume, cancel
        /// Somebody asks the server once more about an item in doubt, also one that failed for it.
        case verify
        /// Sent from the start, whatever is known of earlier attempts.
        case retry
    }

    /// How a delivery ended.
    package enum Ending: Sendable, Hashable, Codable {
        case delivered
        /// The next attempt would meet the same.
        case refused(String)
        /// The next attempt, after a wait, may go better.
        case passing(String, delay: Int64)
        /// The lane's trouble and not the item's, so no attempt is spent.
        case lane(String)
        /// Nobody was reached; no attempt is spent.
        case offline(String)
        /// The server may have acted on it. Verified after the delay, and then perhaps sent again.
        case unknown(String, delay: Int64 = 0)
        /// A source file is not what it was.
        case sourceChanged(String, delay: Int64)
        /// We stopped it ourselves, before the server had all of it.
        case aborted
    }

    package enum Verdict: Sendable, Hashable, Codable {
        case delivered
        /// The server does not have it.
        case absent
        /// Sending it again makes no second one. Whether the server has it stays unknown.
        case repeatable
        case cannotTell(String)
        /// Nobody could be asked.
        case later(String, delay: Int64)
    }

    package enum Effect: Sendable, Hashable, Codable {
        case deliver(attempt: Int, lease: Int64)
        case verify(lease: Int64)
        /// What runs is to be stopped.
        case abort
        /// The files are taken as they are now.
        case takeNewSource
        case finished(OutboxState)
    }

    /// Takes an event in.
    ///
    /// - Returns: What is to be done. Nothing for an event that comes too late.
    package mutating func handle(_ event: Event, at now: Int64) -> [Effect] {
        guard hears(event) else { return [] }
        switch event {
        case .lease: return lease(now)
        case .ended(let ending, _): return ended(ending, now)
        case .verdict(let verdict, _): return answered(verdict, now)
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
            if state == .waiting, Self.isDue(runAt, now) { state = .ready }
        case .pause: return pause()
        case .resume: resume()
        case .cancel: return cancel()
        case .verify: askOnceMore()
        case .retry: retry(now)
        }
        return []
    }

    /// Whether an event is of the lease that is held now. All others are heard always.
    package func hears(_ event: Event) -> Bool {
        switch event {
        case .ended(_, let number), .progressed(let number), .setBack(_, let number):
            state == .leased && number == leaseNumber
        case .verdict(_, let number): state == .verify && isVerifying && number == leaseNumber
        default: true
        }
    }

    /// Whether a time has come. One further ahead than anything waits was set before the clock was put back.
    package static func isDue(_ time: Int64, _ now: Int64) -> Bool { time <= now || time > now + longestWait }

    /// The longest wait there is, with a minute on top: one hour, as for `Retry-After`.
    package static let longestWait: Int64 = 3_660_000

    /// How long ago a time was. Longer than any promise of a server, if the clock was put back behind it: then nobody knows.
    static func time(since start: Int64, at now: Int64) -> Int64 {
        now < start - 60_000 ? 100 * 365 * 86_400_000 : max(0, now - start)
    }
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
            return [.deliver(attempt: attempts, lease: leaseNumber)]
        case .verify where !isVerifying && Self.isDue(runAt, now):
            leaseNumber += 1
            isVerifying = true
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
        case .refused(let reason): return asked == .cancel ? finish(.cancelled, nil) : finish(.failed, reason)
        case .passing(let reason, let delay): return wait(reason, delay, now)
        case .sourceChanged(let reason, let delay): return sourceChanged(reason, delay, now)
        case .lane(let reason), .offline(let reason):
            attempts -= 1
            self.reason = reason
            if case .offline = ending, attempts == 0 { firstAttemptAt = nil }
            return goOn(now)
        case .aborted:
            attempts -= 1
            return goOn(now)
        }
    }

    private mutating func answered(_ verdict: Verdict, _ now: Int64) -> [Effect] {
        isVerifying = false
        switch verdict {
        case .delivered: return finish(.done, nil)
        case .absent, .repeatable:
            if verdict == .absent { isDoubtful = false }
            vainQuestions = 0
            return spent(now) ?? goOn(now)
        case .later(let reason, let delay) where vainQuestions + 1 < maxAttempts && !isPast(now + delay):
            vainQuestions += 1
            runAt = now + delay
            self.reason = reason
            return []
        case .later(let reason, _), .cannotTell(let reason): return nobodyKnows(reason, now)
        }
    }

    private mutating func nobodyKnows(_ detail: String, _ now: Int64) -> [Effect] {
        if asked == .cancel { return finish(.cancelled, "outcomeUnknown") }
        switch onUnknown {
        case .fail: return finish(.failed, "outcomeUnknown")
        case .ask:
            state = .paused
            asked = .nothing
            reason = "outcomeUnknown"
            return []
        case .retry:
            reason = detail
            return spent(now) ?? goOn(now)
        }
    }

    private mutating func sourceChanged(_ reason: String, _ delay: Int64, _ now: Int64) -> [Effect] {
        if asked == .cancel { return finish(.cancelled, nil) }
        switch onChange {
        case .fail: return finish(.failed, reason)
        case .skip: return finish(.cancelled, reason)
        case .restart:
            let effects = wait(reason, delay, now)
            return state.isTerminal ? effects : effects + [.takeNewSource]
        }
    }

    private mutating func wait(_ reason: String, _ delay: Int64, _ now: Int64) -> [Effect] {
        self.reason = reason
        if asked == .cancel { return finish(.cancelled, nil) }
        if let effects = spent(now + delay) { return effects }
        guard asked != .pause else { return goOn(now) }
        state = .waiting
        runAt = now + min(max(0, delay), Self.longestWait)
        return []
    }

    /// The end, if no attempt is left or the next would begin too late.
    private mutating func spent(_ next: Int64) -> [Effect]? {
        if asked == .cancel { return nil }
        if attempts >= maxAttempts { return finish(.failed, reason ?? "attemptsUsedUp") }
        return isPast(next) ? finish(.failed, "deadlinePassed") : nil
    }

    /// Free again, or whatever somebody wanted meanwhile.
    private mutating func goOn(_ now: Int64) -> [Effect] {
        switch asked {
        case .cancel: return finish(.cancelled, nil)
        case .pause:
            asked = .nothing
            state = .paused
        case .nothing:
            if isPast(now) { return finish(.failed, "deadlinePassed") }
            state = .ready
        }
        return []
    }

    private mutating func pause() -> [Effect] {
        switch state {
        case .ready, .waiting: state = .paused
        case .leased where asked == .nothing:
            asked = .pause
            return [.abort]
        case .verify where asked == .nothing: asked = .pause
        default: break
        }
        return []
    }

    private mutating func resume() {
        if asked == .pause { asked = .nothing }
        guard state == .paused else { return }
        state = isDoubtful ? .verify : .ready
        runAt = 0
        vainQuestions = 0
    }

    private mutating func cancel() -> [Effect] {
        switch state {
        case .ready, .waiting, .paused: return finish(.cancelled, nil)
        case .leased:
            asked = .cancel
            return [.abort]
        case .verify: asked = .cancel
        default: break
        }
        return []
    }

    private mutating func askOnceMore() {
        guard isDoubtful, !isVerifying, [.failed, .paused, .verify].contains(state) else { return }
        if state != .verify {
            state = .verify
            asked = .nothing
            reason = nil
        }
        runAt = 0
        vainQuestions = 0
    }

    private mutating func retry(_ now: Int64) {
        guard state != .done, state != .cancelled, state != .leased, state != .ready, !isVerifying else { return }
        state = .ready
        asked = .nothing
        attempts = 0
        vainQuestions = 0
        runAt = 0
        isDoubtful = false
        reason = nil
        if isPast(now) { deadline = nil }
    }

    private mutating func finish(_ end: OutboxState, _ reason: String?) -> [Effect] {
        state = end
        asked = .nothing
        isVerifying = false
        if end == .done { isDoubtful = false }
        self.reason = reason ?? (isDoubtful && end == .cancelled ? "outcomeUnknown" : nil)
        return [.finished(end)]
    }

    private func isPast(_ time: Int64) -> Bool { deadline.map { time > $0 } ?? false }
}
