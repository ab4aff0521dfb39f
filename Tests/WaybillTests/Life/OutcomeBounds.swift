import HTTPTypes
import WaybillCore

@testable import Waybill

/// The facts seen over all attempts, and the outcomes that they rule out.
struct OutcomeBounds {
    private var anythingArrived = false
    private var mostAcknowledged: Int64 = 0
    private var wholeBodyLeft = false
    private var wasRefused = false
    private var wasPromisedYes = false
    /// A response after the whole body does not say whether the server acted.
    private var isLeftOpen = false
    private var worstClaim = 0
    private(set) var isCurrentWhole = false
    /// Whether a byte of the body was sent in this attempt, and whether its connection was new.
    private var hasCurrentSent = false
    private var isCurrentFresh = false

    /// Whether the server may have acted, by the strictest interpretation: a whole body was sent and was not
    /// rejected.
    private(set) var mayBeStored = false

    private var wasTaken = false

    /// The server redirected to the result: it has acted.
    mutating func serverActed() {
        wasTaken = true
    }

    mutating func begin() {
        (isCurrentWhole, hasCurrentSent, isCurrentFresh) = (false, false, false)
    }

    mutating func see(_ event: TransferEvent) {
        switch event {
        case .connected(let connection): isCurrentFresh = !connection.isReused
        case .progress(let progress):
            hasCurrentSent = hasCurrentSent || progress.sent > 0 || progress.acknowledged > 0
            arrived(progress.acknowledged)
        case .bodyAcknowledged:
            anythingArrived = true
            isCurrentWhole = true
        case .responseHead(let head): answered(head.status)
        case .ended(let end):
            arrived(end.evidence.acknowledged)
            anythingArrived = anythingArrived || end.evidence.requestAcknowledged || end.evidence.sawResponseHead
            isCurrentWhole = isCurrentWhole || end.evidence.isBodyComplete
            switch end.result {
            case .success(let response):
                answered(response.head.status)
                if isCurrentWhole, [408, 500, 502, 504].contains(response.head.status.code) {
                    isLeftOpen = true
                    mayBeStored = true
                }
                switch end.validationFailure?.kind {
                case .rejected, .credentialExpired, .retry: wasRefused = true
                case .unreadable, .cancelled: worstClaim = 3
                case nil: break
                }
            case .failure(let error):
                worstClaim = max(worstClaim, error.outcome.uncertainty)
                if error.outcome == .unknown { mayBeStored = true }
                // Only on a reused connection that acknowledged none of the request can a whole body be lost
                // completely.
                let evidence = end.evidence
                let isDead =
                    evidence.isConnectionReused && !isCurrentFresh && (hasCurrentSent || evidence.sent > 0)
                    && !evidence.requestAcknowledged
                if isCurrentWhole, !isDead { wholeBodyLeft = true }
            }
        }
    }

    private mutating func arrived(_ count: Int64) {
        mostAcknowledged = max(mostAcknowledged, count)
        anythingArrived = anythingArrived || count > 0
    }

    private mutating func answered(_ status: HTTPResponse.Status) {
        anythingArrived = true
        if status.code >= 300 { wasRefused = true } else { wasPromisedYes = true }
    }

    func objection(to outcome: UploadOutcome) -> String? {
        if outcome.uncertainty < worstClaim { return "\(outcome) though the transport claimed less certainty" }
        if wasTaken, outcome != .unknown { return "\(outcome) though the server had taken it" }
        switch outcome {
        case .notSent:
            if wholeBodyLeft { return "notSent though the whole body left" }
            return anythingArrived ? "notSent though something arrived" : nil
        case .incomplete(let acknowledged):
            if wasRefused || wasPromisedYes { return "incomplete though an answer came" }
            if wholeBodyLeft { return "incomplete though the whole body left" }
            return acknowledged < mostAcknowledged ? "incomplete(\(acknowledged)) of \(mostAcknowledged)" : nil
        case .rejected:
            if isLeftOpen { return "rejected though the server may have acted" }
            return wasRefused ? nil : "rejected without an answer"
        case .unknown: return nil
        }
    }
}
