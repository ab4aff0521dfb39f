/// A limit on the number of deliveries and verifications of a lane that start within a period.
///
/// In no period of this length, wherever it begins, do more start. They are spread over the period: after a rest, a
/// twentieth of them may start together.
public struct LaneRate: Sendable, Hashable, Codable {
    /// The maximum number within a period.
    public let count: Int
    /// The period.
    public let period: Duration

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - count: The maximum number, from 1 to 1,000,000; other values are replaced by the nearest of these.
    ///   - period: The period, from a millisecond to 366 days; other values are replaced by the nearest of these.
    public init(_ count: Int, per period: Duration) {
        self.count = min(max(count, 1), 1_000_000)
        self.period = min(max(period, .milliseconds(1)), .seconds(366 * 86_400))
    }
}

/// A token bucket, as the time at which it will be full: each start moves that time by the interval of a token.
///
/// A bucket of `burst` tokens with one new token each `period / (count - burst + 1)` lets no more than `count` start in
/// any period. Times are microseconds, because a lane may start many a millisecond.
extension LaneRate {
    private var burst: Int64 { Int64(max(1, count / 20)) }

    private var interval: Int64 {
        let tokens = Int64(count) - burst + 1
        return (period.milliseconds * 1_000 + tokens - 1) / tokens
    }

    /// Returns the number that may start now.
    ///
    /// - Parameters:
    ///   - fullAt: The time at which the bucket is full, in microseconds since 1970.
    ///   - now: The time, in milliseconds since 1970.
    /// - Returns: The number, at least 0.
    func available(_ fullAt: Int64, at now: Int64) -> Int {
        Int((now * 1_000 + burst * interval - bounded(fullAt, now)) / interval)
    }

    /// Returns the time at which the bucket is full after a number of starts, in microseconds since 1970.
    func spend(_ starts: Int, _ fullAt: Int64, at now: Int64) -> Int64 {
        bounded(fullAt, now) + Int64(starts) * interval
    }

    /// Returns the time of the next start for an empty bucket, in milliseconds since 1970.
    func nextStart(_ fullAt: Int64) -> Int64 { (fullAt - (burst - 1) * interval + 999) / 1_000 }

    /// Returns the time at which the bucket is full, no earlier than now, and no later than for an empty bucket: the
    /// clock may have been set back.
    private func bounded(_ fullAt: Int64, _ now: Int64) -> Int64 {
        min(max(fullAt, now * 1_000), now * 1_000 + burst * interval)
    }
}

extension LaneLife {
    /// Returns the number of items that may start now according to the rate.
    package func availableStarts(_ now: Int64) -> Int { rate?.available(bucketFullAt ?? 0, at: now) ?? .max }

    /// The time from which the rate lets the next item start, in milliseconds since 1970; `nil` without a rate, and
    /// before the first start.
    package var nextStart: Int64? {
        guard let rate, let bucketFullAt else { return nil }
        return rate.nextStart(bucketFullAt)
    }

    mutating func spend(_ starts: Int, _ now: Int64) {
        guard let rate else { return }
        bucketFullAt = rate.spend(starts, bucketFullAt ?? 0, at: now)
    }
}
