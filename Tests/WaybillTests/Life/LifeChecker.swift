import HTTPTypes
import WaybillCore

@testable import Waybill

/// The rules of an upload's life, implemented a second time and differently: a resource tracker for places, slots,
/// preparations, transfers and timers that must all be returned. It does not know the states of the machine; it sees
/// only events in and actions out.
struct LifeChecker {
    enum Place { case nowhere, waitingLine, preparationWindow, readyLine, slot }

    private(set) var violation: String?
    private(set) var isFinished = false
    private(set) var place = Place.nowhere
    private(set) var isPreparing = false
    private(set) var transfer: Int?
    private(set) var timer: Int?
    /// The attempt after which a retry was requested from the budget, while the reply is pending.
    private(set) var pendingRetryRequest: Int?
    private(set) var started = 0
    /// How often it was sent again after a pause.
    private(set) var restarts = 0
    var isPaused: Bool { pauses.isPaused }
    var slotTimer: Int? { pauses.timer }
    /// The attempt whose credential is being refreshed.
    private(set) var refresh: Int?
    private var refreshes = 0
    /// Whether the queue has called it and waits for its next action.
    private var isCalled = false
    private var isGranted = false
    private var retries = 0
    private var isRetryStart = false
    private var hops: [UploadRoute.Hop] = []
    /// Whether the transfer was cancelled, and whether the caller cancelled the upload.
    private(set) var isStopSent = false
    private var isCancelled = false
    private var pauses = PauseTracker()
    private var isReplayable = false
    private var isTerminalPublished: UploadPhase?
    private var lastPublished: UploadSnapshot?
    private var bounds = OutcomeBounds()
    private let rules: UploadRules

    init(rules: UploadRules) {
        self.rules = rules
    }

    /// Checks one event and the actions that it caused.
    mutating func check(_ event: UploadStateMachine.Event, _ actions: [UploadStateMachine.Action]) {
        if isFinished, !actions.isEmpty { fail("actions after the end: \(actions)") }
        var isSuccess = false
        let wasStopped = isStopSent || pauses.wasTransferPaused
        pauses.record(event, isCancelled: isCancelled || isFinished)
        switch event {
        case .prepared(_, let isReplayable) where isPreparing:
            isPreparing = false
            self.isReplayable = isReplayable
        case .preparationFailed: isPreparing = false
        case .mayPrepare where place == .waitingLine: isCalled = true
        case .retryDue(let attempt) where attempt == timer: timer = nil
        case .credentialReady(let attempt) where attempt == refresh: refresh = nil
        case .credentialFailed(let attempt, _) where attempt == refresh: refresh = nil
        case .admitted where place == .readyLine:
            place = .slot
            isCalled = true
        case .retryDecided(let attempt, let isGranted) where attempt == pendingRetryRequest:
            pendingRetryRequest = nil
            self.isGranted = isGranted
        case .transfer(let event, let attempt, _, _) where attempt == transfer:
            bounds.record(event)
            guard case .ended(let end) = event else { break }
            transfer = nil
            isStopSent = false
            pauses.isTransferPaused = false
            if case .success(let response) = end.result {
                let status = response.head.status
                // A redirect before the end of the body is not an acceptance.
                isSuccess =
                    rules.accepts.accepts(status) && end.validationFailure == nil
                    && (bounds.isCurrentWhole || !(300..<400).contains(status.code))
            }
        default: break
        }
        for action in actions { check(action, isSuccess: isSuccess, wasStopped: wasStopped) }
        if !isFinished, violation == nil { checkResources() }
        if isGranted { fail("a retry was granted and not made") }
        if !isFinished, case .admitted(let elapsed) = event, actions.contains(where: \.isStart) { checkStart(elapsed) }
        switch event {
        case .cancel, .sessionClosing:
            // Immediately, or as soon as the transport has ended the transfer; then without a retry or another wait.
            if !isFinished && !(transfer != nil && isStopSent) { fail("a cancel without effect") }
            isCancelled = true
        default: break
        }
    }

