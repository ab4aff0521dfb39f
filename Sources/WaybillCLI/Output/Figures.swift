import Waybill

/// Formats numbers consistently for lines, bars and messages.
enum Figures {
    /// Returns a duration: `0.012 s`, `1.2 s`, `75 s`.
    static func seconds(_ time: Duration) -> String {
        let milliseconds = Int64((time / .milliseconds(1)).rounded())
        if milliseconds < 1_000 {
            return "0.\(String(repeating: "0", count: 3 - "\(milliseconds)".count))\(milliseconds) s"
        }
        if milliseconds < 60_000 { return "\(milliseconds / 1_000).\(milliseconds / 100 % 10) s" }
        return "\((milliseconds + 500) / 1_000) s"
    }

    /// Returns a time: `0:05`, `12:00`, `1:02:03`.
    static func clock(_ seconds: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
    }

    /// Returns the remaining time: `ETA 0:12`. Empty from 100 hours on.
    static func eta(seconds: Double) -> String {
        let whole = seconds.rounded(.up)
        return whole < 360_000 ? "ETA \(clock(Int(whole)))" : ""
    }

    /// Returns a percentage, rounded down, so that 100 means complete.
    static func percentage(_ fraction: Double) -> Int { Int((fraction * 100).rounded(.down)) }

    /// Returns bytes: `1.2 of 2.0 MiB`, `900 B of 2.0 MiB`, or `1.2 of ~2.0 MiB` for an estimate.
    static func bytes(_ done: Int64, of total: Int64?, isEstimated: Bool = false) -> String {
        let done = ByteCount(bytes: done).description
        guard let total = total.map({ ByteCount(bytes: $0).description }) else { return done }
        let unit = total.drop { $0 != " " }
        let mark = isEstimated ? "~" : ""
        return "\(done.hasSuffix(unit) ? String(done.dropLast(unit.count)) : done) of \(mark)\(total)"
    }

    /// Returns a rate: `1.1 MiB/s`. Empty below one byte per second.
    static func rate(_ bytesPerSecond: Double) -> String {
        bytesPerSecond >= 1 ? "\(ByteCount(bytes: Int64(bytesPerSecond)))/s" : ""
    }

    /// Returns a count with its noun: `1 file`, `12 files`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(count == 1 ? noun : noun + "s")" }

    /// Returns all counts that are not zero: `2 failed, 1 cancelled`.
    static func counts(_ counts: [(count: Int, word: String)]) -> String {
        counts.filter { $0.count > 0 }.map { "\($0.count) \($0.word)" }.joined(separator: ", ")
    }

    /// Returns a size in bytes that is an `Int`, such as `st_size` or the count of an array.
    static func size(_ bytes: Int) -> String { ByteCount(bytes: Int64(bytes)).description }
}

/// Formats a pending retry.
enum RetryText {
    /// Returns a line such as `retrying in 2 s: 503 Service Unavailable (attempt 2 of 4)`. `time` is the time since the
    /// snapshot that contains the retry.
    static func text(_ retry: UploadRetry, after time: Duration = .zero) -> String {
        let left = max(0, (retry.timeLeft - time) / .seconds(1)).rounded(.up)
        let reason = Redaction.escaped(retry.reason)
        let attempt = "\(retry.number + 1) of \(retry.attempts)"
        return "retrying \(left > 0 ? "in \(span(left))" : "now"): \(reason) (attempt \(attempt))"
    }

    /// Returns a duration: `2 s`, or `1:30` from a minute on.
    private static func span(_ seconds: Double) -> String {
        seconds < 60 ? "\(Int(seconds)) s" : Figures.clock(Int(min(seconds, 360_000)))
    }
}

extension JSONObject {
    init(_ retry: UploadRetry) {
        self = [
            "reason": retry.reason, "attempt": retry.number + 1, "attempts": retry.attempts,
            "secondsLeft": retry.timeLeft,
        ]
    }
}

extension UploadRetry {
    /// The maximum number of attempts, including the first.
    fileprivate var attempts: Int { max(limit, number) + 1 }
}
