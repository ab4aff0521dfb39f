import TestSupport
import Testing
import WaybillCore

@testable import Waybill

@Suite struct StateMachineModelTests {
    private static let lives = 100_000
    private static let shares = 8

    @Test(arguments: 0..<shares)
    func `100,000 random lives satisfy the checker`(share: Int) {
        var seeds = SeededGenerator()
        var events = 0
        var attempts = 0
        var restarts = 0
        for _ in 0..<Self.lives / Self.shares {
            let seed = seeds.next()
            var random = SeededGenerator(seed: seed)
            var life = RandomLife(using: &random)
            let violation = life.live(using: &random) { $0.handle($1) }
            events += life.events
            attempts += life.checker.started
            restarts += life.checker.restarts
            guard let violation else { continue }
            Issue.record("life \(seed): \(violation)\n\(Self.replay(seed))")
            return
        }
        // Lives that end before anything happens would prove nothing.
        #expect(events > 8 * Self.lives / Self.shares)
        #expect(attempts > Self.lives / Self.shares / 2)
        #expect(restarts > Self.lives / Self.shares / 200)
    }

    @Test(arguments: Mutation.allCases)
    func `the checker detects each mutation of the machine`(mutation: Mutation) {
        var seeds = SeededGenerator()
        // The rarest mutation shows once in thousands of lives. The loop ends at the first, so a high limit costs nothing.
        let isCaught = (0..<500_000).contains { _ in
            var random = SeededGenerator(seed: seeds.next())
            var life = RandomLife(using: &random)
            var fault = mutation
            return life.live(using: &random) { fault.step(&$0, $1) } != nil
        }
        #expect(isCaught, "nothing was noticed in 500,000 lives")
    }

    private static func replay(_ seed: UInt64) -> String {
        var random = SeededGenerator(seed: seed)
        var life = RandomLife(using: &random, keepsLog: true)
        _ = life.live(using: &random) { $0.handle($1) }
        return life.log.joined(separator: "\n")
    }
}

/// Faults that such machines have had.
enum Mutation: CaseIterable {
    case finishesTwice, keepsTheSlot, keepsThePreparation, keepsTheTimer, keepsThePlace, ignoresCancel
    case publishesAfterTheEnd, takesLateEvents, reportsBestOutcome, countsFromZeroAgain, cancelsTwice,
        retriesAfterCancel
    case ignoresRetryBudget, startsLate, goesInCircles, keepsCredentials, forgetsThatItWasTaken, keepsTheRefresh
    case sendsWhilePaused, staysPaused, neverResumesTransfer, keepsTheSlotTimer, ignoresRequeueHeld, pausesTwice,
        neverReturnsSlot

    mutating func step(
        _ machine: inout UploadStateMachine, _ event: UploadStateMachine.Event
    ) -> [UploadStateMachine.Action] {
        if case .cancel = event, self == .ignoresCancel { return [] }
        let wasOver = machine.snapshot.phase.isTerminal
        let attempt = machine.snapshot.attempt
        let actions = machine.handle(sees(event, attempt: attempt))
        switch self {
        case .publishesAfterTheEnd: return wasOver ? [.publish(machine.snapshot)] : actions
        case .cancelsTwice:
            if case .cancel = event, !wasOver, actions.isEmpty { return [.cancelTransfer] }
            return actions
        default: return actions.flatMap(change)
        }
    }

    /// The event as the faulty machine receives it.
    private func sees(_ event: UploadStateMachine.Event, attempt: Int) -> UploadStateMachine.Event {
        switch (self, event) {
        case (.takesLateEvents, .transfer(let inner, _, let jitter, let elapsed)):
            return .transfer(inner, attempt: attempt, jitter: jitter, elapsed: elapsed)
        case (.ignoresRetryBudget, .retryDecided(let number, _)): return .retryDecided(attempt: number, isGranted: true)
        case (.startsLate, .admitted): return .admitted()
        case (.neverReturnsSlot, .slotReturnDue): return .slotReturnDue(pause: -1)
        default: return event
        }
    }

    private func change(_ action: UploadStateMachine.Action) -> [UploadStateMachine.Action] {
        switch (self, action) {
        case (.finishesTwice, .finish): return [action, action]
        case (.keepsTheSlot, .releaseSlot), (.keepsThePreparation, .stopPreparing): return []
        case (.keepsTheTimer, .unscheduleRetry), (.keepsThePlace, .withdraw): return []
        case (.reportsBestOutcome, .finish(.failure(var error))):
            if error.outcome != .rejected { error.outcome = .notSent }
            return [.finish(.failure(error))]
        case (.countsFromZeroAgain, .publish(var snapshot)) where snapshot.phase == .awaitingResponse:
            snapshot.acknowledged = 0
            return [.publish(snapshot)]
        case (.keepsTheRefresh, .stopRefreshing), (.sendsWhilePaused, .hold), (.staysPaused, .release): return []
        case (.neverResumesTransfer, .resumeTransfer), (.keepsTheSlotTimer, .unscheduleSlotReturn): return []
        case (.ignoresRequeueHeld, .requeueHeld): return []
        case (.pausesTwice, .pauseTransfer): return [action, action]
        case (.goesInCircles, .redirect): return [action, action]
        case (.keepsCredentials, .redirect(var hop)):
            // Dropped at one hop and restored at the next.
            hop.sendsCredentials = hop.url.contains("//a.")
            return [.redirect(hop)]
        case (.forgetsThatItWasTaken, .finish(.failure(var error))):
            if error.outcome == .unknown, error.response != nil { error.outcome = .rejected }
            return [.finish(.failure(error))]
        case (.retriesAfterCancel, .finish(.failure(let error))) where error.isCancelled && !error.attempts.isEmpty:
            return [.scheduleRetry(after: .seconds(1), attempt: error.attempts.count + 1)]
        default: return [action]
        }
    }
}
