import HTTPTypes
import TestSupport
import WaybillCore

@testable import Waybill

/// One upload with random events: likely ones, so that it gets far, and impossible ones, because they occur.
struct RandomLife {
    typealias Step = (inout UploadStateMachine, UploadStateMachine.Event) -> [UploadStateMachine.Action]

    private(set) var log: [String] = []
    private(set) var checker: LifeChecker
    private(set) var events = 0
    private var pauses = 0
    private var machine: UploadStateMachine
    private let total: Int64?
    private let keepsLog: Bool
    /// The time since the first attempt began. It never decreases.
    private var now = Duration.zero

    init(using random: inout SeededGenerator, keepsLog: Bool = false) {
        let retry = [
            RetryPolicy.none, .standard, .standard, RetryPolicy(maxRetries: 9, retriesIncomplete: false),
            RetryPolicy(maxRetries: 9, deadline: .seconds(20)),
        ].randomElement(using: &random)!
        let accepts = [StatusPolicy.successful, .successful, .any, .only([404])].randomElement(using: &random)!
        var rules = UploadRules(retry: retry, accepts: accepts)
        rules.isIdempotent = Int.random(in: 0..<8, using: &random) == 0
        rules.keyWindow = [nil, nil, .seconds(30)].randomElement(using: &random)!
        rules.canRefresh = .random(using: &random)
        if Int.random(in: 0..<4, using: &random) > 0 {
            let policy = [RedirectPolicy.standard, .asGET, .resend].randomElement(using: &random)!
            rules.route = UploadRoute(
                .init(method: .post, url: "https://a.example/0", host: "a.example:443", sendsBody: true), policy: policy
            )
            rules.isIdempotent = false
        }
        machine = UploadStateMachine(rules)
        checker = LifeChecker(rules: rules)
        total = Bool.random(using: &random) ? nil : Int64.random(in: 0...1_000, using: &random)
        self.keepsLog = keepsLog
    }

    /// Runs until the end or a violation, and a few events beyond.
    ///
    /// - Returns: The violation.
    mutating func live(using random: inout SeededGenerator, step: Step) -> String? {
        if Int.random(in: 0..<50, using: &random) != 0 { feed(.started, step) }
        var beyond = 0
        while events < 60, beyond < 4, checker.violation == nil {
            now += .milliseconds(Int.random(in: 0...2_000, using: &random))
            feed(next(using: &random), step)
            if checker.isFinished { beyond += 1 }
        }
        // From any state, a cancel and the end of the transfer, if there is one, must end the upload.
        if !checker.isFinished { feed(.cancel, step) }
        if let attempt = checker.transfer {
            let end = Self.end(using: &random, total: total)
            feed(.transfer(.ended(end), attempt: attempt, jitter: 0.5), step)
        }
        checker.checkEnd()
        return checker.violation
    }

    private mutating func feed(_ event: UploadStateMachine.Event, _ step: Step) {
        if case .pause = event { pauses += 1 }
        let actions = step(&machine, event)
        events += 1
        if keepsLog { log.append("\(event) → \(actions)") }
        checker.check(event, actions)
    }

    private func next(using random: inout SeededGenerator) -> UploadStateMachine.Event {
        guard Int.random(in: 0..<10, using: &random) < 7 else { return anything(using: &random) }
        if Int.random(in: 0..<6, using: &random) == 0 { return pauseState(using: &random) }
        if checker.isPaused, Int.random(in: 0..<3, using: &random) == 0 { return .resume(elapsed: now) }
        if let pause = checker.slotTimer, Bool.random(using: &random) { return .slotReturnDue(pause: pause) }
        if let attempt = checker.transfer {
            let isStopped = checker.isStopSent && Bool.random(using: &random)
            let event = isStopped ? Self.stopped(total) : Self.transferEvent(using: &random, total: total)
            return .transfer(
                event, attempt: attempt, jitter: .random(in: 0...1, using: &random), elapsed: now)
        }
        if let attempt = checker.pendingRetryRequest {
            return .retryDecided(attempt: attempt, isGranted: Int.random(in: 0..<5, using: &random) > 0)
        }
        if let attempt = checker.refresh {
            return Int.random(in: 0..<4, using: &random) > 0
                ? .credentialReady(attempt: attempt) : .credentialFailed(attempt: attempt, Self.noCredential)
        }
        if let attempt = checker.timer { return .retryDue(attempt: attempt) }
        switch checker.place {
        case .waitingLine: return .mayPrepare
        case .preparationWindow: return .prepared(total: total, isReplayable: .random(using: &random))
        case .readyLine: return .admitted(elapsed: now)
        case .slot, .nowhere: return anything(using: &random)
        }
    }

