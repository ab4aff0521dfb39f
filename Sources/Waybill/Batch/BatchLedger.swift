import WaybillCore
package import WaybillMultipart

/// The books of a batch: how far its source has been read, what runs, what has ended, how many bytes of it arrived. No task,
/// no clock, no upload.
///
/// It decides when the next item may be taken from the source: while fewer than `window` are on their way, and while a
/// reader of results is less than `buffer` behind. So its memory is bounded by these two, however long the source is.
package struct BatchLedger: Sendable {
    /// What an item that has ended came to.
    package enum Ending: Sendable, Hashable, CaseIterable { case succeeded, failed, cancelled }

    /// How far an item has come.
    private struct Running: Sendable {
        /// Its most: a second attempt starts again at zero, the batch does not go back.
        var acknowledged: Int64 = 0
        /// The length of its body; expected, or `nil`, until the body was prepared.
        var size: Int64?
        /// Whether the size is more than an estimate.
        var isExact = false
        /// Whether an attempt of it is on the wire.
        var isMoving = false
        var isCancelled = false
    }

    private let window: Int
    private let buffer: Int
    private var running: [Int: Running] = [:]
    /// Items that were cancelled before their turn.
    private var cancelledAhead: Set<Int> = []
    private var sizes: BatchSizes
    /// Bytes that arrived. 128 bits: lengths of sparse files may exceed 64 bits together.
    private var arrived: Int128 = 0
    /// Bytes of items that ended without success, which will not arrive any more.
    private var abandoned: Int128 = 0
    private var transfers = TransferClock()

    /// Items taken from the source; also the index of the next one.
    package private(set) var taken = 0
    /// How many items the source has, as far as is known.
    package private(set) var count: Int?
    package private(set) var counts: [Ending: Int] = [:]
    /// Results that wait for the reader.
    package private(set) var unread = 0
    /// Whether no further item is taken.
    package private(set) var isStopped = false
    /// Whether no further item is taken for now.
    package private(set) var isPaused = false
    /// Whether the source has no further item.
    package private(set) var isExhausted = false

    /// - Parameters:
    ///   - window: How many items may be on their way; less than 1 counts as 1.
    ///   - buffer: How many results may wait for a reader; less than 1 counts as 1.
    ///   - count: How many items the source has, if that is known.
    ///   - options: What is expected of the items, for the progress.
    package init(window: Int, buffer: Int, count: Int? = nil, options: UploadBatchOptions = UploadBatchOptions()) {
        self.window = max(1, window)
        self.buffer = max(1, buffer)
        self.count =
            options.expectedCount ?? count ?? (options.expectedSizes.isEmpty ? nil : options.expectedSizes.count)
        sizes = BatchSizes(options, count: self.count)
    }

    /// Items on their way.
    package var executing: Int { running.count }
    /// Items that have ended.
    package var ended: Int { taken - running.count }
    /// Whether nothing will happen any more.
    package var isFinished: Bool { running.isEmpty && (isStopped || isExhausted) }

    /// Whether the next item may be taken now. With a reader, results must not pile up.
    package func mayTake(isRead: Bool) -> Bool {
        !isStopped && !isExhausted && !isPaused && running.count < window && (!isRead || unread < buffer)
    }

    /// The next item is taken.
    ///
    /// - Returns: Its index, and whether it was cancelled before its turn.
    package mutating func take() -> (index: Int, isCancelled: Bool) {
        defer { taken += 1 }
        let isCancelled = cancelledAhead.remove(taken) != nil
        let (size, isExact) = sizes.take(taken)
        running[taken] = Running(size: size, isExact: isExact, isCancelled: isCancelled)
        return (taken, isCancelled)
    }

    /// The source has no further item.
    package mutating func exhaust() {
        isExhausted = true
        count = taken
        sizes.forgetAhead(from: taken)
    }

    /// No further item is taken.
    package mutating func stop() { isStopped = true }

    /// Takes no further item until it is resumed.
    package mutating func setPaused(_ isPaused: Bool) { self.isPaused = isPaused }

    /// An item is not wanted.
    ///
    /// - Returns: Whether it is on its way and has to be cancelled.
    package mutating func cancel(_ index: Int) -> Bool {
        if index >= taken { cancelledAhead.insert(index) }
        guard running[index] != nil else { return false }
        running[index]?.isCancelled = true
        return true
    }

    /// Whether an item on its way is not wanted any more.
    package func isCancelled(_ index: Int) -> Bool { running[index]?.isCancelled ?? false }

    /// The lengths that the bodies of items are expected to have whose turn has yet to come.
    ///
    /// - Parameter lengths: By the place of the item in the source.
    package mutating func expect(_ lengths: [ExpectedLength?]) {
        sizes.expect(lengths, from: taken, count: count)
    }

    /// The length that the body of an item on its way is expected to have. Ignored where a length is known.
    package mutating func expect(_ index: Int, _ length: Int64, isExact: Bool) {
        guard var item = running[index], item.size == nil else { return }
        resize(&item, length, isExact: isExact)
        running[index] = item
    }

    /// How far an item has come.
    ///
    /// - Parameters:
    ///   - index: Its place in the source.
    ///   - acknowledged: Bytes of its body that arrived in the present attempt.
    ///   - total: The length of its body, once that is known.
    ///   - isMoving: Whether an attempt is on the wire: an item that is prepared or waits is not.
    ///   - time: The time since the batch began.
    package mutating func progress(
        _ index: Int, acknowledged: Int64, total: Int64?, isMoving: Bool, at time: Duration
    ) {
        guard var item = running[index] else { return }
        if acknowledged > item.acknowledged {
            arrived += Int128(acknowledged - item.acknowledged)
            item.acknowledged = acknowledged
        }
        // A redirect that is followed without the body reports a length of 0. The item keeps its own.
        if let total, total >= item.acknowledged { resize(&item, total, isExact: true) }
        if item.isMoving != isMoving {
            item.isMoving = isMoving
            transfers.add(isMoving ? 1 : -1, at: time)
        }
        running[index] = item
    }

    private mutating func resize(_ item: inout Running, _ size: Int64, isExact: Bool) {
        sizes.end(item.size, isExact: item.isExact)
        (item.size, item.isExact) = (max(0, size), isExact)
        sizes.begin(item.size, isExact: isExact)
    }

    /// An item has ended. Its second end is none.
    ///
    /// - Parameters:
    ///   - index: Its place in the source.
    ///   - ending: What it came to.
    ///   - acknowledged: Bytes of its body that arrived.
    ///   - total: The length of its body, if that was known.
    ///   - isRead: Whether a reader waits for results, so that none may be dropped.
    ///   - time: The time since the batch began.
    /// - Returns: Whether this was news, and how many of the oldest unread results have to be dropped.
    package mutating func end(
        _ index: Int, _ ending: Ending, acknowledged: Int64, total: Int64?, isRead: Bool, at time: Duration = .zero
    ) -> (isNews: Bool, drop: Int) {
        progress(index, acknowledged: acknowledged, total: total, isMoving: false, at: time)
        guard let item = running.removeValue(forKey: index) else { return (false, 0) }
        counts[ending, default: 0] += 1
        sizes.end(item.size, isExact: item.isExact)
        if ending == .succeeded {
            sizes.settle(item.isExact ? item.size ?? item.acknowledged : item.acknowledged)
        } else if let size = item.size {
            abandoned += Int128(max(0, size - item.acknowledged))
            sizes.settle(max(size, item.acknowledged))
        } else {
            sizes.settleUnknown(item.acknowledged)
        }
        unread += 1
        guard !isRead, unread > buffer else { return (true, 0) }
        let drop = unread - buffer
        unread = buffer
        return (true, drop)
    }

    /// The reader took a result.
    package mutating func read() { unread = max(0, unread - 1) }
}

