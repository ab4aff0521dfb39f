import Waybill
import WaybillOutbox

/// Outboxes and items as lines: pure functions of what is there.
///
/// ```
/// 12 of 40 items  27 % [=====>          ]  1.2 of 9.0 MiB  1.1 MiB/s  ETA 0:12  1 failed
/// ```
enum OutboxLine {
    /// The bar, shorter than the width by one. What had ended before `base` was taken is left out of its figures.
    static func text(_ progress: OutboxProgress, since base: OutboxTally, columns: Int) -> String {
        let figures = Figures(progress, base)
        let pieces = [(3, trouble(progress)), (0, figures.bytes), (2, eta(progress)), (1, rate(progress))]
        return ProgressLine.text(lead: figures.lead, fraction: figures.fraction, pieces: pieces, columns: columns)
    }

    /// `12 of 40 items: 27 %, 1.2 of 9.0 MiB, 1.1 MiB/s, ETA 0:12, 1 failed`.
    static func plain(_ progress: OutboxProgress, since base: OutboxTally) -> String {
        let figures = Figures(progress, base)
        let percent = figures.fraction.map { "\(ProgressLine.percentage($0)) %" } ?? ""
        let facts = [percent, figures.bytes, rate(progress), eta(progress), trouble(progress)].filter { !$0.isEmpty }
        return facts.isEmpty ? figures.lead : "\(figures.lead): \(facts.joined(separator: ", "))"
    }

    /// How an item ended: `17: delivered to backend.example:443, 200`.
    static func text(_ result: OutboxResult) -> String {
        let item = result.item
        let status = result.status.map { ", \($0)" } ?? ""
        let message = result.message.map { Self.message(of: item, $0) } ?? ""
        let attempts = item.attempts > 1 ? ", \(item.attempts) attempts" : ""
        switch item.state {
        case .done:
            let note = result.sourceChangedAfterwards ? "; a file was changed afterwards" : ""
            return "\(item.id): delivered to \(item.lane)\(status)\(attempts)\(note)"
        case .cancelled where !item.isDoubtful:
            return "\(item.id): cancelled" + (item.reason.map { ", \($0)" } ?? "")
        case _ where Exit(item) == .unknown:
            return
                "\(item.id): nobody knows whether \(item.lane) has it\(attempts)\(message). Look there; then waybill outbox "
                + "verify, or retry --doubtful \(item.id)"
        default: return "\(item.id): failed, \(item.reason ?? "for no known reason")\(attempts)\(message)"
        }
    }

    /// What the last attempt met. For these reasons no further attempt was made.
    private static func message(of item: OutboxItem, _ message: String) -> String {
        let isOlder = ["deadlinePassed", "idempotencyWindowClosed", "attemptsUsedUp"].contains(item.reason)
        return isOlder ? " (last attempt: \(message))" : ": \(message)"
    }

    private static func rate(_ progress: OutboxProgress) -> String {
        progress.bytesPerSecond >= 1 && !progress.running.isEmpty
            ? "\(ByteCount(bytes: Int64(progress.bytesPerSecond)))/s" : ""
    }

    private static func eta(_ progress: OutboxProgress) -> String {
        guard !progress.isFinished, !progress.running.isEmpty, let left = progress.timeLeft else { return "" }
        let seconds = SummaryText.value(left).rounded(.up)
        return seconds < 360_000 ? "ETA \(ProgressLine.time(Int(seconds)))" : ""
    }

    private static func trouble(_ progress: OutboxProgress) -> String {
        let tally = progress.tally
        let counts = [
            (tally[.waiting], "waiting"), (tally[.paused], "paused"), (progress.blockedLanes.count, "blocked"),
        ]
        return counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// What has changed since the beginning.
    private struct Figures {
        let lead: String
        let bytes: String
        let fraction: Double?

        init(_ progress: OutboxProgress, _ base: OutboxTally) {
            let (before, bytesBefore) = Self.ended(base)
            let (ended, _) = Self.ended(progress.tally)
            // An item that had failed and is retried is no longer among those that have ended.
            let count = max(progress.tally.unfinished, progress.tally.total - before)
            let done = max(0, min(count, ended - before))
            lead = "\(done) of \(count) \(count == 1 ? "item" : "items")"
            let total = max(0, progress.bytesTotal - bytesBefore)
            let arrived = max(0, min(total, progress.bytesDone - bytesBefore))
            bytes = total > 0 ? ProgressLine.bytes(arrived, of: total) : ""
            if total > 0 {
                fraction = done == count ? 1 : min(0.999, Double(arrived) / Double(total))
            } else {
                fraction = count > 0 ? Double(done) / Double(count) : nil
            }
        }

        private static func ended(_ tally: OutboxTally) -> (Int, Int64) {
            OutboxState.allCases.filter(\.isTerminal).reduce(into: (0, 0)) { sum, state in
                sum.0 += tally[state]
                sum.1 += tally.bytes[state] ?? 0
            }
        }
    }
}

extension Flight {
    /// An item that is being delivered.
    init(_ item: RunningItem) {
        self.init("item \(item.id)", done: item.acknowledged, of: item.total)
    }
}
