import Waybill
import WaybillOutbox

/// Formats the progress of an upload, of several uploads, or of an outbox as one line, without side effects.
///
/// ```
/// sending front  62 % [============>       ] 1.2 of 2.0 MiB  1.1 MiB/s  ETA 0:12
/// 3 of 12 files: 27 %, 1.2 of 4.4 MiB, 1.1 MiB/s, ETA 0:12, 1 failed
/// ```
struct ProgressLine {
    private var lead: String
    private var fraction: Double?
    private var bytes = ""
    private var rate = ""
    private var eta = ""
    private var note = ""
    /// Whether a bar shows more than the lead text.
    private var hasBar = true

    /// Returns a bar that is at least one column narrower than the terminal, so that no terminal wraps it.
    ///
    /// On a narrow terminal, figures are omitted, the least useful first.
    func bar(columns: Int) -> String {
        let lineWidth = max(columns - 1, 1)
        guard hasBar else { return TerminalText.fitted(lead, to: lineWidth) }
        let percent = fraction.map { "  \(Figures.percentage($0)) %" } ?? ""
        // Shorten the lead text before the figures, but never completely.
        let fittedLead = TerminalText.fitted(lead, to: max(16, min(36, lineWidth - 40)))
        var used = TerminalText.columns(of: fittedLead) + percent.utf8.count
        guard used <= lineWidth else { return TerminalText.fitted(lead + percent, to: lineWidth) }

        var pieces = ["", "", "", ""]
        for (position, text) in [(3, note), (0, bytes), (2, eta), (1, rate)]
        where !text.isEmpty && used + text.utf8.count + 2 <= lineWidth {
            pieces[position] = "  " + text
            used += text.utf8.count + 2
        }
        let bar = fraction.map { Self.bar($0, columns: min(30, lineWidth - used - 1)) } ?? ""
        return fittedLead + percent + bar + pieces.joined()
    }

    /// A line for logs, with the same figures.
    var plain: String {
        let percent = fraction.map { "\(Figures.percentage($0)) %" } ?? ""
        let figures = [percent, bytes, rate, eta, note].filter { !$0.isEmpty }
        return figures.isEmpty ? lead : "\(lead): \(figures.joined(separator: ", "))"
    }

    private static func bar(_ fraction: Double, columns: Int) -> String {
        let inside = columns - 2
        guard inside >= 8 else { return "" }
        let filled = Int((fraction * Double(inside)).rounded(.down))
        let arrow = filled < inside ? ">" : ""
        let full = String(repeating: "=", count: filled) + arrow
        return " [" + full + String(repeating: " ", count: inside - full.utf8.count) + "]"
    }
}

// MARK: - One upload

extension ProgressLine {
    init(_ progress: UploadProgress) {
        lead = Self.lead(progress)
        hasBar = progress.phase == .sending || progress.phase == .awaitingResponse
        guard progress.phase != .retrying else { return }
        fraction = progress.fraction
        bytes = Figures.bytes(progress.acknowledged, of: progress.total)
        note = progress.attempt > 1 ? "attempt \(progress.attempt)" : ""
        guard progress.phase == .sending, progress.bytesPerSecond >= 1 else { return }
        rate = Figures.rate(progress.bytesPerSecond)
        if let total = progress.total {
            eta = Figures.eta(seconds: Double(total - progress.acknowledged) / progress.bytesPerSecond)
        }
    }

    private static func lead(_ progress: UploadProgress) -> String {
        switch progress.phase {
        case .waiting: "waiting"
        case .preparing: "preparing"
        case .queued: "waiting for a slot"
        case .connecting: "connecting"
        case .sending: "sending" + (currentPart(progress).map { " \($0)" } ?? "")
        case .awaitingResponse: "waiting for the response"
        case .retrying: progress.retry.map { RetryText.text($0) } ?? "renewing the credential"
        case .succeeded: "done"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    /// Returns the first part that is not fully acknowledged. Its name is escaped before its width is measured.
    private static func currentPart(_ progress: UploadProgress) -> String? {
        (progress.parts.first { $0.acknowledged < $0.total } ?? progress.parts.last).map { Redaction.escaped($0.name) }
    }
}

extension JSONObject {
    init(_ progress: UploadProgress) {
        let parts: [JSONObject] = progress.parts.map {
            ["name": $0.name, "fileName": $0.fileName, "acknowledged": $0.acknowledged, "total": $0.total]
        }
        self = [
            "phase": progress.phase.rawValue, "attempt": progress.attempt, "sent": progress.sent,
            "acknowledged": progress.acknowledged, "total": progress.total, "accuracy": "\(progress.accuracy)",
            "bytesPerSecond": Int64(progress.bytesPerSecond), "parts": parts,
        ]
        if let retry = progress.retry { self += ["retry": JSONObject(retry)] }
    }
}

// MARK: - Many uploads

extension ProgressLine {
    init(_ progress: UploadBatchProgress) {
        let count = progress.count.map { " of \($0)" } ?? ""
        lead = "\(progress.ended)\(count) \((progress.count ?? progress.ended) == 1 ? "file" : "files")"
        fraction = progress.fraction
        bytes = Figures.bytes(progress.acknowledged, of: progress.total, isEstimated: progress.isEstimated)
        rate = Figures.rate(progress.bytesPerSecond)
        if !progress.isFinished, let left = progress.timeLeft { eta = Figures.eta(seconds: left / .seconds(1)) }
        note = progress.failed > 0 ? "\(progress.failed) failed" : ""
    }
}

extension JSONObject {
    init(_ progress: UploadBatchProgress) {
        self = [
            "files": progress.count, "succeeded": progress.succeeded, "failed": progress.failed,
            "cancelled": progress.cancelled, "acknowledged": progress.acknowledged, "total": progress.total,
            "isEstimated": progress.isEstimated, "bytesPerSecond": Int64(progress.bytesPerSecond),
        ]
    }
}

// MARK: - An outbox

extension ProgressLine {
    /// Creates the progress since a tally was taken. Items that had already ended are not counted.
    init(_ progress: OutboxProgress, since base: OutboxTally) {
        let (before, bytesBefore) = Self.ended(base)
        let (ended, _) = Self.ended(progress.tally)
        // A failed item that is retried no longer counts as ended.
        let count = max(progress.tally.unfinished, progress.tally.total - before)
        let done = max(0, min(count, ended - before))
        lead = "\(done) of \(Figures.count(count, "item"))"
        let total = max(0, progress.bytesTotal - bytesBefore)
        let arrived = max(0, min(total, progress.bytesDone - bytesBefore))
        if total > 0 {
            bytes = Figures.bytes(arrived, of: total)
            fraction = done == count ? 1 : min(0.999, Double(arrived) / Double(total))
        } else {
            fraction = count > 0 ? Double(done) / Double(count) : nil
        }
        note = Figures.counts([
            (progress.tally[.waiting], "waiting"), (progress.tally[.paused], "paused"),
            (progress.blockedLanes.count, "blocked"),
        ])
        guard !progress.running.isEmpty else { return }
        rate = Figures.rate(progress.bytesPerSecond)
        if !progress.isFinished, let left = progress.timeLeft { eta = Figures.eta(seconds: left / .seconds(1)) }
    }

    private static func ended(_ tally: OutboxTally) -> (Int, Int64) {
        OutboxState.allCases.filter(\.isTerminal).reduce(into: (0, 0)) { sum, state in
            sum.0 += tally[state]
            sum.1 += tally.bytes[state] ?? 0
        }
    }
}
