import HTTPTypes
import WaybillCore

@testable import Waybill

/// The facts seen over all attempts, and the outcomes that they rule out.
struct OutcomeBounds {
    private var isAnythingAcknowledged = false
    private var mostAcknowledged: Int64 = 0
    private var wasWholeBodySent = false
    private var wasRejected = false
    private var wasAccepted = false
    /// A response after the whole body does not say whether the server acted.
    private var isInconclusive = false
    private var leastCertainClaim = 0
    private(set) var isCurrentWhole = false
    /// Whether a byte of the body was sent in this attempt, and whether its connection was new.
    private var hasCurrentSent = false
    private var isCurrentFresh = false

    /// Whether the server may have acted, by the strictest interpretation: a whole body was sent and was not
    /// rejected.
    private(set) var mayBeStored = false

    private var hasServerActed = false

    /// The server redirected to the result: it has acted.
    mutating func serverActed() {
        hasServerActed = true
    }

    mutating func begin() {
        (isCurrentWhole, hasCurrentSent, isCurrentFresh) = (false, false, false)
    }

    mutating func record(_ event: TransferEvent) {
        switch event {
        case .connected(let connection): isCurrentFresh = !connection.isReused
        case .progress(let progress):
            hasCurrentSent = hasCurrentSent || progress.sent > 0 || progress.acknowledged > 0
            recordAcknowledged(progress.acknowledged)
        case .bodyAcknowledged:
            isAnythingAcknowledged = true
            isCurrentWhole = true
        case .interimHead, .stored: break
        case .responseHead(let head): recordStatus(head.status)
        case .ended(let end):
            recordAcknowledged(end.evidence.acknowledged)
            isAnythingAcknowledged =
                isAnythingAcknowledged || end.evidence.requestAcknowledged || end.evidence.sawResponseHead
            isCurrentWhole = isCurrentWhole || end.evidence.isBodyComplete
            switch end.result {
            case .success(let response):
                recordStatus(response.head.status)
                if isCurrentWhole, [408, 500, 502, 504].contains(response.head.status.code) {
                    isInconclusive = true
                    mayBeStored = true
                }
                switch end.validationFailure?.kind {
                case .rejected, .credentialExpired, .retry: wasRejected = true
                case .unreadable, .cancelled: leastCertainClaim = 3
                case nil: break
                }
            case .failure(let error):
                leastCertainClaim = max(leastCertainClaim, error.outcome.uncertainty)
                if error.outcome == .unknown { mayBeStored = true }
                // Only on a reused connection that acknowledged none of the request can a whole body be lost
                // completely.
                let evidence = end.evidence
                let isDead =
                    evidence.isConnectionReused && !isCurrentFresh && (hasCurrentSent || evidence.sent > 0)
                    && !evidence.requestAcknowledged
                if isCurrentWhole, !isDead { wasWholeBodySent = true }
            }
        }
    }

    private mutating func recordAcknowledged(_ count: Int64) {
        mostAcknowledged = max(mostAcknowledged, count)
        isAnythingAcknowledged = isAnythingAcknowledged || count > 0
    }

    private mutating func recordStatus(_ status: HTTPResponse.Status) {
        isAnythingAcknowledged = true
        if status.code >= 300 { wasRejected = true } else { wasAccepted = true }
    }

    func violation(of outcome: UploadOutcome) -> String? {
        if outcome.uncertainty < leastCertainClaim { return "\(outcome) although the transport claimed less certainty" }
        if hasServerActed, outcome != .unknown { return "\(outcome) although the server had acted" }
        switch outcome {
        case .notSent:
            if wasWholeBodySent { return "notSent although the whole body was sent" }
            return isAnythingAcknowledged ? "notSent although bytes were acknowledged" : nil
        case .incomplete(let acknowledged):
            if wasRejected || wasAccepted { return "incomplete although a response was received" }
            if wasWholeBodySent { return "incomplete although the whole body was sent" }
            return acknowledged < mostAcknowledged ? "incomplete(\(acknowledged)) of \(mostAcknowledged)" : nil
        case .rejected:
            if isInconclusive { return "rejected although the server may have acted" }
            return wasRejected ? nil : "rejected without a response"
        case .unknown: return nil
        case .processed: return "processed, which only resumable uploads can determine"
        }
    }
}
