import FoundationEssentials
import Waybill
import WaybillOutbox

/// Formats items of an outbox as lines.
enum OutboxText {
    /// Returns the result of an item: `17: delivered to backend.example:443, 200`.
    static func line(_ result: OutboxResult) -> String {
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
            let finding = "\(item.id): unknown whether \(item.lane) received it\(attempts)\(message)"
            return finding.sentence
                + " Check the server; then run waybill outbox verify \(item.id), "
                + "or waybill outbox retry --doubtful \(item.id)."
        default: return "\(item.id): failed, \(item.reason ?? "unknown reason")\(attempts)\(message)"
        }
    }

    /// Returns the error of the last attempt, which is labeled if the item ended without another attempt.
    private static func message(of item: OutboxItem, _ message: String) -> String {
        let isOlder = ["deadlinePassed", "idempotencyWindowClosed", "attemptsUsedUp"].contains(item.reason)
        return isOlder ? " (last attempt: \(message))" : ": \(message)"
    }
}

// MARK: - JSON

extension JSONObject {
    init(_ item: OutboxItem) {
        self = [
            "id": item.id, "state": item.state.rawValue, "reason": item.reason, "doubtful": item.isDoubtful,
            "attempts": item.attempts, "kind": item.kind, "lane": item.lane, "batch": item.batch, "tags": item.tags,
            "priority": item.priority.level, "deduplicationKey": item.deduplicationKey,
            "idempotencyKey": item.idempotencyKey,
            "size": item.size, "createdAt": OutboxTime.text(item.createdAt),
            "endedAt": item.endedAt.map(OutboxTime.text), "dueAt": item.dueAt.map(OutboxTime.text),
            "host": item.host,
        ]
    }

    /// Creates the result of an item, without the body of the response.
    init(_ result: OutboxResult) {
        self =
            [
                "sequence": result.sequence, "exit": Exit(result.item), "delivered": result.isDelivered,
                "status": result.status, "message": result.message,
                "sourceChangedAfterwards": result.sourceChangedAfterwards,
            ] + JSONObject(result.item)
    }

    /// Returns the stored response: header fields, and the beginning of the body.
    static func response(of result: OutboxResult) -> JSONObject {
        guard result.status != nil else { return [:] }
        let headers: [JSONObject] = result.headers.map { ["name": $0.name, "value": $0.value] }
        return ["headers": headers] + body(result.body)
    }

    init(_ progress: OutboxProgress) {
        let running: [JSONObject] = progress.running.map {
            [
                "id": $0.id, "attempt": $0.attempt, "isVerifying": $0.isVerifying, "acknowledged": $0.acknowledged,
                "total": $0.total,
            ]
        }
        self = [
            "states": JSONObject(progress.tally), "bytesDone": progress.bytesDone, "bytesTotal": progress.bytesTotal,
            "bytesPerSecond": Int64(progress.bytesPerSecond), "secondsLeft": progress.timeLeft, "running": running,
            "blockedLanes": JSONObject(lanes: progress.blockedLanes),
        ]
    }

    /// Creates the number of items in each state, for all states in order.
    init(_ tally: OutboxTally) {
        self.init(OutboxState.allCases.map { ($0.rawValue, tally[$0]) })
    }

    /// Creates an object of blocked lanes with their reasons.
    init(lanes: [String: String]) {
        self.init(lanes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }
}

/// Formats times of items.
enum OutboxTime {
    /// Returns a time as `2026-11-22T08:15:30Z` (RFC 3339).
    static func text(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: (Double(milliseconds) / 1_000).rounded(.down)).formatted(Date.ISO8601FormatStyle())
    }

    /// Returns a duration in the largest whole unit: `12 s`, `5 min`, `3 h`, `8 d`.
    static func span(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds) / 1_000
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// The current time in milliseconds since 1970.
    static var now: Int64 { Int64((Date.now.timeIntervalSince1970 * 1_000).rounded(.down)) }
}
