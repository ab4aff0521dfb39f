/// How far a batch has come.
///
/// Bytes are those that peers acknowledged, as in ``UploadProgress``. They never go back: of an item that is tried again, what
/// its best attempt brought counts until it is surpassed.
public struct UploadBatchProgress: Sendable, Hashable {
    /// How many items there are; `nil` while the source may have more.
    public var count: Int?
    /// Items taken from the source.
    public var taken: Int
    /// Items on their way.
    public var executing: Int
    /// Items whose upload succeeded.
    public var succeeded: Int
    /// Items whose upload failed.
    public var failed: Int
    /// Items that were cancelled, one by one or with the batch.
    public var cancelled: Int
    /// Body bytes that were acknowledged.
    public var acknowledged: Int64
    /// Body bytes of items that ended without success and will not arrive any more.
    public var abandoned: Int64
    /// Body bytes of all items; `nil` while nothing is known of their sizes, or while the source may have more.
    public var total: Int64?
    /// Whether ``total``, ``fraction`` and ``timeLeft`` rest on sizes that are estimated. An estimate is replaced when the
    /// body is prepared; until then, and only then, ``fraction`` may go back.
    public var isEstimated: Bool
    /// Acknowledged bytes per second, smoothed over the last seconds; 0 when nothing moves. Time in which no item is on the
    /// wire, because images are prepared or retries are waited for, does not count.
    public var bytesPerSecond: Double
    /// The share of the bytes that is done, 0...1; those of items that ended without success count as done. It is 1 only when
    /// all items have ended, and `nil` while the source may have more and ``UploadBatchOptions/expectedBytes`` was not set.
    ///
    /// An item counts with the length of its body, before it is prepared with ``UploadBatchOptions/expectedSizes`` or the sizes
    /// of its files, and an image that is not made yet with its byte limit, if its file is not smaller. Items of which nothing is
    /// known count as the mean of the others. Without any size the share is that of the items.
    public var fraction: Double?
    /// How long the rest takes at the pace of the last half minute, preparation and waits included; `nil` while that can't be
    /// known.
    public var timeLeft: Duration?
    /// Whether this is the last snapshot.
    public var isFinished: Bool

    /// Items that have ended.
    public var ended: Int { succeeded + failed + cancelled }
}

extension UploadBatchProgress {
    /// A snapshot of the sums, for batches of other things than uploads too.
    ///
    /// - Parameters:
    ///   - sums: The sums.
    ///   - bytesPerSecond: The rate that is shown.
    ///   - pace: Bytes per second with everything that is not transfer.
    ///   - elapsed: The time since the batch began.
    package init(_ sums: BatchLedger.Sums, bytesPerSecond: Double, pace: Double, elapsed: Duration) {
        count = sums.count
        taken = sums.taken
        executing = sums.executing
        succeeded = sums.succeeded
        failed = sums.failed
        cancelled = sums.cancelled
        acknowledged = sums.acknowledged
        abandoned = sums.abandoned
        total = sums.total
        isEstimated = sums.isEstimated
        self.bytesPerSecond = bytesPerSecond
        isFinished = sums.isFinished
        fraction = sums.fraction
        timeLeft = nil
        if isFinished {
            timeLeft = .zero
        } else if let total, pace > 0 {
            let left = Double(total) - Double(acknowledged) - Double(abandoned)
            timeLeft = .seconds(min(max(0, left) / pace, Self.longest))
        } else if let fraction, fraction > 0 {
            timeLeft = .seconds(min((elapsed / .seconds(1)) * (1 - fraction) / fraction, Self.longest))
        }
    }

    /// A century: longer times would overflow `Duration` arithmetic of callers.
    private static let longest = 3.2e9
}

/// Makes snapshots of a batch of uploads out of its sums.
package struct BatchMeter: Sendable {
    private var rate = RateMeter()
    private var pace = RateMeter(memory: 30)

    package init() {}

    /// The snapshot at a time since the batch began.
    package mutating func progress(_ sums: BatchLedger.Sums, at time: Duration) -> UploadBatchProgress {
        rate.add(acknowledged: sums.acknowledged, attempt: 1, at: sums.transferTime)
        pace.add(acknowledged: sums.acknowledged, attempt: 1, at: time)
        return UploadBatchProgress(
            sums, bytesPerSecond: rate.bytesPerSecond, pace: pace.bytesPerSecond, elapsed: time)
    }
}
