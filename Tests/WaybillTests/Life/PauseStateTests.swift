import HTTPTypes
import Testing
import WaybillCore

@testable import Waybill

/// How the machine handles a pause in each state.
@Suite struct PauseStateTests {
    @Test func `a queued upload that is paused keeps its position and is skipped`() {
        var machine = UploadStateMachine(UploadRules())
        #expect(names(machine.handle(.started)) == ["join", "waiting"])
        #expect(names(machine.handle(.pause())) == ["hold", "waiting paused"])
        #expect(names(machine.handle(.pause())) == [])
        // The queue had called it just before.
        #expect(names(machine.handle(.mayPrepare)) == ["requeueHeld"])
        #expect(names(machine.handle(.resume())) == ["release", "waiting"])
        #expect(names(machine.handle(.resume())) == [])
        #expect(names(machine.handle(.mayPrepare)) == ["preparing", "prepare"])
        #expect(names(machine.handle(.pause())) == ["hold", "preparing paused"])
        #expect(names(machine.handle(.prepared(total: 10, isReplayable: true))) == ["queued paused", "awaitSlot"])
        #expect(names(machine.handle(.admitted())) == ["requeueHeld"])
        #expect(names(machine.handle(.resume())) == ["release", "queued"])
        #expect(names(machine.handle(.admitted())) == ["connecting", "start 1"])
    }

    @Test func `an upload paused before its start joins the queue as held`() {
        var machine = UploadStateMachine(UploadRules())
        #expect(names(machine.handle(.pause())) == [])
        #expect(names(machine.handle(.started)) == ["join held", "waiting paused"])
    }

    @Test func `resuming within the limit continues the same attempt`() {
        var machine = sending()
        #expect(names(machine.handle(.pause())) == ["pauseTransfer", "slot back 1 in 20 s", "sending paused"])
        #expect(names(machine.handle(.resume())) == ["unscheduleSlotReturn", "resumeTransfer", "sending"])
        #expect(names(machine.handle(.slotReturnDue(pause: 1))) == [])
        #expect(names(machine.handle(.pause())) == ["pauseTransfer", "slot back 2 in 20 s", "sending paused"])
        #expect(names(machine.handle(.slotReturnDue(pause: 1))) == [])
        #expect(machine.snapshot.attempt == 1)
    }

