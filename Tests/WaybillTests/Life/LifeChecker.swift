import HTTPTypes
import WaybillCore

@testable import Waybill

/// The rules of an upload's life, written a second time and in another way: as the books of somebody who hands out
/// places, slots, preparations, transfers and timers, and wants every one of them back. It knows nothing of the machine's
/// states; it sees events go in and actions come out.
struct LifeChecker {
    enum Place { case nowhere, waitingLine, preparationWindow, readyLine, slot }

    private(set) var violation: String?
    private(set) var isFinished = false
    private(set) var place = Place.nowhere
    private(set) var isPreparing = false
    private(set) var transfer: Int?
    private(set) var timer: Int?
    /// The attempt after which the budget was asked for a retry and has not answered.
    private(set) var question: Int?
    private(set) var started = 0
    /// The attempt whose credential is being renewed.
    private(set) var refresh: Int?
    private var refreshes = 0
    private var isGranted = false
    private var retries = 0
    private var isRetryStart = false
    private var hops: [UploadRoute.Hop] = []
    private var isCancelSent = false
    private var isTerminalPublished: UploadPhase?
    private var lastPublished: UploadSnapshot?
    private var floor = CertaintyFloor()
    private let rules: LifeRules

    init(rules: LifeRules) {
        self.rules = rules
    }

    /// Looks at one event and what came of it.
    mutating func check(_ event: UploadStateMachine.Event, _ actions: [UploadStateMachine.Action]) {
        if isFinished, !actions.isEmpty { fail("actions after the end: \(actions)") }
        var isSuccess = false
        switch event {
        case .prepared, .preparationFailed: isPreparing = false
        case .retryDue(let attempt) where attempt == timer: timer = nil
        case .credentialReady(let attempt) where attempt == refresh: refresh = nil
        case .credentialFailed(let attempt, _) where attempt == refresh: refresh = nil
        case .admitted where place == .readyLine: place = .slot
        case .retryAnswered(let attempt, let isGranted) where attempt == question:
            question = nil
            self.isGranted = isGranted
        case .transfer(let event, let attempt, _, _) where attempt == transfer:
            floor.see(event)
            guard case .ended(let end) = event else { break }
            transfer = nil
            if case .success(let response) = end.result {
                let status = response.head.status
                // Who sends elsewhere before the end of the body has not said yes to it.
                isSuccess =
                    rules.accepts.accepts(status) && end.objection == nil
                    && (floor.isCurrentWhole || !(300..<400).contains(status.code))
            }
        default: break
        }
        for action in actions { check(action, isSuccess: isSuccess) }
        if isGranted { fail("a retry was granted and not made") }
        if !isFinished, case .admitted(let elapsed) = event, actions.contains(where: \.isStart) { checkStart(elapsed) }
        switch event {
        case .cancel, .sessionClosing:
            // At once, or as soon as the transport has let go; then no retry and no other wait.
            if !isFinished && !(transfer != nil && isCancelSent) { fail("a cancel without effect") }
        default: break
        }
    }

