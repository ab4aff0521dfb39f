import Waybill

/// The text of a progress bar: a pure function of a snapshot and a width.
///
/// ```
/// sending front  62 % [============>       ] 1.2 of 2.0 MiB  1.1 MiB/s  ETA 0:12
/// ```
///
/// On a narrow terminal pieces are left out, the least useful first. The text is shorter than the width by one, so that
/// no terminal wraps it.
enum ProgressLine {
    static func text(_ progress: UploadProgress, columns: Int) -> String {
        let lead = lead(progress)
        guard progress.phase == .sending || progress.phase == .awaitingResponse else {
            return TerminalText.fitted(lead, to: max(columns - 1, 1))
        }
        let pieces = [(3, attempt(progress)), (0, bytes(progress)), (2, eta(progress)), (1, rate(progress))]
        return text(lead: lead, fraction: progress.fraction, pieces: pieces, columns: columns)
    }

    /// Lays a bar out. The pieces come with their places, the most useful first.
    static func text(lead: String, fraction: Double?, pieces candidates: [(Int, String)], columns: Int) -> String {
        let room = max(columns - 1, 1)
        let percent = fraction.map { "  \(percentage($0)) %" } ?? ""
        // The name gives way to the figures, but not to nothing.
        let fittedLead = TerminalText.fitted(lead, to: max(16, min(36, room - 40)))
        var used = TerminalText.columns(of: fittedLead) + percent.utf8.count
        guard used <= room else { return TerminalText.fitted(lead + percent, to: room) }

        var pieces = ["", "", "", ""]
        for (place, text) in candidates where !text.isEmpty && used + text.utf8.count + 2 <= room {
            pieces[place] = "  " + text
            used += text.utf8.count + 2
        }
        let bar = fraction.map { Self.bar($0, columns: min(30, room - used - 1)) } ?? ""
        return fittedLead + percent + bar + pieces.joined()
    }

    /// What is going on, and with which part.
    static func lead(_ progress: UploadProgress) -> String {
        switch progress.phase {
        case .waiting: "waiting for its turn"
        case .preparing: "preparing"
        case .queued: "waiting for a slot"
        case .connecting: "connecting"
        case .sending: "sending" + (currentPart(progress).map { " \($0)" } ?? "")
        case .awaitingResponse: "waiting for the answer"
        case .retrying: progress.retry.map { RetryText.text($0) } ?? "getting a fresh credential"
        case .succeeded: "done"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    /// The whole per cent that are surely there: 100 only for all.
    static func percentage(_ fraction: Double) -> Int { Int((fraction * 100).rounded(.down)) }

    /// `1.2 of 2.0 MiB`, or `900 B of 2.0 MiB`.
    static func bytes(_ progress: UploadProgress) -> String {
        bytes(progress.acknowledged, of: progress.total)
    }

    /// `1.2 of 2.0 MiB`, or `1.2 of ~2.0 MiB` for an estimate.
    static func bytes(_ done: Int64, of total: Int64?, isEstimated: Bool = false) -> String {
        let done = ByteCount(bytes: done).description
        guard let total = total.map({ ByteCount(bytes: $0).description }) else { return done }
        let unit = total.drop { $0 != " " }
        let mark = isEstimated ? "~" : ""
        return "\(done.hasSuffix(unit) ? String(done.dropLast(unit.count)) : done) of \(mark)\(total)"
    }

    static func rate(_ progress: UploadProgress) -> String {
        guard progress.phase == .sending, progress.bytesPerSecond >= 1 else { return "" }
        return "\(ByteCount(bytes: Int64(progress.bytesPerSecond)))/s"
    }

    /// `ETA 0:12`: what is left, at the present rate.
    static func eta(_ progress: UploadProgress) -> String {
        guard progress.phase == .sending, let total = progress.total, progress.bytesPerSecond >= 1 else { return "" }
        let seconds = (Double(total - progress.acknowledged) / progress.bytesPerSecond).rounded(.up)
        return seconds < 360_000 ? "ETA \(time(Int(seconds)))" : ""
    }

    static func attempt(_ progress: UploadProgress) -> String {
        progress.attempt > 1 ? "attempt \(progress.attempt)" : ""
    }

    /// `0:05`, `12:00`, `1:02:03`.
    static func time(_ seconds: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
    }

    /// The part that is on its way: the first that is not acknowledged to its end.
    private static func currentPart(_ progress: UploadProgress) -> String? {
        // Made visible before it is measured.
        (progress.parts.first { $0.acknowledged < $0.total } ?? progress.parts.last).map { Redaction.escaped($0.name) }
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
