import HTTPTypes
package import WaybillCore

/// The evidence of one attempt: the summary of the transport at its end, combined with the events before. An incomplete
/// summary therefore cannot make the outcome more certain than it is.
package struct AttemptRecord: Sendable {
    package let number: Int
    package private(set) var evidence = TransferCounters()
    package private(set) var head: HTTPResponse?
    package private(set) var accuracy: ProgressAccuracy = .exact
    package private(set) var isConnected = false
    package private(set) var isBodyAcknowledged = false
    private var isConnectionFresh = false

    /// Creates the record of an attempt that begins after the bytes that the server has confirmed.
    package init(number: Int, from confirmed: Int64 = 0) {
        self.number = number
        evidence.sent = confirmed
        evidence.acknowledged = confirmed
    }

    /// Records an event. Counts never decrease.
    package mutating func add(_ event: TransferEvent, total: Int64?) {
        switch event {
        case .connected(let connection):
            isConnected = true
            isConnectionFresh = !connection.isReused
        case .progress(let progress):
            isConnected = true
            evidence.sent = max(evidence.sent, progress.sent, progress.acknowledged)
            evidence.acknowledged = max(evidence.acknowledged, progress.acknowledged)
            if evidence.acknowledged > 0 { evidence.requestAcknowledged = true }
            if let total, evidence.sent >= total, total > 0 { evidence.isBodyComplete = true }
            accuracy = progress.accuracy
        case .bodyAcknowledged:
            isConnected = true
            isBodyAcknowledged = true
            evidence.isBodyComplete = true
            evidence.requestAcknowledged = true
            if let total { raise(sent: total, acknowledged: total) }
        case .interimHead: isConnected = true
        case .stored(let stored):
            if stored.isConfirmed { raise(sent: stored.bytes, acknowledged: stored.bytes) }
        case .responseHead(let head):
            isConnected = true
            self.head = head
            evidence.sawResponseHead = true
            evidence.requestAcknowledged = true
        case .ended(let end):
            merge(end)
        }
    }

    private mutating func merge(_ end: TransferEnd) {
        raise(sent: end.evidence.sent, acknowledged: end.evidence.acknowledged)
        evidence.announced = end.evidence.announced
        evidence.isBodyComplete = evidence.isBodyComplete || end.evidence.isBodyComplete
        evidence.sawResponseHead = evidence.sawResponseHead || end.evidence.sawResponseHead
        evidence.isConnectionReused = end.evidence.isConnectionReused && !isConnectionFresh
        evidence.requestAcknowledged =
            evidence.requestAcknowledged || end.evidence.requestAcknowledged || evidence.acknowledged > 0
            || evidence.sawResponseHead
        if case .success(let response) = end.result {
            head = response.head
            evidence.sawResponseHead = true
            evidence.requestAcknowledged = true
        }
    }

    private mutating func raise(sent: Int64, acknowledged: Int64) {
        evidence.acknowledged = max(evidence.acknowledged, acknowledged)
        evidence.sent = max(evidence.sent, sent, evidence.acknowledged)
    }

    /// Returns the outcome of an attempt that ended with an error: the less certain one of the transport's outcome and
    /// the recorded evidence.
    package func outcome(of error: TransferError) -> UploadOutcome {
        UploadOutcome(of: evidence, status: head?.status ?? error.status).lessCertain(than: error.outcome)
    }
}
