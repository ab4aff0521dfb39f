import WaybillCore

/// What all items of a lane have in common: whether its server can be asked now. Pure; times are milliseconds since 1970.
package struct LaneLife: Sendable, Hashable, Codable {
    /// Why its server takes nothing: an expired credential, a certificate. From time to time one item is tried, until one gets
    /// through.
    package var blocked: String?
    /// Nothing is sent before this time.
    package var restsUntil: Int64 = 0
    /// How often in a row no server was reached, or the lane was blocked.
    package var failures = 0
    /// How many items in a row the server has forbidden.
    package var refusals = 0

    package init() {}

    package enum Event: Sendable, Hashable, Codable {
        /// The server answered.
        case answered
        /// It asked to be left alone for so long.
        case rest(Int64)
        /// Nobody was reached. With a random number in 0...1.
        case offline(jitter: Double)
        /// It takes nothing as things are. With a random number in 0...1.
        case block(String, jitter: Double)
        /// It has forbidden an item, which may be the item's fault. With a random number in 0...1.
        case forbidden(String, jitter: Double)
        /// Somebody did something about it.
        case unblock
    }

    package mutating func handle(_ event: Event, at now: Int64) {
        switch event {
        case .answered:
            (failures, refusals) = (0, 0)
            if blocked != nil { (blocked, restsUntil) = (nil, 0) }
        case .rest(let wait): rest(wait, now)
        case .offline(let jitter): failed(Backoff(from: .seconds(1), to: .seconds(60)), jitter, now)
        case .block(let reason, let jitter): block(reason, jitter, now)
        case .forbidden(let reason, let jitter):
            refusals = min(refusals + 1, Self.refusalsInARow)
            if refusals == Self.refusalsInARow { block(reason, jitter, now) }
        case .unblock: self = LaneLife()
        }
    }

    package func isOpen(_ now: Int64) -> Bool { ItemLife.isDue(restsUntil, now) }

    /// How many items may be delivered at once now, of so many.
    package func room(_ now: Int64, slots: Int) -> Int {
        guard isOpen(now) else { return 0 }
        return blocked == nil ? slots : min(1, slots)
    }

    private mutating func block(_ reason: String, _ jitter: Double, _ now: Int64) {
        blocked = reason
        failed(Backoff(from: .seconds(30), to: .seconds(900)), jitter, now)
    }

    private mutating func failed(_ backoff: Backoff, _ jitter: Double, _ now: Int64) {
        failures = min(failures + 1, 30)
        let ceiling = backoff.time(after: failures).milliseconds
        // At least a quarter: a server that refuses immediately would be asked in a loop.
        rest(ceiling / 4 + Int64(Double(ceiling * 3 / 4) * min(max(jitter, 0), 1)), now)
    }

    private mutating func rest(_ wait: Int64, _ now: Int64) {
        let until = now + min(max(0, wait), 3_600_000)
        restsUntil = ItemLife.isDue(restsUntil, now) ? until : max(restsUntil, until)
    }

    private static let refusalsInARow = 5
}
