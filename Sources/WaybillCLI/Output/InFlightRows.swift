import Waybill

/// One of several transfers: a part of a form, one of many files, or an item of an outbox.
struct TransferRow: Sendable, Hashable {
    /// The stage of a transfer.
    enum Stage: String, Sendable, Hashable, CaseIterable {
        /// The transfer is not started.
        case waiting
        /// An attempt failed, and the next one is pending.
        case retrying
        /// Bytes are being sent.
        case sending
        /// All bytes are sent, but not all are acknowledged.
        case sent
        /// The peer has acknowledged all bytes.
        case acknowledged
    }

    var name: String
    var stage: Stage
    var done: Int64
    var total: Int64?
    /// The pending retry.
    var retry: UploadRetry?

    /// Whether the transfer is running.
    var isMoving: Bool { stage == .sending || stage == .sent }
}

extension TransferRow {
    /// Returns the files of a form with several files. Parts are sent one after the other.
    static func parts(of progress: UploadProgress) -> [TransferRow] {
        guard [.sending, .awaitingResponse].contains(progress.phase) else { return [] }
        let files = progress.parts.filter { $0.fileName != nil }
        guard files.count > 1 else { return [] }
        let isAllSent = progress.total.map { progress.sent >= $0 } ?? false
        var isNext = true
        return files.map { part in
            let stage: Stage
            if part.acknowledged >= part.total, part.total > 0 || isNext {
                stage = .acknowledged
            } else {
                stage = isAllSent ? .sent : isNext ? .sending : .waiting
                isNext = false
            }
            return TransferRow(
                name: part.fileName.map { "\(part.name): \($0)" } ?? part.name, stage: stage, done: part.acknowledged,
                total: part.total)
        }
    }

    /// Creates a transfer from one of several uploads.
    init(_ name: String, _ progress: UploadProgress) {
        (self.name, done, total, retry) = (name, progress.acknowledged, progress.total, progress.retry)
        switch progress.phase {
        case .waiting, .preparing, .queued, .connecting: stage = .waiting
        case .retrying: stage = .retrying
        case .sending: stage = progress.total == progress.sent ? .sent : .sending
        case .awaitingResponse, .succeeded, .failed, .cancelled: stage = .acknowledged
        }
    }

    /// Creates a transfer from its byte counts.
    init(_ name: String, done: Int64, of total: Int64?, retry: UploadRetry? = nil) {
        (self.name, self.done, self.total, self.retry) = (name, done, total, retry)
        stage = retry != nil ? .retrying : done == 0 ? .waiting : done == total ? .acknowledged : .sending
    }
}

/// Formats a line for each transfer, to be shown above the bar, without side effects.
///
/// ```
///   front: IDFrontImage.jpg  acknowledged  98.2 of 98.2 KiB
///   back: IDBackImage.jpg    sending       31.0 of 97.4 KiB
/// ```
///
/// Every line is narrower than the terminal, and there are no more lines than fit above the bar. If there are more
/// transfers, the running ones are shown first, and the remaining ones are counted.
enum InFlightRows {
    /// The maximum number of lines, regardless of the terminal's height.
    static let maxCount = 8

    static func lines(_ transfers: [TransferRow], columns: Int, rows: Int) -> [String] {
        let limit = min(maxCount, rows - 2)
        guard limit > 1, !transfers.isEmpty else { return [] }
        var shown = transfers
        var rest = ""
        if transfers.count > limit {
            // In order, but select running transfers first, then retrying, waiting and finished ones.
            let ranked = transfers.indices.sorted { (rank(transfers[$0]), $0) < (rank(transfers[$1]), $1) }
            let chosen = Set(ranked.prefix(limit - 1))
            shown = transfers.indices.filter(chosen.contains).map { transfers[$0] }
            rest = counts(of: transfers.indices.filter { !chosen.contains($0) }.map { transfers[$0] })
        }
        let names = shown.map { Redaction.escaped($0.name) }
        let lineWidth = max(columns - 1, 1)
        let width = min(names.map(TerminalText.columns).max() ?? 0, max(8, lineWidth - 40))
        let lines = zip(shown, names).map { transfer, name in line(transfer, name, width: width, lineWidth: lineWidth) }
        return rest.isEmpty ? lines : lines + [TerminalText.fitted("  and \(rest)", to: lineWidth)]
    }

    private static func line(_ transfer: TransferRow, _ name: String, width: Int, lineWidth: Int) -> String {
        let fitted = TerminalText.fitted(name, to: width)
        let padded = fitted + String(repeating: " ", count: max(0, width - TerminalText.columns(of: fitted)))
        if let retry = transfer.retry {
            return TerminalText.fitted("  \(padded)  \(RetryText.text(retry))", to: lineWidth)
        }
        let stage = transfer.stage.rawValue
        let short = "  \(padded)  \(stage)"
        let bytes = Figures.bytes(transfer.done, of: transfer.total)
        let full = short + String(repeating: " ", count: max(0, 12 - stage.utf8.count)) + "  \(bytes)"
        return TerminalText.fitted(TerminalText.columns(of: full) <= lineWidth ? full : short, to: lineWidth)
    }

    private static func rank(_ transfer: TransferRow) -> Int {
        switch transfer.stage {
        case .sending, .sent: 0
        case .retrying: 1
        case .waiting: 2
        case .acknowledged: 3
        }
    }

    /// Returns the number of transfers by stage: `2 acknowledged, 12 waiting`.
    private static func counts(of transfers: [TransferRow]) -> String {
        Figures.counts(
            TransferRow.Stage.allCases.reversed().map { stage in
                (transfers.count(where: { $0.stage == stage }), stage.rawValue)
            })
    }
}
