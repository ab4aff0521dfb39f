/// What may be believed about an upload that did not succeed.
///
/// It answers the one question that decides what to do next: *may the server have acted on it?*
public enum UploadOutcome: Sendable, Hashable {
    /// No byte of the request was acknowledged. The server knows nothing of it.
    case notSent
    /// Fewer body bytes than announced ever left, so a conforming server cannot have acted (RFC 9112 section 8).
    case incomplete(acknowledged: Int64)
    /// The server answered, and the answer was no. The response is in the error.
    case rejected
    /// Everything was handed over and no complete answer came. The server may have stored it; look before you send it
    /// again.
    case unknown
}
