import Waybill
import WaybillOutbox

/// The remaining items of an outbox.
struct OutboxEnd: Sendable {
    var tally: OutboxTally
    var blockedLanes: [String: String]
}

/// The summary of items that ended during a run or a watch.
struct OutboxSummary: Sendable {
    private(set) var delivered = 0
    private(set) var failed = 0
    private(set) var doubtful = 0
    private(set) var cancelled = 0
    private(set) var worst = Exit.done
    var time: Duration = .zero
    /// The signal that stopped the command, if any.
    var signal: Int32?
    /// The remaining items.
    var end = OutboxEnd(tally: OutboxTally(), blockedLanes: [:])

    /// Adds an item that has ended.
    mutating func add(_ item: OutboxItem) {
        let exit = Exit(item)
        switch item.state {
        case .done: delivered += 1
        case .cancelled where exit == .done: cancelled += 1
        default: if exit == .unknown { doubtful += 1 } else { failed += 1 }
        }
        worst = worst.worse(exit)
    }

    /// The exit status: from the signal, or the worst result.
    var exit: Exit {
        if let signal { return .signal(signal) }
        var exit = worst
        // Waiting items are not failures.
        if end.tally.unfinished > 0 { exit = exit.worse(.queued) }
        return end.blockedLanes.isEmpty || end.tally.unfinished == 0 ? exit : exit.worse(.fatal)
    }

    /// The summary line: `12 delivered in 5.1 s`, or `9 delivered, 1 failed, 1 in doubt in 5.1 s; 3 left: 2 ready, 1
    /// paused`.
    var line: String {
        let ends = Figures.counts([(failed, "failed"), (doubtful, "in doubt"), (cancelled, "cancelled")])
        let line = "\(delivered) delivered\(ends.isEmpty ? "" : ", " + ends) in \(Figures.seconds(time))"
        let left = Figures.counts(Self.unfinished.map { (end.tally[$0], $0.rawValue) })
        return left.isEmpty ? line : "\(line); \(end.tally.unfinished) left: \(left)"
    }

    var members: JSONObject {
        [
            "result": exit == .queued ? "queued" : exit.result, "exit": exit, "delivered": delivered, "failed": failed,
            "doubtful": doubtful, "cancelled": cancelled, "left": end.tally.unfinished,
            "states": JSONObject(end.tally), "blockedLanes": JSONObject(lanes: end.blockedLanes), "seconds": time,
            "signal": signal,
        ]
    }

    private static let unfinished: [OutboxState] = [.ready, .leased, .waiting, .verify, .paused]
}
