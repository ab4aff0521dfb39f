import TestSupport

@testable import WaybillOutbox

/// An item with random events in any order, covering everything that a store and a worker can do.
struct RandomItem {
    var life: ItemLife
    var now: Int64 = 1_000_000
    var checker: ItemChecker
    var log: [String] = []

    init(using random: inout SeededGenerator) {
        life = ItemLife(
            maxAttempts: Int.random(in: 1...4, using: &random),
            deadline: Bool.random(using: &random) ? nil : now + Int64.random(in: 0...200_000, using: &random),
            onUnknown: [.fail, .retry, .ask].randomElement(using: &random)!,
            onChange: [.fail, .restart, .skip].randomElement(using: &random)!)
        if Int.random(in: 0..<4, using: &random) == 0 {
            life.wait(until: now + Int64.random(in: 1...100_000, using: &random))
        }
        checker = ItemChecker(life)
    }

    /// Applies events until a violation or the limit.
    mutating func live(
        using random: inout SeededGenerator,
        _ handle: (inout ItemLife, ItemLife.Event, Int64) -> [ItemLife.Effect]
    ) -> String? {
        for _ in 0..<40 {
            now += Int64.random(in: 0...20_000, using: &random)
            let event = event(using: &random)
            let before = life
            let effects = handle(&life, event, now)
            log.append("\(now) \(event): \(before.state) -> \(life.state) \(effects)")
            if let violation = checker.check(event, before, life, effects, now) { return violation }
        }
        return nil
    }

    private func event(using random: inout SeededGenerator) -> ItemLife.Event {
        // Mostly with the current lease, sometimes with an expired one.
        let lease = life.leaseNumber - (Int.random(in: 0..<8, using: &random) == 0 ? 1 : 0)
        let delay = Int64.random(in: 0...60_000, using: &random)
        let endings: [ItemLife.Ending] = [
            .delivered, .refused("status400"), .transient("status503", delay: delay), .transient("reset", delay: delay),
            .lane("status401"), .offline("cannotConnect"), .unknown("responseIncomplete"),
            .unknown("status500", delay: delay),
            .sourceChanged("sourceChanged", delay: delay), .aborted,
        ]
        let verdicts: [ItemLife.Verdict] = [
            .delivered, .absent, .repeatable, .cannotTell("cannotTell"), .later("cannotConnect", delay: delay),
        ]
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6: return .lease
        case 6..<10: return .ended(endings.randomElement(using: &random)!, lease: lease)
        case 10..<13: return .verdict(verdicts.randomElement(using: &random)!, lease: lease)
        case 13: return [.lost, .lost, .verify, .verify, .copied].randomElement(using: &random)!
        case 14:
            let attempt = Int.random(in: 1...life.maxAttempts, using: &random)
            return [.progressed(lease: lease), .setBack(attempt: attempt, lease: lease)].randomElement(using: &random)!
        case 15, 16: return .due
        case 17: return .pause
        case 18: return .resume
        default: return [.cancel, .retry].randomElement(using: &random)!
        }
    }
}

/// The rules of an item's life, independent of the code that implements them.
struct ItemChecker {
    private var ends = 0
    /// Whether it must be verified before it is sent again.
    private var isInDoubt = false
    /// Whether the server may have acted on an attempt, regardless of later decisions.
    private var mayBeStored = false
    private var lease: Int64 = 0
    private var isLeased = false
    private var deliveries = 0
    private(set) var delivered = 0
    private(set) var doubts = 0

    /// The end of the delay, unless the caller has ended it.
    private var notBefore: Int64?

    init(_ life: ItemLife) { notBefore = life.notBefore }

