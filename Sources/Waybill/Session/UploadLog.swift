import Logging
import WaybillCore

/// What an upload writes to the log: static messages, facts as metadata, the id in every line. Nothing when the session
/// has no logger.
struct UploadLog: Sendable {
    private let logger: Logger?

    init(_ logger: Logger?, id: UploadID) {
        var logger = logger
        logger?[metadataKey: "upload"] = "\(id)"
        self.logger = logger
    }

    /// Phase, attempt or pause have changed, or nothing that is logged.
    func moved(from last: UploadSnapshot, to snapshot: UploadSnapshot) {
        guard let logger else { return }
        if snapshot.isPaused != last.isPaused, !snapshot.phase.isTerminal {
            let attempt: Logger.Metadata = ["attempt": "\(snapshot.attempt)"]
            if snapshot.isPaused {
                logger.debug("upload paused", metadata: attempt)
            } else {
                logger.debug("upload resumed", metadata: attempt)
            }
        }
        guard snapshot.phase != last.phase || snapshot.attempt != last.attempt else { return }
        logger.trace(
            "upload moved",
            metadata: [
                "phase": "\(snapshot.phase)", "attempt": "\(snapshot.attempt)",
                "acknowledged": "\(snapshot.acknowledged)", "total": "\(snapshot.total.map(String.init) ?? "unknown")",
            ])
    }

    /// The attempt sends anew what a pause had stopped.
    func restarted(_ attempt: Int) {
        logger?.debug("upload starts anew after a pause", metadata: ["attempt": "\(attempt)"])
    }

    func ended(_ end: TransferEnd, attempt: Int) {
        guard let logger else { return }
        var metadata: Logger.Metadata = [
            "attempt": "\(attempt)", "sent": "\(end.evidence.sent)", "acknowledged": "\(end.evidence.acknowledged)",
        ]
        switch end.result {
        case .success(let response): metadata["status"] = "\(response.head.status.code)"
        case .failure(let error): metadata["error"] = "\(Redaction.escaped(error.description))"
        }
        logger.debug("attempt ended", metadata: metadata)
    }

    func finished(_ result: Result<UploadResponse, UploadError>) {
        switch result {
        case .success(let response):
            logger?.debug("upload succeeded", metadata: ["status": "\(response.status.code)"])
        case .failure(let error):
            logger?.debug("upload ended in an error", metadata: ["error": "\(error)"])
        }
    }
}
