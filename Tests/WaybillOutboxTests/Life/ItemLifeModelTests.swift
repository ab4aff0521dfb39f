import TestSupport
import Testing

@testable import WaybillOutbox

@Suite struct ItemLifeModelTests {
    private static let lives = 8_000

    @Test(arguments: 0..<4)
    func `random lives of items satisfy the checker`(share: Int) {
        var seeds = SeededGenerator()
        var delivered = 0
        var doubts = 0
        for _ in 0..<Self.lives {
            let seed = seeds.next()
            var random = SeededGenerator(seed: seed)
            var item = RandomItem(using: &random)
            let violation = item.live(using: &random) { $0.handle($1, at: $2) }
            delivered += item.checker.delivered
            doubts += item.checker.doubts
            guard let violation else { continue }
            Issue.record("item \(seed): \(violation)\n\(item.log.joined(separator: "\n"))")
            return
        }
        // Lives without events would prove nothing.
        #expect(delivered > Self.lives / 10)
        #expect(doubts > Self.lives / 4)
    }

    @Test(arguments: LifeFault.allCases)
    func `the checker detects each mutation of an item`(fault: LifeFault) {
        var seeds = SeededGenerator()
        let isCaught = (0..<20_000).contains { _ in
            var random = SeededGenerator(seed: seeds.next())
            var item = RandomItem(using: &random)
            return item.live(using: &random) { fault.handle(&$0, $1, $2) } != nil
        }
        #expect(isCaught, "not detected in 20,000 lives")
    }
}

/// Faults that such queues have had.
enum LifeFault: CaseIterable {
    case resendsDoubtfulItems, acceptsStaleLeases, endsTwice, forgetsLostLeases, ignoresCancel, countsNoAttempts
    case retriesDeliveredItems, ignoresDeadline, reportsDoubtAsFailure, leasesTwice, ignoresDelay, deliversCopies

    func handle(_ life: inout ItemLife, _ event: ItemLife.Event, _ now: Int64) -> [ItemLife.Effect] {
        let before = life
        var event = event
        switch (self, event) {
        case (.acceptsStaleLeases, .ended(let ending, _)): event = .ended(ending, lease: life.leaseNumber)
        case (.ignoresCancel, .lease) where life.pendingRequest == .cancel: life.pendingRequest = .nothing
        case (.leasesTwice, .lease) where life.state == .leased: life.state = .ready
        case (.deliversCopies, .copied): return []
        case (.ignoresDelay, .resume): life.notBefore = nil
        default: break
        }
        var effects = life.handle(event, at: now)
        switch self {
        case .resendsDoubtfulItems where life.state == .verify: life.state = .ready
        case .endsTwice where before.state.isTerminal && event == .due: effects = [.finished(life.state)]
        case .forgetsLostLeases where event == .lost && before.state == .leased: life.state = .ready
        case .countsNoAttempts where life.state == .leased: life.attempts -= 1
        case .retriesDeliveredItems where before.state == .done && event == .retry: life.state = .ready
        case .ignoresDeadline where life.reason == "deadlinePassed" && event == .lease && before.state == .ready:
            life = before
            life.deadline = nil
            effects = life.handle(event, at: now)
        case .reportsDoubtAsFailure where life.reason == "outcomeUnknown" && life.state.isTerminal:
            life.reason = "reset"
        case .ignoresCancel where event == .cancel && before.state == .ready:
            life = before
            effects = [.deliver(attempt: 1, lease: before.leaseNumber)]
        default: break
        }
        return effects
    }
}
