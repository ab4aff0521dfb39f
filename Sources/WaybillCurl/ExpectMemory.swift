/// What is known of servers and `Expect: 100-continue` (RFC 9110 section 10.1.1).
///
/// The question saves a body when a server says no. A server that ignores it costs every large upload the wait, and one
/// that refuses it a round trip, so each is asked once and then no more.
struct ExpectMemory {
    /// What a server did when it was asked.
    enum Experience: Hashable {
        /// It answered: `100`, or at once with a final status.
        case answered
        /// The wait ran out and the body went all the same.
        case ignored
        /// 417.
        case refused
    }

    /// Enough for a program's servers; the oldest is forgotten first.
    static let capacity = 256

    private var experiences: [String: Experience] = [:]
    private var order: [String] = []

    /// Whether asking this origin is worth it.
    func isWorthAsking(_ origin: String) -> Bool {
        switch experiences[origin] {
        case nil, .answered: true
        case .ignored, .refused: false
        }
    }

    mutating func learn(_ experience: Experience, of origin: String) {
        if experiences.updateValue(experience, forKey: origin) == nil { order.append(origin) }
        if order.count > Self.capacity { experiences[order.removeFirst()] = nil }
    }
}
