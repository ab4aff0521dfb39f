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
    /// Body bytes of all items: ``UploadBatchOptions/expectedBytes``, or what they came to once the last was prepared.
    public var total: Int64?
    /// Acknowledged bytes per second, smoothed over the last seconds; 0 when nothing moves.
    public var bytesPerSecond: Double
    /// The share that is done, 0...1: of the bytes where ``UploadBatchOptions/expectedBytes`` was given, else of the items,
    /// those on their way counted by their share. `nil` while neither is known.
    public var fraction: Double?
    /// How long the rest takes at the pace so far; `nil` while there is no telling.
    public var timeLeft: Duration?
    /// Whether this is the last snapshot.
    public var isFinished: Bool

    /// Items that have ended.
    public var ended: Int { succeeded + failed + cancelled }
}

extension UploadBatchProgress {
    /// A snapshot of the books, for batches of other things than uploads too.
    package init(
        _ ledger: BatchLedger, options: UploadBatchOptions, bytesPerSecond: Double, elapsed: Duration
    ) {
        count = ledger.count
        taken = ledger.taken
        executing = ledger.executing
        succeeded = ledger.counts[.succeeded] ?? 0
        failed = ledger.counts[.failed] ?? 0
        cancelled = ledger.counts[.cancelled] ?? 0
        acknowledged = ledger.acknowledged
        abandoned = ledger.abandoned
        total = options.expectedBytes ?? ledger.total
        self.bytesPerSecond = bytesPerSecond
        isFinished = ledger.isFinished
        if ledger.isFinished, ledger.isExhausted {
            fraction = 1
        } else if let expected = options.expectedBytes, expected > 0 {
            fraction = min(1, Double(acknowledged + abandoned) / Double(expected))
        } else {
            fraction = ledger.itemFraction
        }
        timeLeft = nil
        if isFinished {
            timeLeft = .zero
        } else if let total, bytesPerSecond > 0 {
            timeLeft = .seconds(Double(max(0, total - acknowledged - abandoned)) / bytesPerSecond)
        } else if let fraction, fraction > 0 {
            timeLeft = elapsed * ((1 - fraction) / fraction)
        }
    }
}

extension UploadBatchProgress {
    /// A snapshot of something that is no batch of a session and is to be shown as one: files whose sizes are known.
    package init(
        count: Int, executing: Int, succeeded: Int, failed: Int, cancelled: Int, acknowledged: Int64, total: Int64,
        bytesPerSecond: Double
    ) {
        self.count = count
        taken = succeeded + failed + cancelled + executing
        self.executing = executing
        self.succeeded = succeeded
        self.failed = failed
        self.cancelled = cancelled
        self.acknowledged = acknowledged
        abandoned = 0
        self.total = total
        self.bytesPerSecond = bytesPerSecond
        isFinished = succeeded + failed + cancelled == count
        fraction = total > 0 ? min(1, Double(acknowledged) / Double(total)) : nil
        timeLeft = bytesPerSecond > 0 ? .seconds(Double(max(0, total - acknowledged)) / bytesPerSecond) : nil
    }
}