    private mutating func check(_ action: UploadStateMachine.Action, isSuccess: Bool) {
        guard !isFinished else { return fail("\(action) after finish") }
        switch action {
        case .join: move(from: [.nowhere], to: .waitingLine, started == 0 && lastPublished == nil, "join")
        case .prepare:
            move(from: [.waitingLine], to: .preparationWindow, !isPreparing, "prepare")
            isPreparing = true
        case .stopPreparing:
            if !isPreparing { fail("nothing is being prepared") }
            isPreparing = false
        case .awaitSlot: move(from: [.preparationWindow], to: .readyLine, !isPreparing, "awaitSlot")
        case .requeue: move(from: [.nowhere], to: .readyLine, started > 0 && timer == nil && refresh == nil, "requeue")
        case .withdraw: move(from: [.waitingLine, .preparationWindow, .readyLine], to: .nowhere, true, "withdraw")
        case .releaseSlot: move(from: [.slot], to: .nowhere, transfer == nil, "releaseSlot")
        case .startTransfer(let attempt):
            move(from: [.slot], to: .slot, transfer == nil && attempt == started + 1, "startTransfer")
            started = attempt
            transfer = attempt
            floor.begin()
        case .cancelTransfer:
            if transfer == nil || isCancelSent { fail("no transfer to cancel, or cancelled twice") }
            isCancelSent = true
        case .askForRetry(let attempt):
            if question != nil || transfer != nil || place != .nowhere || attempt != started || isCancelSent {
                fail("a question out of place")
            }
            question = attempt
        case .refreshCredential(let attempt):
            refreshes += 1
            if refresh != nil || transfer != nil || place != .nowhere || attempt != started || isCancelSent {
                fail("a refresh out of place")
            }
            if refreshes > 1 || !rules.canRefresh { fail("refresh \(refreshes)") }
            if hops.last?.keepsSecrets == false { fail("a credential for another origin") }
            refresh = attempt
            isRetryStart = false
        case .stopRefreshing:
            if refresh == nil { fail("no refresh to stop") }
            refresh = nil
        case .redirect(let hop): check(hop)
        case .scheduleRetry(let delay, let attempt):
            if timer != nil || place != .nowhere || attempt != started + 1 || isCancelSent || delay < .zero {
                fail("a retry out of place")
            }
            if !isGranted { fail("a retry that nobody granted") }
            if floor.mayBeStored, !isSafe, rules.keyWindow == nil { fail("a retry of what may be stored") }
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
            question = nil
            isGranted = false
            check(result, isSuccess: isSuccess)
        }
    }

    private var isSafe: Bool { hops.last?.isSafe ?? rules.isSafe }

    /// A redirect is followed: not too often, never to where it was, and dropped credentials don't come back.
    private mutating func check(_ hop: UploadRoute.Hop) {
        if place != .nowhere || transfer != nil || timer != nil || isCancelSent { fail("a redirect out of place") }
        let before = hops.last ?? rules.route?.hop
        if rules.route == nil || hops.count >= 5 { fail("redirect \(hops.count + 1)") }
        if hops.contains(hop) || hop == rules.route?.hop { fail("in a circle to \(hop)") }
        if hop.keepsSecrets, before?.keepsSecrets == false { fail("credentials came back") }
        if hop.sendsBody, before?.sendsBody == false { fail("a body came back") }
        if !hop.sendsBody, before?.sendsBody == true { floor.tookIt() }
        isRetryStart = false
        hops.append(hop)
    }

    /// A retry begins: in time, and with a key that the server still knows if it may have acted already.
    private mutating func checkStart(_ elapsed: Duration) {
        guard retries > 0 else { return }
        if isRetryStart, let deadline = rules.retry.deadline, elapsed > deadline { fail("a start after the deadline") }
        if let window = rules.keyWindow, floor.mayBeStored, !isSafe, elapsed > window {
            fail("a start with a key that is forgotten")
        }
    }

    private mutating func move(from allowed: Set<Place>, to next: Place, _ condition: Bool, _ what: String) {
        if !allowed.contains(place) || !condition { fail("\(what) at \(place)") }
        place = next
    }

    private mutating func check(_ snapshot: UploadSnapshot) {
        if isTerminalPublished != nil { fail("a snapshot after the terminal one") }
        if snapshot.phase.isTerminal { isTerminalPublished = snapshot.phase }
        if snapshot.acknowledged > snapshot.sent { fail("more acknowledged than sent") }
        defer { lastPublished = snapshot }
        guard let last = lastPublished else { return }
        if snapshot.attempt < last.attempt { fail("the attempt went back") }
        guard snapshot.attempt == last.attempt else { return }
        if Self.rank(snapshot.phase) < Self.rank(last.phase) { fail("\(snapshot.phase) after \(last.phase)") }
        if snapshot.sent < last.sent || snapshot.acknowledged < last.acknowledged { fail("progress went back") }
    }

