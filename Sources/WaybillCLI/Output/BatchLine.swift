import Waybill

/// How far many uploads have come, as a bar and as a line: pure functions of a snapshot.
///
/// ```
/// 3 of 12 files  27 % [=====>          ]  1.2 MiB  1.1 MiB/s  ETA 0:12  1 failed
/// ```
enum BatchLine {
    /// The bar, shorter than the width by one.
    static func text(_ progress: UploadBatchProgress, columns: Int) -> String {
        let pieces = [(3, failed(progress)), (0, bytes(progress)), (2, eta(progress)), (1, rate(progress))]
        return ProgressLine.text(lead: lead(progress), fraction: progress.fraction, pieces: pieces, columns: columns)
    }

    /// `3 of 12 files: 27 %, 1.2 MiB, 1.1 MiB/s, ETA 0:12, 1 failed`.
    static func plain(_ progress: UploadBatchProgress) -> String {
        let percent = progress.fraction.map { "\(ProgressLine.percentage($0)) %" } ?? ""
        let facts = [percent, bytes(progress), rate(progress), eta(progress), failed(progress)].filter { !$0.isEmpty }
        return "\(lead(progress)): \(facts.joined(separator: ", "))"
    }

    /// The members of a JSON object.
    static func members(of progress: UploadBatchProgress) -> [JSONMember] {
        [
            JSONMember("files", .int(orNull: progress.count.map(Int64.init))),
            JSONMember("succeeded", .int(Int64(progress.succeeded))),
            JSONMember("failed", .int(Int64(progress.failed))),
            JSONMember("cancelled", .int(Int64(progress.cancelled))),
            JSONMember("acknowledged", .int(progress.acknowledged)),
            JSONMember("total", .int(orNull: progress.total)),
            JSONMember("isEstimated", .bool(progress.isEstimated)),
            JSONMember("bytesPerSecond", .int(Int64(progress.bytesPerSecond))),
        ]
    }

    private static func lead(_ progress: UploadBatchProgress) -> String {
        let count = progress.count.map { " of \($0)" } ?? ""
        return "\(progress.ended)\(count) \((progress.count ?? progress.ended) == 1 ? "file" : "files")"
    }

    private static func bytes(_ progress: UploadBatchProgress) -> String {
        ProgressLine.bytes(progress.acknowledged, of: progress.total, isEstimated: progress.isEstimated)
    }

    private static func rate(_ progress: UploadBatchProgress) -> String {
        progress.bytesPerSecond >= 1 ? "\(ByteCount(bytes: Int64(progress.bytesPerSecond)))/s" : ""
    }

    private static func eta(_ progress: UploadBatchProgress) -> String {
        guard !progress.isFinished, let left = progress.timeLeft else { return "" }
        let seconds = SummaryText.value(left).rounded(.up)
        return seconds < 360_000 ? "ETA \(ProgressLine.time(Int(seconds)))" : ""
    }

    private static func failed(_ progress: UploadBatchProgress) -> String {
        progress.failed > 0 ? "\(progress.failed) failed" : ""
    }
}
