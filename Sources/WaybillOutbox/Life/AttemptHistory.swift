/// An attempt to deliver an item, or to verify its outcome.
public struct OutboxAttempt: Sendable, Hashable, Codable {
    /// The purpose of an attempt.
    public enum Purpose: String, Sendable, Hashable, Codable {
        /// The upload was sent.
        case delivery
        /// The server was queried about an earlier attempt; nothing was sent.
        case verification
    }

    /// The number of the delivery, from 1. Several deliveries have the same number if they do not count as attempts.
    public var number: Int
    /// The purpose.
    public var purpose: Purpose
    /// The time of the start, in milliseconds since 1970.
    public var startedAt: Int64
    /// The time at which its result was stored, in milliseconds since 1970.
    public var endedAt: Int64
    /// The result: `delivered`, the code of the failure, `interrupted` if the worker ended first, or `stopped` if the
    /// worker was asked to stop. Of a verification also `absent` and `repeatable`.
    public var result: String
    /// The status of the response, if there was one.
    public var status: Int?
    /// The number of body bytes that were handed to the kernel; `nil` if unknown.
    public var sent: Int64?
}

extension OutboxAttempt {
    /// Creates the attempt that an event ends, or `nil` if it ends none.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - life: The item before the event.
    ///   - status: The status of the response.
    ///   - sent: The number of body bytes sent.
    ///   - now: The time of the event.
    package init?(_ event: ItemLife.Event, of life: ItemLife, status: Int?, sent: Int64?, at now: Int64) {
        guard life.accepts(event), let (purpose, result) = Self.end(event, of: life) else { return nil }
        self.init(
            number: max(1, life.attempts), purpose: purpose, startedAt: min(life.leasedAt ?? now, now), endedAt: now,
            result: result, status: status, sent: sent)
    }

    private static func end(_ event: ItemLife.Event, of life: ItemLife) -> (Purpose, String)? {
        switch event {
        case .ended(let ending, _): (.delivery, ending.code)
        case .verdict(let verdict, _): (.verification, verdict.code)
        case .lost where life.state == .leased: (.delivery, "interrupted")
        case .lost where life.isVerifying: (.verification, "interrupted")
        default: nil
        }
    }
}

extension ItemLife.Ending {
    fileprivate var code: String {
        switch self {
        case .delivered: "delivered"
        case .aborted: "stopped"
        case .refused(let reason), .transient(let reason, _), .lane(let reason), .offline(let reason),
            .unknown(let reason, _), .sourceChanged(let reason, _):
            reason
        }
    }
}

extension ItemLife.Verdict {
    fileprivate var code: String {
        switch self {
        case .delivered: "delivered"
        case .absent: "absent"
        case .repeatable: "repeatable"
        case .cannotTell(let reason), .later(let reason, _): reason
        }
    }
}

/// The newest attempts of an item as text, so that a store adds one without reading the others.
///
/// Each line is an attempt: number, purpose, start, duration in milliseconds, status or 0, bytes sent or -1, result.
package struct AttemptHistory: Sendable, Hashable {
    /// The text, as stored.
    package private(set) var text: String

    /// Creates a history from its stored text.
    package init(text: String? = nil) { self.text = text ?? "" }

    /// Adds an attempt, and removes the oldest if there are more than ``limit``.
    package mutating func append(_ attempt: OutboxAttempt) {
        let (before, after) = parts(adding: attempt)
        text = "\(before)\(attempt.startedAt) \(attempt.endedAt - attempt.startedAt)\(after)"
    }

    /// Returns the text with an attempt added, before and after its times, for a store that inserts them: the time of
    /// the start, a space, and the duration.
    package func parts(adding attempt: OutboxAttempt) -> (before: String, after: String) {
        let purpose = attempt.purpose == .delivery ? "d" : "v"
        // A type of upload may have error codes of its own, with newlines. Printable ASCII has none.
        let isLine = attempt.result.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x80 }
        let result =
            isLine ? attempt.result : attempt.result.split(whereSeparator: \.isNewline).joined(separator: " ")
        var kept = text
        if text.utf8.count(where: { $0 == UInt8(ascii: "\n") }) >= Self.limit - 1 {
            kept = text.split(separator: "\n").suffix(Self.limit - 1).joined(separator: "\n")
        }
        return (
            "\(kept)\(kept.isEmpty ? "" : "\n")\(attempt.number) \(purpose) ",
            " \(attempt.status ?? 0) \(attempt.sent ?? -1) \(result)"
        )
    }

    /// The attempts, the oldest first.
    package var attempts: [OutboxAttempt] { text.split(separator: "\n").compactMap(Self.attempt) }

    private static func attempt(_ line: Substring) -> OutboxAttempt? {
        let words = line.split(separator: " ", maxSplits: 6, omittingEmptySubsequences: false)
        guard words.count == 7, let number = Int(words[0]), let start = Int64(words[2]), let time = Int64(words[3]),
            let status = Int(words[4]), let sent = Int64(words[5])
        else { return nil }
        return OutboxAttempt(
            number: number, purpose: words[1] == "d" ? .delivery : .verification, startedAt: start,
            endedAt: start + time, result: String(words[6]), status: status == 0 ? nil : status,
            sent: sent < 0 ? nil : sent)
    }

    /// The number of attempts that are kept.
    package static let limit = 20
}
