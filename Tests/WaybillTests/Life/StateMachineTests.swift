import HTTPTypes
import Testing
import WaybillCore

@testable import Waybill

@Suite struct StateMachineTests {
    @Test func `an upload without failures has exactly these transitions`() {
        var machine = UploadStateMachine(UploadRules())
        #expect(names(machine.handle(.started)) == ["join", "waiting"])
        #expect(names(machine.handle(.mayPrepare)) == ["preparing", "prepare"])
        #expect(names(machine.handle(.prepared(total: 10, isReplayable: true))) == ["queued", "awaitSlot"])
        #expect(names(machine.handle(.admitted())) == ["connecting", "start 1"])
        #expect(names(send(&machine, connected)) == ["sending"])
        #expect(names(send(&machine, progress(6))) == ["sending"])
        #expect(names(send(&machine, progress(6))) == [])
        #expect(names(send(&machine, .bodyAcknowledged)) == ["awaitingResponse"])
        #expect(machine.snapshot.acknowledged == 10)
        #expect(names(send(&machine, .responseHead(HTTPResponse(status: .ok)))) == [])
        #expect(names(send(&machine, responseEnd(.ok))) == ["releaseSlot", "succeeded", "success 200"])
        #expect(names(send(&machine, responseEnd(.ok))) == [])
        #expect(names(machine.handle(.cancel)) == [])
    }

    @Test func `a failed attempt is retried after its delay, from zero`() {
        var machine = running()
        _ = send(&machine, progress(6))
        #expect(names(send(&machine, lost(at: 6), jitter: 0.5)) == ["releaseSlot", "request a retry after 1"])
        #expect(names(machine.handle(.retryDecided(attempt: 2, isGranted: true))) == [])
        #expect(names(grant(&machine)) == ["retrying", "retry 2 in 500 ms"])
        #expect(machine.snapshot.acknowledged == 6)
        #expect(names(machine.handle(.retryDue(attempt: 3))) == [])
        #expect(names(machine.handle(.retryDue(attempt: 2))) == ["queued", "requeue"])
        #expect(machine.snapshot.acknowledged == 0)
        #expect(names(machine.handle(.admitted())) == ["connecting", "start 2"])
        // Later events of the first attempt are ignored.
        #expect(names(send(&machine, progress(9), attempt: 1)) == [])
        #expect(names(send(&machine, responseEnd(.ok), attempt: 1)) == [])
        #expect(names(send(&machine, responseEnd(.ok), attempt: 2)) == ["releaseSlot", "succeeded", "success 200"])
    }

    @Test func `cancelling releases everything in each phase`() {
        var idle = UploadStateMachine(UploadRules())
        #expect(names(idle.handle(.cancel)) == ["cancelled", "cancelled: not sent"])

        var waiting = UploadStateMachine(UploadRules())
        _ = waiting.handle(.started)
        #expect(names(waiting.handle(.cancel)) == ["withdraw", "cancelled", "cancelled: not sent"])

        var preparing = UploadStateMachine(UploadRules())
        _ = preparing.handle(.started)
        _ = preparing.handle(.mayPrepare)
        #expect(
            names(preparing.handle(.cancel)) == ["stopPreparing", "withdraw", "cancelled", "cancelled: not sent"])

        var queued = preparedMachine()
        #expect(names(queued.handle(.cancel)) == ["withdraw", "cancelled", "cancelled: not sent"])