    private mutating func check(_ result: Result<UploadResponse, UploadError>, isSuccess: Bool) {
        isFinished = true
        if place != .nowhere || isPreparing || transfer != nil || timer != nil || refresh != nil {
            fail("kept: \(place), preparing \(isPreparing), transfer \(transfer as Any), timer \(timer as Any)")
        }
        switch result {
        case .success(let response):
            if !isSuccess { fail("a success that nobody reported") }
            if isTerminalPublished != .succeeded { fail("success published as \(isTerminalPublished as Any)") }
            if response.attempts.count != started { fail("\(response.attempts.count) of \(started) attempts told") }
        case .failure(let error):
            if isSuccess { fail("an accepted answer became an error") }
            let phase: UploadPhase = error.isCancelled ? .cancelled : .failed
            if isTerminalPublished != phase { fail("\(error.code) published as \(isTerminalPublished as Any)") }
            if error.attempts.count != started { fail("\(error.attempts.count) of \(started) attempts told") }
            if let reason = floor.objection(to: error.outcome) { fail(reason) }
        }
    }

    /// Everything ended and was given back.
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

/// What was told over all attempts, as plain facts, and which outcomes they forbid.
struct CertaintyFloor {
    private var anythingArrived = false
    private var mostAcknowledged: Int64 = 0
    private var wholeBodyLeft = false
    private var wasRefused = false
    private var wasPromisedYes = false
    private var worstClaim = 0
    private(set) var isCurrentWhole = false

    /// Whether the server may have acted, by the strictest reading: a whole body left and was not refused.
    private(set) var mayBeStored = false

    private var wasTaken = false

    /// The server said that the answer lies elsewhere: it has acted.
    mutating func tookIt() {
        wasTaken = true
    }

    mutating func begin() {
        isCurrentWhole = false
    }

    mutating func see(_ event: TransferEvent) {
        switch event {
        case .connected: break
        case .progress(let progress): arrived(progress.acknowledged)
        case .bodyAcknowledged:
            anythingArrived = true
            isCurrentWhole = true
        case .responseHead(let head): answered(head.status)
        case .ended(let end):
            arrived(end.evidence.acknowledged)
            anythingArrived = anythingArrived || end.evidence.requestAcknowledged || end.evidence.sawResponseHead
            isCurrentWhole = isCurrentWhole || end.evidence.isBodyComplete
            switch end.result {
            case .success(let response):
                answered(response.head.status)
                switch end.objection?.kind {
                case .rejected, .credentialExpired, .retry: wasRefused = true
                case .unreadable, .cancelled: worstClaim = 3
                case nil: break
                }
            case .failure(let error):
                worstClaim = max(worstClaim, error.outcome.uncertainty)
                if error.outcome == .unknown { mayBeStored = true }
                // A whole body of which nothing arrived is the dead connection of the design, and nothing else is.
                if isCurrentWhole, end.evidence.requestAcknowledged { wholeBodyLeft = true }
            }
        }
    }

    private mutating func arrived(_ count: Int64) {
        mostAcknowledged = max(mostAcknowledged, count)
        anythingArrived = anythingArrived || count > 0
    }

    private mutating func answered(_ status: HTTPResponse.Status) {
        anythingArrived = true
        if status.code >= 300 { wasRefused = true } else { wasPromisedYes = true }
    }

    func objection(to outcome: UploadOutcome) -> String? {
        if outcome.uncertainty < worstClaim { return "\(outcome) though the transport claimed less certainty" }
        if wasTaken, outcome != .unknown { return "\(outcome) though the server had taken it" }
        switch outcome {
        case .notSent: return anythingArrived ? "notSent though something arrived" : nil
        case .incomplete(let acknowledged):
            if wasRefused || wasPromisedYes { return "incomplete though an answer came" }
            if wholeBodyLeft { return "incomplete though the whole body left" }
            return acknowledged < mostAcknowledged ? "incomplete(\(acknowledged)) of \(mostAcknowledged)" : nil
        case .rejected: return wasRefused ? nil : "rejected without an answer"
        case .unknown: return nil
        }
    }
}

extension UploadStateMachine.Action {
    fileprivate var isStart: Bool { if case .startTransfer = self { true } else { false } }
}