    private func anything(using random: inout SeededGenerator) -> UploadStateMachine.Event {
        let attempt = Int.random(in: 0...checker.started + 2, using: &random)
        switch Int.random(in: 0..<18, using: &random) {
        case 15, 16: return pauseState(using: &random)
        case 17: return .rateChanged(.bytes(Int64.random(in: 1...9, using: &random)))
        case 10: return .credentialReady(attempt: attempt)
        case 11: return .credentialFailed(attempt: attempt, Self.noCredential)
        case 0: return .started
        case 1: return .refused(UploadError(.sessionClosed, "closed", phase: .waiting))
        case 2: return .mayPrepare
        case 3: return .prepared(total: total, isReplayable: .random(using: &random))
        case 4: return .preparationFailed(UploadError(.fileNotFound, "gone", phase: .preparing))
        case 5: return .admitted(elapsed: now)
        case 6: return .retryDue(attempt: attempt)
        case 7: return .cancel
        case 9: return .retryDecided(attempt: attempt, isGranted: .random(using: &random))
        case 8: return Bool.random(using: &random) ? .sessionClosing : .cancel
        default:
            let event = Self.transferEvent(using: &random, total: total)
            return .transfer(event, attempt: attempt, jitter: .random(in: -1...2, using: &random))
        }
    }

    private static var noCredential: UploadError {
        UploadError(.credentialRefreshFailed, "none", phase: .retrying)
    }

    /// A pause, its end, or the end of the time for which it keeps a slot, including that of an earlier pause.
    private func pauseState(using random: inout SeededGenerator) -> UploadStateMachine.Event {
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1, 2: .pause(elapsed: now)
        case 3: .resume(elapsed: now)
        default: .slotReturnDue(pause: checker.slotTimer ?? Int.random(in: 0...pauses + 1, using: &random))
        }
    }

    private static func transferEvent(using random: inout SeededGenerator, total: Int64?) -> TransferEvent {
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1:
            return .connected(TransferConnection(isReused: .random(using: &random), peerAddress: "", peerPort: 0))
        case 2, 3, 4:
            let acknowledged = Int64.random(in: 0...(total ?? 500), using: &random)
            let sent = Int64.random(in: 0...(total ?? 500), using: &random)
            return .progress(TransferProgress(sent: sent, acknowledged: acknowledged, accuracy: .exact))
        case 5: return .bodyAcknowledged
        case 6: return .responseHead(HTTPResponse(status: status(using: &random)))
        default: return .ended(end(using: &random, total: total))
        }
    }

    /// The event that a transport sends when it was cancelled within the body.
    private static func stopped(_ total: Int64?) -> TransferEvent {
        let evidence = TransferCounters(announced: total, requestAcknowledged: true)
        let error = TransferError(.cancelled, "stopped", outcome: .incomplete(acknowledged: 0))
        return .ended(TransferEnd(result: .failure(error), evidence: evidence))
    }

    private static func end(using random: inout SeededGenerator, total: Int64?) -> TransferEnd {
        let acknowledged = Bool.random(using: &random) ? 0 : Int64.random(in: 0...(total ?? 500), using: &random)
        let evidence = TransferCounters(
            announced: total, sent: acknowledged, acknowledged: acknowledged,
            requestAcknowledged: .random(using: &random), isBodyComplete: .random(using: &random),
            sawResponseHead: Int.random(in: 0..<4, using: &random) == 0, isConnectionReused: .random(using: &random))
        guard Int.random(in: 0..<3, using: &random) > 0 else {
            var head = HTTPResponse(status: status(using: &random))
            let name = ["a", "a", "b"].randomElement(using: &random)!
            head.headerFields[.location] = "https://\(name).example/\(Int.random(in: 0...9, using: &random))"
            let response = TransferResponse(head: head)
            var end = TransferEnd(result: .success(response), evidence: evidence)
            if head.status.kind == .successful, Int.random(in: 0..<3, using: &random) == 0 {
                let kinds: [ResponseValidationFailure.Kind] = [
                    .rejected, .credentialExpired, .retry, .unreadable("interceptorFailed"), .cancelled,
                ]
                end.validationFailure = ResponseValidationFailure(
                    kinds.randomElement(using: &random)!, message: "random")
            }
            return end
        }
        let codes: [TransferError.Code] = [
            .connectionLost, .cannotConnect, .stalled, .cancelled, .certificateNotTrusted, .bodyFailed,
        ]
        let outcomes: [UploadOutcome] = [.notSent, .notSent, .incomplete(acknowledged: acknowledged), .unknown]
        let error = TransferError(
            codes.randomElement(using: &random)!, "random", outcome: outcomes.randomElement(using: &random)!)
        return TransferEnd(result: .failure(error), evidence: evidence)
    }

    private static func status(using random: inout SeededGenerator) -> HTTPResponse.Status {
        HTTPResponse.Status(
            code: [200, 204, 302, 303, 307, 307, 401, 404, 408, 413, 429, 500, 503].randomElement(using: &random)!)
    }
}
