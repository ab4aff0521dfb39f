import Logging
import TestSupport
import Waybill

/// All events of an upload in order, with the time since its start. A failing row prints them.
final class FaultLog: Sendable {
    struct Entries: Sendable {
        var lines: [String] = []
        var completions = 0
        var terminalSnapshots = 0
        /// How often the log reported the end of an attempt, or of the upload.
        var attemptEnds = 0
        var uploadEnds = 0
        /// The time of the last snapshot with more bytes or another phase.
        var lastMove: ContinuousClock.Instant
        var endedAt: ContinuousClock.Instant?
        var position: [String] = []
    }

    let start: ContinuousClock.Instant
    private let storage: Watched<Entries>

    init() {
        start = .now
        storage = Watched(Entries(lastMove: start))
    }

    var entries: Entries { storage.value }
    var text: String { entries.lines.map { "\n  \($0)" }.joined() }

    func note(_ line: String, _ change: (inout Entries) -> Void = { _ in }) {
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        storage.update { entries in
            entries.lines.append("\(Int(milliseconds)) ms  \(line)")
            change(&entries)
        }
    }

    func completed(_ result: Result<UploadResponse, UploadError>) {
        note("completion: \(result)") { $0.completions += 1 }
    }

    func saw(_ progress: UploadProgress) {
        let position = "sent \(progress.sent), acknowledged \(progress.acknowledged)"
        note("progress: \(progress.phase), \(position)") { entries in
            guard !progress.phase.isTerminal else { return entries.terminalSnapshots += 1 }
            let position = ["\(progress.phase)", position]
            if position != entries.position { entries.lastMove = .now }
            entries.position = position
        }
    }

    /// Waits for the completion. The session guarantees that it is called after all other events.
    func waitForCompletion() async throws { try await storage.waitUntil { $0.completions > 0 } }

    var logger: Logger {
        var logger = Logger(label: "faults") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: FaultLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            log.note("log: \(event.message) \(facts.joined(separator: " "))") { entries in
                if event.message == "attempt ended" {
                    entries.attemptEnds += 1
                    entries.endedAt = .now
                }
                if event.message.description.hasPrefix("upload succeeded")
                    || event.message.description.hasPrefix("upload failed")
                {
                    entries.uploadEnds += 1
                }
            }
        }
    }
}