// MARK: - Sums

extension BatchLedger {
    /// The figures of a snapshot.
    package struct Sums: Sendable {
        package var count: Int?
        package var taken: Int
        package var executing: Int
        package var succeeded: Int
        package var failed: Int
        package var cancelled: Int
        /// Bytes that arrived, of all items. Never goes back.
        package var acknowledged: Int64
        /// Bytes of items that ended without success, which will not arrive any more.
        package var abandoned: Int64
        /// Bytes of all items; `nil` while nothing is known of them.
        package var total: Int64?
        /// Whether a size is estimated.
        package var isEstimated: Bool
        /// The share that is done, 0...1; `nil` while the number of items is unknown.
        package var fraction: Double?
        /// How long at least one item was on the wire.
        package var transferTime: Duration
        package var isFinished: Bool
    }

    /// The figures of a snapshot.
    ///
    /// - Complexity: O(1).
    package func sums(at time: Duration) -> Sums {
        let done = arrived + abandoned
        let unsized = executing - sizes.moving + max(0, (count ?? 0) - taken - sizes.ahead)
        let whole = sizes.whole(unsized: unsized, count: count, isExhausted: isExhausted).map { max($0, done) }
        let isStated = sizes.expectedBytes != nil
        return Sums(
            count: count, taken: taken, executing: executing, succeeded: counts[.succeeded] ?? 0,
            failed: counts[.failed] ?? 0, cancelled: counts[.cancelled] ?? 0, acknowledged: Int64(clamping: arrived),
            abandoned: Int64(clamping: abandoned), total: whole.map { Int64(clamping: $0) },
            isEstimated: !isStated && (count == nil || unsized > 0 || sizes.isEstimated),
            fraction: fraction(done, of: whole), transferTime: transfers.elapsed(at: time), isFinished: isFinished)
    }

    private func fraction(_ done: Int128, of whole: Int128?) -> Double? {
        if isFinished, isExhausted { return 1 }
        let share: Double
        if let whole, whole > 0 {
            share = Double(done) / Double(whole)
        } else if let count {
            share = count > 0 ? Double(ended) / Double(count) : 0
        } else {
            return nil
        }
        // All bytes may have arrived while a response is still awaited.
        return min(share, (1.0).nextDown)
    }
}