    @Test func `a pause over the limit closes the connection and starts again without a retry`() throws {
        var machine = sending(retry: .none)
        _ = machine.handle(.pause())
        #expect(names(machine.handle(.slotReturnDue(pause: 1))) == ["cancelTransfer"])
        #expect(
            names(stopped(&machine))
                == ["releaseSlot", "restarted(attempt: 2)", "queued paused", "requeue held"])
        #expect(machine.snapshot.attempt == 2)
        #expect(machine.snapshot.acknowledged == 0)
        #expect(names(machine.handle(.resume())) == ["release", "queued"])
        #expect(names(machine.handle(.admitted())) == ["connecting", "start 2"])
        let attempts = try response(of: respond(&machine, attempt: 2)).attempts
        #expect(attempts.map(\.code) == [.paused, nil])
        #expect(attempts.map(\.disposition) == [.restart, .end])
        #expect(attempts[0].outcome == .incomplete(acknowledged: 6))
        #expect(
            attempts[0].description
                == "attempt 1: The attempt was closed because the upload was paused. [restarted after the pause]")
    }

    @Test func `resuming while the connection closes requeues the upload`() {
        var machine = sending()
        _ = machine.handle(.pause())
        _ = machine.handle(.slotReturnDue(pause: 1))
        #expect(names(machine.handle(.resume())) == ["sending"])
        #expect(names(stopped(&machine)) == ["releaseSlot", "restarted(attempt: 2)", "queued", "requeue"])
    }

    @Test func `a response that arrives while a paused connection closes ends the upload`() throws {
        var machine = sending()
        _ = machine.handle(.pause())
        _ = machine.handle(.slotReturnDue(pause: 1))
        #expect(try response(of: respond(&machine, attempt: 1)).status == .ok)
    }

    @Test func `a pause after the last byte does not pause the transfer`() {
        var machine = sending()
        _ = send(&machine, .bodyAcknowledged)
        #expect(names(machine.handle(.pause())) == ["awaitingResponse paused"])
        #expect(names(machine.handle(.slotReturnDue(pause: 1))) == [])

        // A later report shows that the last byte had been sent before the pause.
        var late = sending()
        _ = late.handle(.pause())
        let whole = TransferProgress(sent: 10, acknowledged: 7, accuracy: .exact)
        #expect(
            names(send(&late, .progress(whole))) == ["unscheduleSlotReturn", "resumeTransfer", "sending paused"])

        var empty = UploadStateMachine(UploadRules())
        start(&empty, total: 0)
        #expect(names(empty.handle(.pause())) == ["connecting paused"])
    }

    @Test func `an attempt that fails after a late pause requeues the next one as held`() {
        var machine = sending()
        _ = send(&machine, .bodyAcknowledged)
        _ = machine.handle(.pause())
        let unavailable = TransferResponse(head: HTTPResponse(status: .serviceUnavailable))
        _ = send(&machine, .ended(TransferEnd(result: .success(unavailable), evidence: TransferCounters())))
        #expect(
            names(machine.handle(.retryDecided(attempt: 1, isGranted: true))) == ["retrying paused", "retry 2"])
        #expect(names(machine.handle(.retryDue(attempt: 2))) == ["queued paused", "requeue held"])
    }

    @Test func `a body that can be read only once keeps its connection`() {
        var machine = sending(isReplayable: false)
        #expect(names(machine.handle(.pause())) == ["pauseTransfer", "sending paused"])
        #expect(names(machine.handle(.resume())) == ["resumeTransfer", "sending"])
        var half = sending(retry: RetryPolicy(retriesIncomplete: false))
        #expect(names(half.handle(.pause())) == ["pauseTransfer", "sending paused"])
    }

    @Test func `a connection lost during a pause costs no retry`() {
        var machine = sending(retry: .none)
        _ = machine.handle(.pause())
        #expect(
            names(stopped(&machine, .connectionLost)) == [
                "unscheduleSlotReturn", "releaseSlot", "restarted(attempt: 2)", "queued paused", "requeue held",
            ])
    }

    @Test func `a connection found dead after resuming costs no retry`() {
        var machine = sending(retry: .none)
        _ = machine.handle(.pause())
        _ = machine.handle(.resume())
        var moved = machine
        #expect(
            names(stopped(&machine, .connectionLost)) == ["releaseSlot", "restarted(attempt: 2)", "queued", "requeue"])
        // A connection that made progress after resuming fails like any other.
        _ = send(&moved, .progress(TransferProgress(sent: 8, acknowledged: 7, accuracy: .exact)))
        #expect(
            names(stopped(&moved, .connectionLost))
                == ["releaseSlot", "failed", "connectionLost: incomplete after 7 bytes"])
    }

    @Test func `a 408 during a pause restarts the upload`() {
        for (status, follows) in [(HTTPResponse.Status.requestTimeout, true), (.badRequest, false)] {
            var machine = sending(retry: .none)
            _ = machine.handle(.pause())
            let end = TransferEnd(
                result: .success(TransferResponse(head: HTTPResponse(status: status))), evidence: TransferCounters())
            let actions = names(send(&machine, .ended(end)))
            #expect(actions.contains("requeue held") == follows)
        }
    }

    @Test func `a whole body sent just before a pause is sent again only with a key`() {
        for (window, follows) in [(Duration?.none, false), (.seconds(60), true)] {
            var rules = UploadRules(retry: .standard)
            rules.keyWindow = window
            var machine = UploadStateMachine(rules)
            start(&machine, total: nil)
            _ = machine.handle(.pause())
            _ = machine.handle(.slotReturnDue(pause: 1))
            let actions = names(stopped(&machine, whole: true))
            if follows {
                #expect(actions == ["releaseSlot", "restarted(attempt: 2)", "queued paused", "requeue held"])
                _ = machine.handle(.resume())
                #expect(
                    names(machine.handle(.admitted(elapsed: .seconds(61))))
                        == ["releaseSlot", "failed", "paused: outcome unknown"])
            } else {
                #expect(actions == ["releaseSlot", "failed", "paused: outcome unknown"])
            }
        }
    }

    @Test func `cancelling a paused upload releases everything`() {
        var machine = sending()
        _ = machine.handle(.pause())
        #expect(names(machine.handle(.cancel)) == ["unscheduleSlotReturn", "cancelTransfer"])
        #expect(names(machine.handle(.slotReturnDue(pause: 1))) == [])
        #expect(
            names(stopped(&machine)) == ["releaseSlot", "cancelled", "cancelled: incomplete after 6 bytes"])

        var closing = sending()
        _ = closing.handle(.pause())
        _ = closing.handle(.slotReturnDue(pause: 1))
        #expect(names(closing.handle(.cancel)) == [])
        #expect(
            names(stopped(&closing)) == ["releaseSlot", "cancelled", "cancelled: incomplete after 6 bytes"])
    }

    @Test func `the retry deadline excludes pauses, the key window includes them`() {
        var rules = UploadRules(retry: RetryPolicy(deadline: .seconds(10)))
        rules.isIdempotent = true
        var machine = UploadStateMachine(rules)
        start(&machine)
        _ = machine.handle(.pause(elapsed: .seconds(1)))
        _ = machine.handle(.resume(elapsed: .seconds(6)))
        _ = stopped(&machine, .connectionLost, elapsed: .seconds(7))
        _ = machine.handle(.retryDecided(attempt: 1, isGranted: true))
        _ = machine.handle(.pause(elapsed: .seconds(8)))
        _ = machine.handle(.retryDue(attempt: 2))
        _ = machine.handle(.resume(elapsed: .seconds(100)))
        var late = machine
        #expect(names(machine.handle(.admitted(elapsed: .seconds(107)))) == ["connecting", "start 2"])
        #expect(names(late.handle(.admitted(elapsed: .seconds(108)))).first == "releaseSlot")
    }

    // MARK: - Words for it

    private func start(_ machine: inout UploadStateMachine, total: Int64? = 10, isReplayable: Bool = true) {
        for event in [
            UploadStateMachine.Event.started, .mayPrepare, .prepared(total: total, isReplayable: isReplayable),
            .admitted(),
        ] { _ = machine.handle(event) }
    }

    private func sending(retry: RetryPolicy = .standard, isReplayable: Bool = true) -> UploadStateMachine {
        var machine = UploadStateMachine(UploadRules(retry: retry))
        start(&machine, isReplayable: isReplayable)
        _ = send(&machine, .connected(TransferConnection(isReused: false, peerAddress: "192.0.2.1", peerPort: 80)))
        _ = send(&machine, .progress(TransferProgress(sent: 6, acknowledged: 6, accuracy: .exact)))
        return machine
    }

    private func send(
        _ machine: inout UploadStateMachine, _ event: TransferEvent, attempt: Int = 1, elapsed: Duration = .zero
    ) -> [UploadStateMachine.Action] {
        machine.handle(.transfer(event, attempt: attempt, jitter: 0, elapsed: elapsed))
    }

    private func stopped(
        _ machine: inout UploadStateMachine, _ code: TransferError.Code = .cancelled, whole: Bool = false,
        elapsed: Duration = .zero
    ) -> [UploadStateMachine.Action] {
        let evidence = TransferCounters(sent: 6, acknowledged: 6, requestAcknowledged: true, isBodyComplete: whole)
        let outcome: UploadOutcome = whole ? .unknown : .incomplete(acknowledged: 6)
        let end = TransferEnd(result: .failure(TransferError(code, "stopped", outcome: outcome)), evidence: evidence)
        return send(&machine, .ended(end), elapsed: elapsed)
    }

    private func respond(_ machine: inout UploadStateMachine, attempt: Int) -> [UploadStateMachine.Action] {
        let response = TransferResponse(head: HTTPResponse(status: .ok))
        let end = TransferEnd(result: .success(response), evidence: TransferCounters())
        return send(&machine, .ended(end), attempt: attempt)
    }

    private func response(of actions: [UploadStateMachine.Action]) throws -> UploadResponse {
        guard case .finish(let result) = try #require(actions.last) else { throw Unexpected() }
        return try result.get()
    }

    private struct Unexpected: Error {}

    private func names(_ actions: [UploadStateMachine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .publish(let snapshot): "\(snapshot.phase)\(snapshot.isPaused ? " paused" : "")"
            case .join(let isHeld): isHeld ? "join held" : "join"
            case .requeue(let isHeld): isHeld ? "requeue held" : "requeue"
            case .startTransfer(let attempt): "start \(attempt)"
            case .scheduleRetry(_, let attempt): "retry \(attempt)"
            case .scheduleSlotReturn(let delay, let pause): "slot back \(pause) in \(delay.components.seconds) s"
            case .finish(.success(let response)): "success \(response.status.code)"
            case .finish(.failure(let error)): "\(error.code): \(UploadError.name(of: error.outcome))"
            default: "\(action)"
            }
        }
    }
}
