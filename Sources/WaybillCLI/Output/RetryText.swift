import Waybill

/// A retry that is waited for, as text and as JSON.
enum RetryText {
    /// `retrying in 2 s: 503 Service Unavailable (attempt 2 of 4)`, some time after the snapshot that has the retry.
    static func text(_ retry: UploadRetry, after time: Duration = .zero) -> String {
        let left = max(0, SummaryText.value(retry.timeLeft - time)).rounded(.up)
        let reason = Redaction.escaped(retry.reason)
        return "retrying \(left > 0 ? "in \(span(left))" : "now"): \(reason) (attempt \(attempt(retry)))"
    }

    /// The members of a JSON object.
    static func members(of retry: UploadRetry) -> [JSONMember] {
        [
            JSONMember("reason", .string(retry.reason)), JSONMember("attempt", .int(Int64(retry.number + 1))),
            JSONMember("attempts", .int(Int64(most(retry)))),
            JSONMember("secondsLeft", .double(SummaryText.value(retry.timeLeft))),
        ]
    }

    private static func attempt(_ retry: UploadRetry) -> String { "\(retry.number + 1) of \(most(retry))" }

    private static func most(_ retry: UploadRetry) -> Int { max(retry.limit, retry.number) + 1 }

    /// `2 s`, or `1:30` from a minute on.
    private static func span(_ seconds: Double) -> String {
        seconds < 60 ? "\(Int(seconds)) s" : ProgressLine.time(Int(min(seconds, 360_000)))
    }
}