    private mutating func check(_ action: UploadStateMachine.Action, isSuccess: Bool, wasStopped: Bool) {
        guard !isFinished else { return fail("\(action) after finish") }
        if let problem = pauses.check(action, transfer: transfer, place: place) { fail(problem) }
        switch action {
        case .hold, .release, .pauseTransfer, .resumeTransfer, .scheduleSlotReturn, .unscheduleSlotReturn: break
        case .limitTransfer: if transfer == nil { fail("no transfer to limit") }
        case .requeueHeld:
            if !isCalled || transfer != nil { fail("a requeue without a call") }
            isCalled = false
            if place == .slot { place = .readyLine }
        case .restarted(let attempt):
            if !wasStopped || isCancelled || transfer != nil || attempt != started + 1 {
                fail("a restart out of place")
            }
            if bounds.mayBeStored, !isIdempotent, rules.keyWindow == nil { fail("a restart of what may be stored") }
            restarts += 1
            isRetryStart = false
        case .join: move(from: [.nowhere], to: .waitingLine, started == 0 && lastPublished == nil, "join")
        case .prepare:
            move(from: [.waitingLine], to: .preparationWindow, !isPreparing && isCalled, "prepare")
            isPreparing = true
            isCalled = false
        case .stopPreparing:
            if !isPreparing { fail("nothing is being prepared") }
            isPreparing = false
        case .awaitSlot: move(from: [.preparationWindow], to: .readyLine, !isPreparing, "awaitSlot")
        case .requeue: move(from: [.nowhere], to: .readyLine, started > 0 && timer == nil && refresh == nil, "requeue")
        case .withdraw: move(from: [.waitingLine, .preparationWindow, .readyLine], to: .nowhere, true, "withdraw")
        case .releaseSlot:
            move(from: [.slot], to: .nowhere, transfer == nil, "releaseSlot")
            isCalled = false
        case .startTransfer(let attempt):
            move(from: [.slot], to: .slot, transfer == nil && attempt == started + 1, "startTransfer")
            if pauses.isPaused || !isCalled { fail("a start without a call, or of a paused upload") }
            if attempt > 1, !isReplayable, hops.last?.sendsBody != false { fail("a body that can be read once, twice") }
            started = attempt
            transfer = attempt
            isCalled = false
            bounds.begin()
        case .cancelTransfer:
            if transfer == nil || isStopSent { fail("no transfer to cancel, or cancelled twice") }
            isStopSent = true
            pauses.isTransferPaused = false
        case .requestRetry(let attempt):
            if pendingRetryRequest != nil || transfer != nil || place != .nowhere || attempt != started || isCancelled {
                fail("a retry request out of place")
            }
            pendingRetryRequest = attempt
        case .refreshCredential(let attempt):
            refreshes += 1
            if refresh != nil || transfer != nil || place != .nowhere || attempt != started || isCancelled {
                fail("a refresh out of place")
            }
            if refreshes > 1 || !rules.canRefresh { fail("refresh \(refreshes)") }
            if hops.last?.sendsCredentials == false { fail("a credential for another origin") }
            refresh = attempt
            isRetryStart = false
        case .stopRefreshing:
            if refresh == nil { fail("no refresh to stop") }
            refresh = nil
        case .redirect(let hop): check(hop)
        case .scheduleRetry(let delay, let attempt):
            if timer != nil || place != .nowhere || attempt != started + 1 || isCancelled || delay < .zero {
                fail("a retry out of place")
            }
            if !isGranted { fail("a retry that was not granted") }
            if bounds.mayBeStored, !isIdempotent, rules.keyWindow == nil { fail("a retry of what may be stored") }
            isGranted = false
            isRetryStart = true
            retries += 1
            if retries > rules.retry.maxRetries { fail("retry \(retries) of \(rules.retry.maxRetries)") }
            timer = attempt
        case .unscheduleRetry:
            if timer == nil { fail("no timer to stop") }
            timer = nil
        case .publish(let snapshot): check(snapshot)
        case .finish(let result):
            pendingRetryRequest = nil
            isGranted = false
            check(result, isSuccess: isSuccess)
        }
    }

    private var isIdempotent: Bool { hops.last?.isIdempotent ?? rules.isIdempotent }

    /// Checks a redirect: not too many, never to a previous URL, and dropped credentials are not restored.
    private mutating func check(_ hop: UploadRoute.Hop) {
        if place != .nowhere || transfer != nil || timer != nil || isCancelled { fail("a redirect out of place") }
        let before = hops.last ?? rules.route?.hop
        if rules.route == nil || hops.count >= 5 { fail("redirect \(hops.count + 1)") }
        if hops.contains(hop) || hop == rules.route?.hop { fail("in a circle to \(hop)") }
        if hop.sendsCredentials, before?.sendsCredentials == false { fail("credentials came back") }
        if hop.sendsBody, before?.sendsBody == false { fail("a body came back") }
        if !hop.sendsBody, before?.sendsBody == true { bounds.serverActed() }
        isRetryStart = false
        hops.append(hop)
    }

