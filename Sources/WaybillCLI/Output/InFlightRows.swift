import Waybill

/// One of several transfers: a part of a form, one of many files, or an item of an outbox.
struct Flight: Sendable, Hashable {
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

extension Flight {
    /// Returns the files of a form with several files. Parts are sent one after the other.
    static func parts(of progress: UploadProgress) -> [Flight] {
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
            return Flight(
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
    static let most = 8

    static func texts(_ flights: [Flight], columns: Int, rows: Int) -> [String] {
        let limit = min(most, rows - 2)
        guard limit > 1, !flights.isEmpty else { return [] }
        var shown = flights
        var rest = ""
        if flights.count > limit {
            // In order, but select running transfers first, then retrying, waiting and finished ones.
            let ranked = flights.indices.sorted { (rank(flights[$0]), $0) < (rank(flights[$1]), $1) }
            let chosen = Set(ranked.prefix(limit - 1))
            shown = flights.indices.filter(chosen.contains).map { flights[$0] }
            rest = counts(of: flights.indices.filter { !chosen.contains($0) }.map { flights[$0] })
        }
        let names = shown.map { Redaction.escaped($0.name) }
        let room = max(columns - 1, 1)
        let width = min(names.map(TerminalText.columns).max() ?? 0, max(8, room - 40))
        let lines = zip(shown, names).map { flight, name in line(flight, name, width: width, room: room) }
        return rest.isEmpty ? lines : lines + [TerminalText.fitted("  and \(rest)", to: room)]
    }

    private static func line(_ flight: Flight, _ name: String, width: Int, room: Int) -> String {
        let fitted = TerminalText.fitted(name, to: width)
        let padded = fitted + String(repeating: " ", count: max(0, width - TerminalText.columns(of: fitted)))
        if let retry = flight.retry {
            return TerminalText.fitted("  \(padded)  \(RetryText.text(retry))", to: room)
        }
        let stage = flight.stage.rawValue
        let short = "  \(padded)  \(stage)"
        let bytes = Figures.bytes(flight.done, of: flight.total)
        let whole = short + String(repeating: " ", count: max(0, 12 - stage.utf8.count)) + "  \(bytes)"
        return TerminalText.fitted(TerminalText.columns(of: whole) <= room ? whole : short, to: room)
    }

    private static func rank(_ flight: Flight) -> Int {
        switch flight.stage {
        case .sending, .sent: 0
        case .retrying: 1
        case .waiting: 2
        case .acknowledged: 3
        }
    }

    /// Returns the number of transfers by stage: `2 acknowledged, 12 waiting`.
    private static func counts(of flights: [Flight]) -> String {
        Figures.counts(
            Flight.Stage.allCases.reversed().map { stage in
                (flights.count(where: { $0.stage == stage }), stage.rawValue)
            })
    }
}
