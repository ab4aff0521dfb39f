import Waybill
import WaybillOutbox

/// What is left in an outbox.
struct OutboxEnd: Sendable {
    var tally: OutboxTally
    var blockedLanes: [String: String]
}

/// What became of items while somebody ran or watched.
struct OutboxSummary: Sendable {
    private(set) var delivered = 0
    private(set) var failed = 0
    private(set) var doubtful = 0
    private(set) var cancelled = 0
    private(set) var worst = Exit.done
    var time: Duration = .zero
    /// The signal that asked for the end, if one did.
    var signal: Int32?
    /// What is left.
    var end = OutboxEnd(tally: OutboxTally(), blockedLanes: [:])

    /// Takes in how an item ended.
    mutating func add(_ item: OutboxItem) {
        let exit = Exit(item)
        switch item.state {
        case .done: delivered += 1
        case .cancelled where exit == .done: cancelled += 1
        default: if exit == .unknown { doubtful += 1 } else { failed += 1 }
        }
        worst = worst.worse(exit)
    }

    /// How the command ends: by the signal, or as the worst that happened.
    var exit: Exit {
        if let signal { return .signal(signal) }
        var exit = worst
        // Whoever waits for an answer does so no longer, and nothing says whether it arrived.
        if end.tally.unfinished > 0 { exit = exit.worse(.queued) }
        return end.blockedLanes.isEmpty || end.tally.unfinished == 0 ? exit : exit.worse(.fatal)
    }

    /// `12 delivered in 5.1 s`, or `9 delivered, 1 failed, 1 in doubt in 5.1 s; 3 left: 2 ready, 1 paused`.
    var line: String {
        let ends = [(failed, "failed"), (doubtful, "in doubt"), (cancelled, "cancelled")].filter { $0.0 > 0 }
        var line = (["\(delivered) delivered"] + ends.map { "\($0.0) \($0.1)" }).joined(separator: ", ")
        line += " in \(SummaryText.seconds(time))"
        let left = Self.unfinished.map { (end.tally[$0], $0.rawValue) }.filter { $0.0 > 0 }
        guard !left.isEmpty else { return line }
        return "\(line); \(end.tally.unfinished) left: \(left.map { "\($0.0) \($0.1)" }.joined(separator: ", "))"
    }

    var members: [JSONMember] {
        let result =
            switch exit {
            case .done: "succeeded"
            case .interrupted, .terminated: "cancelled"
            case .queued: "queued"
            default: "failed"
            }
        return [
            JSONMember("result", .string(result)), JSONMember("exit", .int(Int64(exit.rawValue))),
            JSONMember("delivered", .int(Int64(delivered))), JSONMember("failed", .int(Int64(failed))),
            JSONMember("doubtful", .int(Int64(doubtful))), JSONMember("cancelled", .int(Int64(cancelled))),
            JSONMember("left", .int(Int64(end.tally.unfinished))), JSONMember("states", OutboxJSON.counts(end.tally)),
            JSONMember("blockedLanes", OutboxJSON.lanes(end.blockedLanes)),
            JSONMember("seconds", .double(SummaryText.value(time))),
            JSONMember("signal", .int(orNull: signal.map(Int64.init))),
        ]
    }

    private static let unfinished: [OutboxState] = [.ready, .leased, .waiting, .verify, .paused]
}