    /// Checks the start of a retry: before the deadline, and with a key that the server still knows if it may already
    /// have acted.
    private mutating func checkStart(_ elapsed: Duration) {
        guard retries + restarts > 0 else { return }
        if isRetryStart, let deadline = rules.retry.deadline, elapsed - pauses.total > deadline {
            fail("a start after the deadline")
        }
        if let window = rules.keyWindow, bounds.mayBeStored, !isIdempotent, elapsed > window {
            fail("a start with a key that is forgotten")
        }
    }

    /// Every call has been answered; paused uploads, and only those, are skipped; a slot implies a transfer.
    private mutating func checkResources() {
        if isCalled { fail("a call that was not taken up") }
        if (place == .slot) != (transfer != nil) { fail("a slot without a transfer, or the other way round") }
        if [.waitingLine, .preparationWindow, .readyLine].contains(place), pauses.isHeld != pauses.isPaused {
            fail("held: \(pauses.isHeld), paused: \(pauses.isPaused)")
        }
        if pauses.timer != nil, !pauses.isTransferPaused { fail("a slot return is due without a paused transfer") }
        if pauses.isOverdue, !isStopSent, transfer != nil { fail("a slot was not given back in time") }
        pauses.isOverdue = false
    }

    private mutating func move(from allowed: Set<Place>, to next: Place, _ condition: Bool, _ what: String) {
        if !allowed.contains(place) || !condition { fail("\(what) at \(place)") }
        place = next
    }

    private mutating func check(_ snapshot: UploadSnapshot) {
        if isTerminalPublished != nil { fail("a snapshot after the terminal one") }
        if snapshot.phase.isTerminal { isTerminalPublished = snapshot.phase }
        if snapshot.acknowledged > snapshot.sent { fail("more acknowledged than sent") }
        if snapshot.isPaused != (pauses.isPaused && !snapshot.phase.isTerminal) { fail("paused \(snapshot.isPaused)") }
        defer { lastPublished = snapshot }
        guard let last = lastPublished else { return }
        if snapshot.attempt < last.attempt { fail("the attempt went back") }
        guard snapshot.attempt == last.attempt else { return }
        if Self.rank(snapshot.phase) < Self.rank(last.phase) { fail("\(snapshot.phase) after \(last.phase)") }
        if snapshot.sent < last.sent || snapshot.acknowledged < last.acknowledged { fail("progress went back") }
    }

    private mutating func check(_ result: Result<UploadResponse, UploadError>, isSuccess: Bool) {
        isFinished = true
        if place != .nowhere || isPreparing || transfer != nil || timer != nil || refresh != nil
            || pauses.timer != nil || pauses.isTransferPaused
        {
            fail("kept: \(place), preparing \(isPreparing), transfer \(transfer as Any), timer \(timer as Any)")
        }
        switch result {
        case .success(let response):
            if !isSuccess { fail("a success that was not reported") }
            if isTerminalPublished != .succeeded { fail("success published as \(isTerminalPublished as Any)") }
            if response.attempts.count != started { fail("\(response.attempts.count) of \(started) attempts told") }
        case .failure(let error):
            if isSuccess { fail("an accepted answer became an error") }
            let phase: UploadPhase = error.isCancelled ? .cancelled : .failed
            if isTerminalPublished != phase { fail("\(error.code) published as \(isTerminalPublished as Any)") }
            if error.attempts.count != started { fail("\(error.attempts.count) of \(started) attempts told") }
            if let reason = bounds.violation(of: error.outcome) { fail(reason) }
        }
    }

    /// Checks that everything ended and was released.
    mutating func checkEnd() {
        if !isFinished { fail("no terminal event") }
    }

    private mutating func fail(_ reason: String) {
        if violation == nil { violation = reason }
    }

    private static func rank(_ phase: UploadPhase) -> Int {
        switch phase {
        case .waiting: 0
        case .preparing: 1
        case .queued: 2
        case .connecting: 3
        case .sending: 4
        case .awaitingResponse: 5
        case .retrying: 6
        case .succeeded, .failed, .cancelled: 7
        }
    }
}

extension UploadStateMachine.Action {
    fileprivate var isStart: Bool { if case .startTransfer = self { true } else { false } }
}
