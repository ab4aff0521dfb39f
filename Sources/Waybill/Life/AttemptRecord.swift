import HTTPTypes
package import WaybillCore

/// What was seen of one attempt while it ran, and what may be concluded from it.
///
/// The transport sums up its evidence at the end; what it reported on the way counts as well, so that a sum that forgot
/// something can't make the outcome look more certain than it is.
package struct AttemptRecord: Sendable {
    package let number: Int
    package private(set) var evidence = TransferEvidence()
    package private(set) var head: HTTPResponse?
    package private(set) var accuracy: ProgressAccuracy = .exact
    package private(set) var isConnected = false
    package private(set) var isBodyAcknowledged = false

    package init(number: Int) {
        self.number = number
    }

    /// Takes in an event. Counts never go back.
    package mutating func see(_ event: TransferEvent, total: Int64?) {
        switch event {
        case .connected:
            isConnected = true
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
        case .responseHead(let head):
            isConnected = true
            self.head = head
            evidence.sawResponseHead = true
            evidence.requestAcknowledged = true
        case .ended(let end):
            absorb(end)
        }
    }

    private mutating func absorb(_ end: TransferEnd) {
        raise(sent: end.evidence.sent, acknowledged: end.evidence.acknowledged)
        evidence.announced = end.evidence.announced
        evidence.isBodyComplete = evidence.isBodyComplete || end.evidence.isBodyComplete
        evidence.sawResponseHead = evidence.sawResponseHead || end.evidence.sawResponseHead
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

    /// What may be believed of a failed attempt: the less certain of the transport's claim and of what was seen.
    package func outcome(claimed: UploadOutcome?, status: HTTPResponse.Status?) -> UploadOutcome {
        let seen = UploadOutcome(seen: evidence, status: head?.status ?? status)
        return claimed.map { seen.lessCertain(than: $0) } ?? seen
    }
}

extension UploadOutcome {
    /// The most that may be believed on this evidence.
    package init(seen evidence: TransferEvidence, status: HTTPResponse.Status?) {
        if evidence.sawResponseHead {
            self = status.map { UploadOutcome(status: $0, isBodyComplete: evidence.isBodyComplete) } ?? .unknown
        } else if !evidence.requestAcknowledged && evidence.acknowledged == 0 {
            self = .notSent
        } else if !evidence.isBodyComplete {
            self = .incomplete(acknowledged: evidence.acknowledged)
        } else {
            self = .unknown
        }
    }

    /// The one of the two that promises less.
    package func lessCertain(than other: UploadOutcome) -> UploadOutcome {
        if case .incomplete(let mine) = self, case .incomplete(let theirs) = other {
            return .incomplete(acknowledged: max(mine, theirs))
        }
        return uncertainty >= other.uncertainty ? self : other
    }

    /// 0 for the most certain.
    package var uncertainty: Int {
        switch self {
        case .notSent: 0
        case .incomplete: 1
        case .rejected: 2
        case .unknown: 3
        }
    }
}