    mutating func check(
        _ event: ItemLife.Event, _ before: ItemLife, _ after: ItemLife, _ effects: [ItemLife.Effect], _ now: Int64
    ) -> String? {
        if let violation = checkLeaseNumber(event, before, after, effects) { return violation }
        record(event, before)
        for effect in effects {
            if let violation = check(effect, event, before, after, now) { return violation }
        }
        if after.state.isTerminal, !before.state.isTerminal, !effects.contains(.finished(after.state)) {
            return "ended without an effect"
        }
        if before.state.isTerminal, event != .retry, event != .verify, after != before {
            return "changed after its end"
        }
        if event == .verify, !before.isDoubtful, after != before { return "verified without doubt" }
        if before.state == .done || before.state == .cancelled, after != before { return "changed after a final state" }
        if after.state == .leased, !isLeased { return "leased without a delivery" }
        if after.attempts < 0 || after.attempts > after.maxAttempts { return "\(after.attempts) attempts" }
        if isInDoubt, after.state == .ready || after.state == .waiting { return "a doubt was forgotten" }
        if after.isDoubtful != mayBeStored { return "doubtful: \(after.isDoubtful), may be stored: \(mayBeStored)" }
        if isInDoubt, after.state.isTerminal, after.state != .done, after.reason != "outcomeUnknown" {
            return "a doubt was not reported"
        }
        if [.leased, .verify].contains(before.state) == false, after.pendingRequest != .nothing {
            return "a request is pending without a lease"
        }
        return nil
    }

    /// Events with an old lease number, or that were not requested, must be ignored.
    private func checkLeaseNumber(
        _ event: ItemLife.Event, _ before: ItemLife, _ after: ItemLife, _ effects: [ItemLife.Effect]
    ) -> String? {
        let isAccepted = before != after || !effects.isEmpty
        switch event {
        case .ended(_, let number), .progressed(let number), .setBack(_, let number):
            return isAccepted && (number != lease || before.state != .leased) ? "a stale report was accepted" : nil
        case .verdict(_, let number):
            return isAccepted && (number != lease || before.state != .verify) ? "a stale verdict was accepted" : nil
        default: return nil
        }
    }

    private mutating func record(_ event: ItemLife.Event, _ before: ItemLife) {
        switch event {
        case .ended(let ending, let number) where number == lease && before.state == .leased:
            isLeased = false
            if case .delivered = ending { mayBeStored = false }
            if case .unknown = ending {
                isInDoubt = true
                mayBeStored = true
                doubts += 1
            }
        case .lost:
            if before.state == .leased {
                isInDoubt = true
                mayBeStored = true
                doubts += 1
            }
            isLeased = false
        case .copied where !before.state.isTerminal:
            isInDoubt = true
            mayBeStored = true
            isLeased = false
            doubts += 1
        case .verdict(let verdict, let number) where number == lease && before.state == .verify && isLeased:
            isLeased = false
            if verdict == .absent || verdict == .delivered { mayBeStored = false }
            if verdict == .repeatable || !mayBeStored { isInDoubt = false }
            if case .cannotTell = verdict, before.onUnknown == .retry, before.pendingRequest != .cancel {
                isInDoubt = false
            }
            if case .later = verdict, before.onUnknown == .retry, before.pendingRequest != .cancel,
                before.failedVerifications + 1 >= before.maxAttempts || before.deadline != nil
            {
                isInDoubt = false
            }
        // A manual decision.
        case .retry where [.failed, .paused, .verify, .waiting].contains(before.state) && !before.isVerifying:
            isInDoubt = false
            mayBeStored = false
            deliveries = 0
            notBefore = nil
        default: break
        }
    }

    private mutating func check(
        _ effect: ItemLife.Effect, _ event: ItemLife.Event, _ before: ItemLife, _ after: ItemLife, _ now: Int64
    ) -> String? {
        switch effect {
        case .deliver(_, let number):
            if isLeased { return "sent twice concurrently" }
            if isInDoubt { return "sent again in doubt" }
            if let notBefore, now < notBefore { return "sent before the end of its delay" }
            if number <= lease { return "a lease number was reused" }
            if after.pendingRequest == .cancel { return "sent after a cancel" }
            if let deadline = before.deadline, now > deadline { return "sent after the deadline" }
            lease = number
            isLeased = true
            deliveries += 1
        case .verify(let number):
            if isLeased { return "verified twice concurrently" }
            if number <= lease { return "a lease number was reused" }
            lease = number
            isLeased = true
        case .abort: if before.state != .leased { return "stopped without a delivery" }
        case .useCurrentSource: if before.onChange != .restart { return "used a changed file" }
        case .finished(let state):
            if before.state.isTerminal { return "ended twice" }
            if state != after.state { return "the effect has another state" }
            if state == .done {
                delivered += 1
                let isConfirmed =
                    if case .ended(.delivered, _) = event { true } else { event == .verdict(.delivered, lease: lease) }
                if !isConfirmed { return "done without confirmation" }
            }
        }
        return nil
    }
}
