package import HTTPTypes

/// Whether the server may have acted on an upload that did not succeed.
public enum UploadOutcome: Sendable, Hashable {
    /// No byte of the request was acknowledged, and its body did not leave as a whole or left on a connection that had died
    /// before. The server knows nothing of it.
    case notSent
    /// Fewer body bytes than announced ever left, so a conforming server cannot have acted (RFC 9112 section 8).
    case incomplete(acknowledged: Int64)
    /// The server refused the request. The response is in the error.
    case rejected
    /// The whole body was sent, and no complete response arrived, or one that does not say whether the server acted: 408, 500,
    /// 502, 504. Check whether the server stored it before you send it again.
    case unknown
}

extension UploadOutcome {
    /// The outcome of an attempt that did not succeed. Every transport and the life of an upload use this table; the first
    /// row that fits applies.
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
    /// - The outcome never depends on the transport's error alone: a connection can break before the first byte and after
    ///   the last.
    /// - An acknowledgement may still be on its way when a reset arrives, so a whole body counts even without one. On a reused
    ///   connection that acknowledged nothing of a body, the connection had died before the request (Docs/Decisions/0003).
    /// - A 2xx that is not accepted was read only in part or was refused by the caller; the server has acted.
    /// - A gateway sends 502 or 504 when it lost the server that it had forwarded the request to, and 500 says nothing of
    ///   the work that was done before the failure (RFC 9110 section 15.6). 503 and 429 say that the request was not
    ///   processed.
    ///
    /// - Parameters:
    ///   - evidence: What was seen of the attempt.
    ///   - status: The status of the final response whose head was seen; `nil` if it is not known.
    ///   - isResponseComplete: Whether the whole response was read.
    package init(
        of evidence: TransferEvidence, status: HTTPResponse.Status? = nil, isResponseComplete: Bool = false
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

    /// The 5xx codes of the IANA registry that say that the request was not carried out.
    private static let refusals: Set<Int> = [501, 503, 505, 506, 507, 508, 510, 511]

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

extension HTTPRequest.Method {
    /// Whether a second request has no further effect (RFC 9110 section 9.2.2).
    package var isIdempotent: Bool { [.get, .head, .options, .trace, .put, .delete].contains(self) }
}
