import Logging
import WaybillCore

/// Reports the progress of an upload as log messages and events.
///
/// Log messages are static, with details and the ID as metadata; there are none if the session has no logger. Events
/// are created only if there is a listener.
struct UploadLog: Sendable {
    private let logger: Logger?
    private let id: UploadID
    private let events: EventHub
    private let stopwatch: Stopwatch

    init(_ logger: Logger?, id: UploadID, events: EventHub, stopwatch: Stopwatch) {
        var logger = logger
        logger?[metadataKey: "upload"] = "\(id)"
        self.logger = logger
        self.id = id
        self.events = events
        self.stopwatch = stopwatch
    }

    private func send(_ attempt: Int, _ kind: () -> UploadEvent.Kind) {
        events.send(for: id) { UploadEvent(id: id, attempt: attempt, elapsed: stopwatch.elapsed, kind: kind()) }
    }

    /// Reports changes of phase, attempt or pause state. Other changes are not logged.
    func snapshotChanged(from last: UploadSnapshot, to snapshot: UploadSnapshot) {
        if snapshot.isPaused != last.isPaused, !snapshot.phase.isTerminal {
            let attempt: Logger.Metadata = ["attempt": "\(snapshot.attempt)"]
            send(snapshot.attempt) { snapshot.isPaused ? .paused : .resumed }
            if snapshot.isPaused {
                logger?.debug("upload paused", metadata: attempt)
            } else {
                logger?.debug("upload resumed", metadata: attempt)
            }
        }
        guard snapshot.phase != last.phase || snapshot.attempt != last.attempt else { return }
        logger?.trace(
            "upload phase changed",
            metadata: [
                "phase": "\(snapshot.phase)", "attempt": "\(snapshot.attempt)",
                "acknowledged": "\(snapshot.acknowledged)", "total": "\(snapshot.total.map(String.init) ?? "unknown")",
            ])
        switch snapshot.phase {
        case .preparing where last.phase != .preparing: send(snapshot.attempt) { .preparing }
        case .queued: send(snapshot.attempt) { .queued }
        default: break
        }
    }

    func queued() {
        send(1) { .queued }
    }

    func started(_ request: TransferRequest, attempt: Int) {
        send(attempt) { .attemptStarted(request.method) }
    }

    func transfer(_ event: TransferEvent, attempt: Int) {
        switch event {
        case .connected(let connection): send(attempt) { .connected(connection) }
        case .responseHead(let head): send(attempt) { .responseHead(head.status) }
        case .progress, .bodyAcknowledged, .interimHead, .stored, .ended: break
        }
    }

    /// Reports that an attempt which was stopped by a pause is started again.
    func restarted(_ attempt: Int) {
        send(attempt) { .restarted }
        logger?.debug("upload restarted after a pause", metadata: ["attempt": "\(attempt)"])
    }

    /// Reports the end of an attempt.
    ///
    /// - Returns: Its reason, for the event of a retry; `nil` if events have no listener.
    func ended(_ end: TransferEnd, attempt: Int) -> String? {
        let hasListeners = events.hasListeners(for: id)
        if hasListeners { send(attempt) { .attemptEnded(UploadEvent.AttemptEnd(end)) } }
        if let logger { logEnd(end, attempt, to: logger) }
        return hasListeners ? Self.reason(of: end) : nil
    }

    private func logEnd(_ end: TransferEnd, _ attempt: Int, to logger: Logger) {
        var metadata: Logger.Metadata = [
            "attempt": "\(attempt)", "sent": "\(end.evidence.sent)", "acknowledged": "\(end.evidence.acknowledged)",
        ]
        switch end.result {
        case .success(let response): metadata["status"] = "\(response.head.status.code)"
        case .failure(let error): metadata["error"] = "\(Redaction.escaped(error.description))"
        }
        if let objection = end.validationFailure { metadata["error"] = "\(Redaction.escaped(objection.words))" }
        logger.debug("attempt ended", metadata: metadata)
    }

    func redirected(to url: String, attempt: Int) {
        send(attempt) { .redirected(to: Redaction.url(url)) }
    }

    func refreshing(attempt: Int) {
        send(attempt) { .refreshingCredential }
    }

    func retrying(after delay: Duration, reason: String, attempt: Int) {
        send(attempt) { .retrying(after: delay, reason: reason) }
    }

    func finished(_ result: Result<UploadResponse, UploadError>) {
        switch result {
        case .success(let response):
            logger?.debug("upload succeeded", metadata: ["status": "\(response.status.code)"])
        case .failure(let error):
            logger?.debug("upload failed", metadata: ["error": "\(error)"])
        }
        events.send(for: id) { end(result) }
        events.end(id)
    }

    /// Returns the event of a result.
    func end(_ result: Result<UploadResponse, UploadError>) -> UploadEvent {
        let end: UploadEvent.UploadEnd
        let attempt: Int
        switch result {
        case .success(let response):
            attempt = max(1, response.attempts.count)
            end = UploadEvent.UploadEnd(status: response.status, attempts: response.attempts)
        case .failure(let error):
            attempt = error.attempt
            end = UploadEvent.UploadEnd(
                status: error.response?.status, code: error.code, outcome: error.outcome, attempts: error.attempts)
        }
        return UploadEvent(id: id, attempt: attempt, elapsed: stopwatch.elapsed, kind: .ended(end))
    }

    private static func reason(of end: TransferEnd) -> String {
        switch end.result {
        case .failure(let error): return Redaction.escaped(error.message)
        case .success(let response):
            let words = Redaction.escaped("\(response.head.status.code) \(response.head.status.reasonPhrase)")
            return end.validationFailure.map { "\(words.sentence) \($0.words)" } ?? words
        }
    }
}

extension UploadEvent.AttemptEnd {
    init(_ end: TransferEnd) {
        sent = end.evidence.sent
        acknowledged = end.evidence.acknowledged
        metrics = end.metrics
        switch end.result {
        case .success(let response): status = response.head.status
        case .failure(let error):
            status = error.status
            code = UploadError.Code(error.code.description)
        }
        if let objection = end.validationFailure { code = objection.uploadCode }
    }
}
