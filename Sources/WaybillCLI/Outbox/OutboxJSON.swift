import FoundationEssentials
import Waybill
import WaybillOutbox

/// Items as members of JSON objects.
enum OutboxJSON {
    static func members(of item: OutboxItem) -> [JSONMember] {
        [
            JSONMember("id", .int(item.id.rawValue)), JSONMember("state", .string(item.state.rawValue)),
            JSONMember("reason", .string(orNull: item.reason)), JSONMember("doubtful", .bool(item.isDoubtful)),
            JSONMember("attempts", .int(Int64(item.attempts))), JSONMember("kind", .string(item.kind)),
            JSONMember("lane", .string(item.lane)), JSONMember("batch", .string(orNull: item.batch)),
            JSONMember("tags", .array(item.tags.map { .string($0) })),
            JSONMember("priority", .int(Int64(item.priority))),
            JSONMember("dedupeKey", .string(orNull: item.dedupeKey)),
            JSONMember("idempotencyKey", .string(item.idempotencyKey)),
            JSONMember("size", .int(orNull: item.size)), JSONMember("createdAt", time(item.createdAt)),
            JSONMember("endedAt", time(item.endedAt)), JSONMember("dueAt", time(item.dueAt)),
        ]
    }

    /// How an item ended, without the body of the answer.
    static func members(of result: OutboxResult) -> [JSONMember] {
        let exit = Exit(result.item)
        return [
            JSONMember("sequence", .int(result.sequence)), JSONMember("exit", .int(Int64(exit.rawValue))),
            JSONMember("delivered", .bool(result.isDelivered)),
            JSONMember("status", .int(orNull: result.status.map(Int64.init))),
            JSONMember("message", .string(orNull: result.message)),
            JSONMember("sourceChangedAfterwards", .bool(result.sourceChangedAfterwards)),
        ] + members(of: result.item)
    }

    /// The answer that is kept: header fields, and the beginning of the body as text or in base64.
    static func answer(of result: OutboxResult) -> [JSONMember] {
        guard result.status != nil else { return [] }
        let headers = result.headers.map { header in
            JSONValue.object([JSONMember("name", .string(header.name)), JSONMember("value", .string(header.value))])
        }
        let head = JSONMember("headers", .array(headers))
        if let text = String(validating: result.body, as: UTF8.self) {
            return [head, JSONMember("body", .string(text))]
        }
        return [head, JSONMember("bodyBase64", .string(result.body.base64EncodedString()))]
    }

    static func members(of progress: OutboxProgress) -> [JSONMember] {
        [
            JSONMember("states", counts(progress.tally)), JSONMember("bytesDone", .int(progress.bytesDone)),
            JSONMember("bytesTotal", .int(progress.bytesTotal)),
            JSONMember("bytesPerSecond", .int(Int64(progress.bytesPerSecond))),
            JSONMember("secondsLeft", progress.timeLeft.map { .double(SummaryText.value($0)) } ?? .null),
            JSONMember(
                "running",
                .array(
                    progress.running.map { item in
                        .object([
                            JSONMember("id", .int(item.id.rawValue)), JSONMember("attempt", .int(Int64(item.attempt))),
                            JSONMember("isVerifying", .bool(item.isVerifying)),
                            JSONMember("acknowledged", .int(item.acknowledged)),
                            JSONMember("total", .int(orNull: item.total)),
                        ])
                    })),
            JSONMember("blockedLanes", lanes(progress.blockedLanes)),
        ]
    }

    /// How many items are in each state, all states in their order.
    static func counts(_ tally: OutboxTally) -> JSONValue {
        .object(OutboxState.allCases.map { JSONMember($0.rawValue, .int(Int64(tally[$0]))) })
    }

    static func lanes(_ lanes: [String: String]) -> JSONValue {
        .object(lanes.sorted { $0.key < $1.key }.map { JSONMember($0.key, .string($0.value)) })
    }

    /// A time as RFC 3339 has it, in UTC.
    static func time(_ milliseconds: Int64?) -> JSONValue { milliseconds.map { .string(OutboxTime.text($0)) } ?? .null }
}

/// Times of items.
enum OutboxTime {
    /// `2026-11-22T08:15:30Z`.
    static func text(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: (Double(milliseconds) / 1_000).rounded(.down)).formatted(Date.ISO8601FormatStyle())
    }

    /// `12 s`, `5 min`, `3 h`, `8 d`: the largest whole unit.
    static func span(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds) / 1_000
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// Milliseconds since 1970.
    static var now: Int64 { Int64((Date.now.timeIntervalSince1970 * 1_000).rounded(.down)) }
}
