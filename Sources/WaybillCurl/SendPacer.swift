import WaybillCore

/// How fast a body may leave: so many bytes per second, in about eight pieces a second. Pure; the clock is handed in.
///
/// libcurl has a limit of its own (`CURLOPT_MAX_SEND_SPEED_LARGE`), but it counts from the start of the transfer: lowered on
/// the way, it lets the transfer stand until the mean from its beginning is the new one, for hours after a fast start,
/// and after a pause it lets everything out that was not sent meanwhile. Here what was not used is saved up for half a
/// second and no longer, and a new limit begins when it is set.
struct SendPacer {
    /// The most bytes per second, or `nil` for no limit.
    private(set) var rate: Int64?
    private var saved: Int64 = 0
    private var countedAt: ContinuousClock.Instant?

    init(rate: ByteCount?) {
        self.rate = Self.checked(rate)
    }

    /// Sets the limit; what was saved under the old one is no more than one piece of the new.
    mutating func limit(to rate: ByteCount?, now: ContinuousClock.Instant) {
        _ = room(now: now)
        self.rate = Self.checked(rate)
        saved = min(saved, piece)
        if self.rate == nil { countedAt = nil }
    }

    /// How many bytes may be handed over now; 0 to wait until ``due(now:)``. Never a few bytes only: a piece or nothing.
    mutating func room(now: ContinuousClock.Instant) -> Int {
        guard let rate else { return .max }
        guard let last = countedAt else {
            // The first piece goes at once.
            countedAt = now
            saved = piece
            return Int(saved)
        }
        let elapsed = max(0, (now - last).wholeMicroseconds)
        let (earned, overflow) = rate.multipliedReportingOverflow(by: elapsed)
        let most = max(piece * 4, rate / 20)
        if overflow || earned / 1_000_000 >= most - saved {
            saved = most
            countedAt = now
        } else {
            saved += earned / 1_000_000
            // What is left of a byte is not lost.
            countedAt = last + .microseconds(earned / 1_000_000 * 1_000_000 / rate)
        }
        return saved >= piece ? Int(saved) : 0
    }

    /// So many bytes were handed over.
    mutating func spend(_ count: Int) {
        if rate != nil { saved -= Int64(count) }
    }

    /// When there is room for a piece again.
    func due(now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        guard let rate, let countedAt else { return now }
        let missing = max(0, piece - saved)
        let (product, overflow) = missing.multipliedReportingOverflow(by: 1_000_000)
        return countedAt + .microseconds(overflow ? .max / 2 : product / rate + 1)
    }

    private var piece: Int64 { rate.map { max(1, min(64 << 10, $0 / 8)) } ?? 0 }

    private static func checked(_ rate: ByteCount?) -> Int64? {
        rate.flatMap { $0.bytes > 0 ? $0.bytes : nil }
    }
}

extension Duration {
    fileprivate var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .max : scaled &+ attoseconds / 1_000_000_000_000
    }
}
