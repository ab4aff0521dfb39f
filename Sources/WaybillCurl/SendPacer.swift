import WaybillCore

/// Limits the rate of a body to a number of bytes per second, in about eight pieces per second. The time is a
/// parameter.
///
/// libcurl's own limit (`CURLOPT_MAX_SEND_SPEED_LARGE`) counts from the start of the transfer. If it is lowered during
/// the transfer, libcurl stops sending until the average since the start equals the new limit, for hours after a fast
/// start; after a pause, it sends everything that was not sent meanwhile at full speed. Here, unused allowance is saved
/// for half a second at most, and a new limit takes effect when it is set.
struct SendPacer {
    /// The maximum number of bytes per second, or `nil` for no limit.
    private(set) var rate: Int64?
    private var saved: Int64 = 0
    private var countedAt: ContinuousClock.Instant?

    init(rate: ByteCount?) {
        self.rate = Self.checked(rate)
    }

    /// Sets the limit. Allowance saved under the old limit is reduced to at most one piece of the new one.
    mutating func limit(to rate: ByteCount?, now: ContinuousClock.Instant) {
        _ = allowance(now: now)
        self.rate = Self.checked(rate)
        saved = min(saved, piece)
        if self.rate == nil { countedAt = nil }
    }

    /// Returns the number of bytes that may be sent now: at least one piece, or 0 to wait until ``due(now:)``.
    mutating func allowance(now: ContinuousClock.Instant) -> Int {
        guard let rate else { return .max }
        guard let last = countedAt else {
            // The first piece is sent immediately.
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
            // Carry the remaining fraction of a byte over.
            countedAt = last + .microseconds(earned / 1_000_000 * 1_000_000 / rate)
        }
        return saved >= piece ? Int(saved) : 0
    }

    /// Records that bytes were sent.
    mutating func consume(_ count: Int) {
        if rate != nil { saved -= Int64(count) }
    }

    /// Returns the time at which the next piece may be sent.
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
