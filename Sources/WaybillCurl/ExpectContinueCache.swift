/// Remembers how servers handle `Expect: 100-continue` (RFC 9110 section 10.1.1).
///
/// The expectation saves sending a body that the server rejects. A server that ignores it delays every large upload by
/// the wait, and a server that rejects it costs a round trip, so it is not sent to such a server again.
struct ExpectContinueCache {
    /// The reaction of a server to the expectation.
    enum Reaction: Hashable {
        /// It responded with `100`, or immediately with a final status.
        case supported
        /// The wait expired and the body was sent anyway.
        case ignored
        /// It responded with 417.
        case rejected
    }

    /// Sufficient for the servers of one program; the oldest entry is removed first.
    static let capacity = 256

    private var reactions: [String: Reaction] = [:]
    private var order: [String] = []

    /// Returns whether to send the expectation to this origin.
    func mayExpectContinue(_ origin: String) -> Bool {
        switch reactions[origin] {
        case nil, .supported: true
        case .ignored, .rejected: false
        }
    }

    mutating func record(_ reaction: Reaction, for origin: String) {
        if reactions.updateValue(reaction, forKey: origin) == nil { order.append(origin) }
        if order.count > Self.capacity { reactions[order.removeFirst()] = nil }
    }
}
