/// The progress of a batch.
///
/// Byte counts are acknowledged bytes, as in ``UploadProgress``. They never decrease: if an item is retried, the bytes
/// of its best attempt count until they are exceeded.
public struct UploadBatchProgress: Sendable, Hashable {
    /// The number of items; `nil` while the source may have more.
    public var count: Int?
    /// The number of items taken from the source.
    public var taken: Int
    /// The number of running items.
    public var executing: Int
    /// The number of items whose upload succeeded.
    public var succeeded: Int
    /// The number of items whose upload failed.
    public var failed: Int
    /// The number of items that were cancelled, individually or with the batch.
    public var cancelled: Int
    /// The number of acknowledged body bytes.
    public var acknowledged: Int64
    /// The number of body bytes of unsuccessful items that will not be sent any more.
    public var abandoned: Int64
    /// The number of body bytes of all items; `nil` while no sizes are known, or while the source may have more items.
    public var total: Int64?
    /// Whether ``total``, ``fraction`` and ``timeLeft`` rely on estimated sizes. An estimate is replaced when the body
    /// is prepared. Only while there are estimates can ``fraction`` decrease.
    public var isEstimated: Bool
    /// Acknowledged bytes per second, smoothed over the last seconds; 0 when nothing is transferred. Time during which
    /// no item is on the wire, such as preparation of images or retry delays, does not count.
    public var bytesPerSecond: Double
    /// The completed fraction of the bytes, 0...1. The bytes of items that ended without success count as completed.
    /// The value is 1 only when all items have ended, and `nil` while the source may have more items and
    /// ``UploadBatchOptions/expectedBytes`` is not set.
    ///
    /// An item counts with the length of its body. Before its body is prepared, it counts with
    /// ``UploadBatchOptions/expectedSizes`` or the sizes of its files, and an image with its byte limit unless its file
    /// is smaller. Items of unknown size count as the mean of the others. If no size is known, the value is the
    /// fraction of items.
    public var fraction: Double?
    /// The estimated remaining time at the rate of the last half minute, including preparation and waits; `nil` while
    /// unknown.
    public var timeLeft: Duration?
    /// Whether this is the last snapshot.
    public var isFinished: Bool

    /// The number of items that have ended.
    public var ended: Int { succeeded + failed + cancelled }
}

extension UploadBatchProgress {
    /// Creates a snapshot from sums, for batches of any kind of upload.
    ///
    /// - Parameters:
    ///   - sums: The sums.
    ///   - bytesPerSecond: The displayed rate.
    ///   - overallRate: The rate in bytes per second including preparation and waits.
    ///   - elapsed: The time since the batch began.
    package init(_ sums: BatchState.Sums, bytesPerSecond: Double, overallRate: Double, elapsed: Duration) {
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
        } else if let total, overallRate > 0 {
            let left = Double(total) - Double(acknowledged) - Double(abandoned)
            timeLeft = .seconds(min(max(0, left) / overallRate, Self.maxSeconds))
        } else if let fraction, fraction > 0 {
            timeLeft = .seconds(min((elapsed / .seconds(1)) * (1 - fraction) / fraction, Self.maxSeconds))
        }
    }

    /// A century. Longer times could overflow the caller's `Duration` arithmetic.
    private static let maxSeconds = 3.2e9
}

/// Creates snapshots of a batch of uploads from its sums.
package struct BatchMeter: Sendable {
    private var rate = RateMeter()
    private var overallRate = RateMeter(timeConstant: 30)

    package init() {}

    /// Returns the snapshot at a time since the batch began.
    package mutating func progress(_ sums: BatchState.Sums, at time: Duration) -> UploadBatchProgress {
        rate.add(acknowledged: sums.acknowledged, attempt: 1, at: sums.transferTime)
        overallRate.add(acknowledged: sums.acknowledged, attempt: 1, at: time)
        return UploadBatchProgress(
            sums, bytesPerSecond: rate.bytesPerSecond, overallRate: overallRate.bytesPerSecond, elapsed: time)
    }
}
