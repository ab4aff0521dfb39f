import WaybillCore

/// The state shared by all items of a lane: whether its server can be contacted now. Performs no I/O; times are
/// milliseconds since 1970.
package struct LaneLife: Sendable, Hashable, Codable {
    /// The reason why the server accepts no items: an expired credential, an untrusted certificate. One item is sent as
    /// a probe from time to time until one succeeds.
    package var blocked: String?
    /// The time until which nothing is sent.
    package var suspendedUntil: Int64 = 0
    /// The number of consecutive failures to reach a server, or of consecutive blocks.
    package var failures = 0
    /// The number of consecutive items that the server has refused with 403.
    package var refusals = 0
    /// The limit on starts within a period.
    package var rate: LaneRate?
    /// The time at which all starts of ``rate`` are available again, in microseconds since 1970.
    package var bucketFullAt: Int64?
    /// The limit on items in progress, of all workers together.
    package var maxRunning: Int?

    /// The coding keys of release 0.1, which are used between processes.
    private enum CodingKeys: String, CodingKey {
        case blocked, failures, refusals, rate, bucketFullAt, maxRunning
        case suspendedUntil = "restsUntil"
    }

    package init() {}

    package enum Event: Sendable, Hashable, Codable {
        /// The server responded.
        case responded
        /// The server requested a delay of this many milliseconds.
        case suspend(Int64)
        /// No server was reached. With a random number in 0...1.
        case offline(jitter: Double)
        /// The server accepts no items under the current conditions. With a random number in 0...1.
        case block(String, jitter: Double)
        /// The server responded with 403 to an item, which may be specific to that item. With a random number in 0...1.
        case forbidden(String, jitter: Double)
        /// The caller unblocked the lane.
        case unblock
        /// A worker has started: a blocked lane is tried with one item.
        case probe
        /// Items were leased.
        case started(Int)
        /// The caller limited the rate, or removed the limit.
        case setRate(LaneRate?)
        /// The caller limited the number of items in progress, or removed the limit.
        case setMaxRunning(Int?)
    }

    package mutating func handle(_ event: Event, at now: Int64) {
        switch event {
        case .responded:
            (failures, refusals) = (0, 0)
            if blocked != nil { (blocked, suspendedUntil) = (nil, 0) }
        case .suspend(let wait): suspend(wait, now)
        case .offline(let jitter): failed(Backoff(from: .seconds(1), to: .seconds(60)), jitter, now)
        case .block(let reason, let jitter): block(reason, jitter, now)
        case .forbidden(let reason, let jitter):
            refusals = min(refusals + 1, Self.maxRefusals)
            if refusals == Self.maxRefusals { block(reason, jitter, now) }
        case .probe: if blocked != nil { suspendedUntil = 0 }
        case .unblock:
            let (rate, bucketFullAt, maxRunning) = (rate, bucketFullAt, maxRunning)
            self = LaneLife()
            (self.rate, self.bucketFullAt, self.maxRunning) = (rate, bucketFullAt, maxRunning)
        case .started(let count): spend(count, now)
        case .setRate(let rate):
            self.rate = rate
            if rate == nil { bucketFullAt = nil }
        case .setMaxRunning(let limit): maxRunning = limit.map { min(max($0, 1), 1_000_000) }
        }
    }

    package func isOpen(_ now: Int64) -> Bool { ItemLife.isDue(suspendedUntil, now) }

    /// Returns the number of items that may be delivered concurrently at a time, of the configured slots.
    package func availableSlots(_ now: Int64, of slots: Int) -> Int {
        guard isOpen(now) else { return 0 }
        return blocked == nil ? slots : min(1, slots)
    }

    /// Returns the number of items that may start according to ``maxRunning``; negative if more are in progress.
    package func availableSlots(running: Int) -> Int { maxRunning.map { $0 - running } ?? .max }

    private mutating func block(_ reason: String, _ jitter: Double, _ now: Int64) {
        blocked = reason
        failed(Backoff(from: .seconds(30), to: .seconds(900)), jitter, now)
    }

    private mutating func failed(_ backoff: Backoff, _ jitter: Double, _ now: Int64) {
        failures = min(failures + 1, 30)
        let ceiling = backoff.delay(after: failures).milliseconds
        // At least a quarter: a server that refuses immediately would otherwise be contacted in a loop.
        suspend(ceiling / 4 + Int64(Double(ceiling * 3 / 4) * min(max(jitter, 0), 1)), now)
    }

    private mutating func suspend(_ wait: Int64, _ now: Int64) {
        let until = now + min(max(0, wait), 3_600_000)
        suspendedUntil = ItemLife.isDue(suspendedUntil, now) ? until : max(suspendedUntil, until)
    }

    private static let maxRefusals = 5
}
