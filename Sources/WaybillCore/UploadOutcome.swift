package import HTTPTypes

/// What may be believed about an upload that did not succeed.
///
/// It answers the one question that decides what to do next: *may the server have acted on it?*
public enum UploadOutcome: Sendable, Hashable {
    /// No byte of the request was acknowledged. The server knows nothing of it.
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
    /// The outcome of a request with a response that is not accepted.
    ///
    /// | status | whole body sent | outcome |
    /// | --- | --- | --- |
    /// | 2xx | | `unknown`: the server has acted on it |
    /// | 408, 500, 502, 504, and 5xx without a meaning of its own | yes | `unknown`: it may have failed after it had acted |
    /// | 408, 5xx | no | `rejected` |
    /// | all others | | `rejected` |
    ///
    /// A gateway sends 502 or 504 when it lost the server that it had forwarded the request to, and 500 says nothing of the
    /// work that was done before the failure (RFC 9110 section 15.6). 503 and 429 say that the request was not processed.
    package init(status: HTTPResponse.Status, isBodyComplete: Bool) {
        switch status.code {
        case ..<300: self = .unknown
        case 408: self = isBodyComplete ? .unknown : .rejected
        case 500...599: self = isBodyComplete && !Self.refusals.contains(status.code) ? .unknown : .rejected
        default: self = .rejected
        }
    }

    /// 5xx codes of the IANA registry that say that the request was not carried out.
    private static let refusals: Set<Int> = [501, 503, 505, 506, 507, 508, 510, 511]
}

extension HTTPRequest.Method {
    /// Whether a second request has no further effect (RFC 9110 section 9.2.2).
    package var isIdempotent: Bool { [.get, .head, .options, .trace, .put, .delete].contains(self) }
}