        var sending = running()
        _ = send(&sending, progress(6))
        #expect(names(sending.handle(.cancel)) == ["cancelTransfer"])
        #expect(names(sending.handle(.cancel)) == [])
        #expect(
            names(send(&sending, lost(at: 6, .cancelled)))
                == ["releaseSlot", "cancelled", "cancelled: incomplete after 6 bytes"])

        var retrying = running()
        _ = send(&retrying, lost(at: 0))
        _ = grant(&retrying)
        #expect(
            names(retrying.handle(.cancel)) == ["unscheduleRetry", "cancelled", "cancelled: incomplete after 0 bytes"])
    }

    @Test func `a retry refused by the budget ends with the previous failure`() throws {
        var machine = running()
        _ = send(&machine, lost(at: 6))
        let actions = grant(&machine, false)
        #expect(names(actions) == ["failed", "connectionLost: incomplete after 6 bytes"])
        guard case .finish(.failure(let error)) = actions.last else { return }
        #expect(error.attempts.map(\.disposition) == [.noRetry(.budgetExhausted)])
        #expect(names(grant(&machine)) == [])
    }

    @Test func `a cancel while the retry budget decides ends the upload immediately`() {
        var machine = running()
        _ = send(&machine, lost(at: 6))
        #expect(names(machine.handle(.cancel)) == ["cancelled", "cancelled: incomplete after 6 bytes"])
        #expect(names(grant(&machine)) == [])
    }

    @Test func `a retry that was queued beyond the deadline does not start`() {
        var machine = UploadStateMachine(UploadRules(retry: RetryPolicy(deadline: .seconds(10))))
        start(&machine)
        _ = send(&machine, lost(at: 6))
        _ = grant(&machine)
        _ = machine.handle(.retryDue(attempt: 2))
        var onTime = machine
        #expect(names(onTime.handle(.admitted(elapsed: .seconds(10)))) == ["connecting", "start 2"])
        let late = machine.handle(.admitted(elapsed: .seconds(11)))
        #expect(names(late) == ["releaseSlot", "failed", "connectionLost: incomplete after 6 bytes"])
    }

    @Test func `a response that arrives after a cancel succeeds`() {
        var machine = running()
        _ = machine.handle(.cancel)
        #expect(names(send(&machine, responseEnd(.ok))) == ["releaseSlot", "succeeded", "success 200"])
    }

    @Test func `a rejection that arrives after a cancel is not retried`() throws {
        var machine = running()
        _ = machine.handle(.cancel)
        let actions = send(&machine, responseEnd(.serviceUnavailable))
        #expect(names(actions) == ["releaseSlot", "cancelled", "cancelled: rejected"])
    }

    @Test func `the outcome is that of the least certain attempt`() {
        var machine = running()
        _ = send(&machine, lost(at: 7))
        _ = grant(&machine)
        _ = machine.handle(.retryDue(attempt: 2))
        _ = machine.handle(.admitted())
        let refused = TransferEnd(
            result: .failure(TransferError(.certificateNotTrusted, "no", outcome: .notSent)),
            evidence: TransferCounters())
        let actions = send(&machine, .ended(refused), attempt: 2)
        #expect(names(actions) == ["releaseSlot", "failed", "certificateNotTrusted: incomplete after 7 bytes"])
    }

    @Test func `a 2xx status that the caller does not accept has an unknown outcome`() {
        var machine = UploadStateMachine(UploadRules(accepts: .only([201])))
        start(&machine)
        #expect(names(send(&machine, responseEnd(.ok))) == ["releaseSlot", "failed", "rejected: outcome unknown"])
    }

    // MARK: - Words for it

    private func preparedMachine() -> UploadStateMachine {
        var machine = UploadStateMachine(UploadRules())
        _ = machine.handle(.started)
        _ = machine.handle(.mayPrepare)
        _ = machine.handle(.prepared(total: 10, isReplayable: true))
        return machine
    }

    private func start(_ machine: inout UploadStateMachine) {
        _ = machine.handle(.started)
        _ = machine.handle(.mayPrepare)
        _ = machine.handle(.prepared(total: 10, isReplayable: true))
        _ = machine.handle(.admitted())
    }

    private func running() -> UploadStateMachine {
        var machine = UploadStateMachine(UploadRules())
        start(&machine)
        return machine
    }

    private func send(
        _ machine: inout UploadStateMachine, _ event: TransferEvent, attempt: Int = 1, jitter: Double = 0
    ) -> [UploadStateMachine.Action] {
        machine.handle(.transfer(event, attempt: attempt, jitter: jitter))
    }

    private func grant(_ machine: inout UploadStateMachine, _ isGranted: Bool = true) -> [UploadStateMachine.Action] {
        machine.handle(.retryDecided(attempt: machine.snapshot.attempt, isGranted: isGranted))
    }

    private var connected: TransferEvent {
        .connected(TransferConnection(isReused: false, peerAddress: "192.0.2.1", peerPort: 80))
    }

    private func progress(_ count: Int64) -> TransferEvent {
        .progress(TransferProgress(sent: count, acknowledged: count, accuracy: .exact))
    }

    private func responseEnd(_ status: HTTPResponse.Status) -> TransferEvent {
        .ended(
            TransferEnd(
                result: .success(TransferResponse(head: HTTPResponse(status: status))), evidence: TransferCounters()))
    }

    private func lost(at count: Int64, _ code: TransferError.Code = .connectionLost) -> TransferEvent {
        let evidence = TransferCounters(announced: 10, sent: count, acknowledged: count, requestAcknowledged: true)
        let error = TransferError(code, "lost", outcome: .incomplete(acknowledged: count))
        return .ended(TransferEnd(result: .failure(error), evidence: evidence))
    }

    private func names(_ actions: [UploadStateMachine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .publish(let snapshot): "\(snapshot.phase)"
            case .join(let isHeld): isHeld ? "join held" : "join"
            case .requeue(let isHeld): isHeld ? "requeue held" : "requeue"
            case .startTransfer(let attempt): "start \(attempt)"
            case .requestRetry(let attempt): "request a retry after \(attempt)"
            case .scheduleRetry(let delay, let attempt):
                "retry \(attempt) in \(Int((delay / .milliseconds(1)).rounded())) ms"
            case .finish(.success(let response)): "success \(response.status.code)"
            case .finish(.failure(let error)): "\(error.code): \(UploadError.name(of: error.outcome))"
            default: "\(action)"
            }
        }
    }
}
