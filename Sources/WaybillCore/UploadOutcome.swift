package import HTTPTypes

/// Whether the server may have acted on an upload that did not succeed.
public enum UploadOutcome: Sendable, Hashable {
    /// No byte of the request was acknowledged, and the body was not sent completely or was sent on a connection that
    /// was already dead. The server did not receive the request.
    case notSent
    /// Fewer body bytes than announced were sent, so a conforming server cannot have acted (RFC 9112 section 8).
    case incomplete(acknowledged: Int64)
    /// The server rejected the request. The error contains the response.
    case rejected
    /// The whole body was sent, and no complete response arrived, or the response does not say whether the server
    /// acted: 408, 500, 502, 504. Check whether the server stored the upload before you send it again.
    case unknown
    /// The server has acted on the upload, and its response was lost. It may have been a success or a rejection. Only
    /// resumable uploads can determine this. Look up the result at the server; do not send the upload again.
    case processed
}

extension UploadOutcome {
    /// Determines the outcome of an attempt that did not succeed. Every transport and the upload state machine use this
    /// table; the first matching row applies.
    ///
    /// | Response | Request acknowledged | Whole body handed to the kernel | Outcome |
    /// | --- | --- | --- | --- |
    /// | none | no | no | `notSent` |
    /// | none | no | yes, on a reused connection | `notSent` |
    /// | none | no | yes | `unknown` |
    /// | none | yes | no | `incomplete` |
    /// | none | yes | yes | `unknown` |
    /// | 2xx | any | any | `unknown` |
    /// | cut short, 408, or 5xx that does not refuse the request | any | no | `rejected` |
    /// | cut short, 408, or 5xx that does not refuse the request | any | yes | `unknown` |
    /// | another | any | any | `rejected` |
    ///
    /// - The outcome never depends on the transport's error alone: a connection can break before the first byte or
    ///   after the last.
    /// - An acknowledgement may be in flight when a reset arrives, so a completely sent body counts even without one.
    ///   If a reused connection acknowledged nothing of a body, it was dead before the request was sent
    ///   (Docs/Decisions/0003).
    /// - A 2xx response that was not accepted was read only in part or was rejected by the caller; the server has
    ///   acted.
    /// - A gateway sends 502 or 504 when it lost the server to which it had forwarded the request, and 500 does not say
    ///   how much work was done before the failure (RFC 9110 section 15.6). 503 and 429 state that the request was not
    ///   processed.
    ///
    /// - Parameters:
    ///   - evidence: The counters of the attempt.
    ///   - status: The status of the final response whose head was read; `nil` if it is not known.
    ///   - isResponseComplete: Whether the whole response was read.
    package init(
        of evidence: TransferCounters, status: HTTPResponse.Status? = nil, isResponseComplete: Bool = false
    ) {
        guard evidence.sawResponseHead else {
            let isAcknowledged = evidence.requestAcknowledged || evidence.acknowledged > 0
            let wasDead = !isAcknowledged && evidence.isConnectionReused && evidence.sent > 0
            switch (isAcknowledged, evidence.isBodyComplete) {
            case (false, false): self = .notSent
            case (true, false): self = .incomplete(acknowledged: evidence.acknowledged)
            case (_, true): self = wasDead ? .notSent : .unknown
            }
            return
        }
        guard let status, status.code >= 300 else {
            self = .unknown
            return
        }
        let mayHaveActed =
            !isResponseComplete || status.code == 408
            || 500...599 ~= status.code && !Self.refusals.contains(status.code)
        self = mayHaveActed && evidence.isBodyComplete ? .unknown : .rejected
    }

    /// The 5xx codes of the IANA registry that state that the request was not carried out.
    private static let refusals: Set<Int> = [501, 503, 505, 506, 507, 508, 510, 511]

    /// Whether the server has acted, or may have.
    package var mayHaveActed: Bool { self == .unknown || self == .processed }

    /// Returns the less certain of two outcomes.
    package func lessCertain(than other: UploadOutcome) -> UploadOutcome {
        if case .incomplete(let mine) = self, case .incomplete(let theirs) = other {
            return .incomplete(acknowledged: max(mine, theirs))
        }
        return uncertainty >= other.uncertainty ? self : other
    }

    /// The rank of the outcome among those of several attempts; that of the upload is the highest. An attempt on which
    /// the server has acted determines the outcome of the upload.
    package var uncertainty: Int {
        switch self {
        case .notSent: 0
        case .incomplete: 1
        case .rejected: 2
        case .unknown: 3
        case .processed: 4
        }
    }
}

extension HTTPRequest.Method {
    /// Whether a second request has no further effect (RFC 9110 section 9.2.2).
    package var isIdempotent: Bool { [.get, .head, .options, .trace, .put, .delete].contains(self) }
}
