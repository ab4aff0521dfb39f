/// What all items of a lane have in common: whether its server can be asked now. Pure; times are milliseconds since 1970.
package struct LaneLife: Sendable, Hashable, Codable {
    /// Why nothing is sent until somebody does something about it: an expired credential, a certificate.
    package var blocked: String?
    /// Nothing is sent before this time.
    package var restsUntil: Int64 = 0
    /// How often in a row nobody was reached.
    package var failures = 0

    package init() {}

    package enum Event: Sendable, Hashable, Codable {
        /// The server answered.
        case answered
        /// It asked to be left alone for so long.
        case rest(Int64)
        /// Nobody was reached. With a random number in 0...1.
        case offline(jitter: Double)
        /// It will not take anything as things are.
        case block(String)
        /// Somebody did something about it.
        case unblock
    }

    package mutating func handle(_ event: Event, at now: Int64) {
        switch event {
        case .answered: failures = 0
        case .rest(let wait): rest(wait, now)
        case .offline(let jitter):
            failures = min(failures + 1, 30)
            let ceiling = min(Self.longestRest, Self.firstRest << min(failures - 1, 10))
            // Never nothing: a refusal comes at once, and asking again at once would be a loop.
            rest(ceiling / 4 + Int64(Double(ceiling * 3 / 4) * min(max(jitter, 0), 1)), now)
        case .block(let reason): blocked = reason
        case .unblock:
            blocked = nil
            restsUntil = 0
        }
    }

    package func isOpen(_ now: Int64) -> Bool { blocked == nil && ItemLife.isDue(restsUntil, now) }

    private mutating func rest(_ wait: Int64, _ now: Int64) {
        let until = now + min(max(0, wait), 3_600_000)
        restsUntil = ItemLife.isDue(restsUntil, now) ? until : max(restsUntil, until)
    }

    private static let firstRest: Int64 = 1_000
    private static let longestRest: Int64 = 60_000
}
