import WaybillCore
package import WaybillMultipart

/// The state of a batch: the position in its source, the running items, the results, and the acknowledged bytes. It
/// uses no tasks, clocks or uploads.
///
/// It decides when the next item may be taken from the source: while fewer than `window` items are running, and while a
/// reader of results is less than `buffer` behind. These two bound its memory, however long the source is.
package struct BatchState: Sendable {
    /// The outcome of an item.
    package enum Outcome: Sendable, Hashable, CaseIterable { case succeeded, failed, cancelled }

    /// The progress of a running item.
    private struct Running: Sendable {
        /// The highest count of all attempts: a new attempt starts at zero, but the progress of the batch does not
        /// decrease.
        var acknowledged: Int64 = 0
        /// The length of the body. Before the body is prepared, this is the expected length or `nil`.
        var size: Int64?
        /// Whether the size is exact and not an estimate.
        var isExact = false
        /// Whether an attempt of the item is on the wire.
        var isTransferring = false
        var isCancelled = false
    }

    private let window: Int
    private let buffer: Int
    private var running: [Int: Running] = [:]
    /// Items that were cancelled before they were taken.
    private var cancelledInAdvance: Set<Int> = []
    private var sizes: BatchSizes
    /// The number of acknowledged bytes. 128 bits, because the lengths of sparse files can exceed 64 bits in total.
    private var acknowledgedBytes: Int128 = 0
    /// The number of bytes of unsuccessful items that will not be sent any more.
    private var abandoned: Int128 = 0
    private var transfers = TransferClock()

    /// The number of items taken from the source, which is also the index of the next item.
    package private(set) var taken = 0
    /// The number of items in the source, or `nil` while unknown.
    package private(set) var count: Int?
    package private(set) var counts: [Outcome: Int] = [:]
    /// The number of results that wait for the reader.
    package private(set) var unread = 0
    /// Whether taking items has stopped.
    package private(set) var isStopped = false
    /// Whether taking items is paused.
    package private(set) var isPaused = false
    /// Whether the source has no further items.
    package private(set) var isExhausted = false

    /// - Parameters:
    ///   - window: The maximum number of running items, at least 1.
    ///   - buffer: The maximum number of results that wait for a reader, at least 1.
    ///   - count: The number of items in the source, if known.
    ///   - options: The expected sizes of the items, for the progress.
    package init(window: Int, buffer: Int, count: Int? = nil, options: UploadBatchOptions = UploadBatchOptions()) {
        self.window = max(1, window)
        self.buffer = max(1, buffer)
        self.count =
            options.expectedCount ?? count ?? (options.expectedSizes.isEmpty ? nil : options.expectedSizes.count)
        sizes = BatchSizes(options, count: self.count)
    }

    /// The number of running items.
    package var executing: Int { running.count }
    /// The number of items that have ended.
    package var ended: Int { taken - running.count }
    /// Whether all items have ended and no further item is taken.
    package var isFinished: Bool { running.isEmpty && (isStopped || isExhausted) }

    /// Returns whether the next item may be taken. If there is a reader, the number of waiting results is bounded.
    package func mayTake(hasReader: Bool) -> Bool {
        !isStopped && !isExhausted && !isPaused && running.count < window && (!hasReader || unread < buffer)
    }

    /// Takes the next item.
    ///
    /// - Returns: The index of the item, and whether it was cancelled before.
    package mutating func take() -> (index: Int, isCancelled: Bool) {
        defer { taken += 1 }
        let isCancelled = cancelledInAdvance.remove(taken) != nil
        let (size, isExact) = sizes.take(taken)
        running[taken] = Running(size: size, isExact: isExact, isCancelled: isCancelled)
        return (taken, isCancelled)
    }

    /// Records that the source has no further items.
    package mutating func exhaust() {
        isExhausted = true
        count = taken
        sizes.discardExpected(from: taken)
    }

    /// Stops taking items.
    package mutating func stop() { isStopped = true }

    /// Pauses or resumes taking items.
    package mutating func setPaused(_ isPaused: Bool) { self.isPaused = isPaused }

    /// Cancels an item.
    ///
    /// - Returns: Whether the item is running, so that the caller has to cancel its upload.
    package mutating func cancel(_ index: Int) -> Bool {
        if index >= taken { cancelledInAdvance.insert(index) }
        guard running[index] != nil else { return false }
        running[index]?.isCancelled = true
        return true
    }

    /// Returns whether a running item was cancelled.
    package func isCancelled(_ index: Int) -> Bool { running[index]?.isCancelled ?? false }

    /// Sets the expected body lengths of items that were not taken yet.
    ///
    /// - Parameter lengths: The lengths by position in the source.
    package mutating func expect(_ lengths: [ExpectedLength?]) {
        sizes.expect(lengths, from: taken, count: count)
    }

    /// Sets the expected body length of a running item. Ignored if a length is already known.
    package mutating func expect(_ index: Int, _ length: Int64, isExact: Bool) {
        guard var item = running[index], item.size == nil else { return }
        resize(&item, length, isExact: isExact)
        running[index] = item
    }

    /// Updates the progress of an item.
    ///
    /// - Parameters:
    ///   - index: The position of the item in the source.
    ///   - acknowledged: The number of body bytes that were acknowledged in the current attempt.
    ///   - total: The length of the body, once it is known.
    ///   - isTransferring: Whether an attempt is on the wire, which excludes preparation and waits.
    ///   - time: The time since the batch began.
    package mutating func progress(
        _ index: Int, acknowledged: Int64, total: Int64?, isTransferring: Bool, at time: Duration
    ) {
        guard var item = running[index] else { return }
        if acknowledged > item.acknowledged {
            acknowledgedBytes += Int128(acknowledged - item.acknowledged)
            item.acknowledged = acknowledged
        }
        // A redirect that is followed without the body reports a length of 0. Keep the previous length.
        if let total, total >= item.acknowledged { resize(&item, total, isExact: true) }
        if item.isTransferring != isTransferring {
            item.isTransferring = isTransferring
            transfers.add(isTransferring ? 1 : -1, at: time)
        }
        running[index] = item
    }

    private mutating func resize(_ item: inout Running, _ size: Int64, isExact: Bool) {
        sizes.end(item.size, isExact: item.isExact)
        (item.size, item.isExact) = (max(0, size), isExact)
        sizes.begin(item.size, isExact: isExact)
    }

    /// Records the end of an item. Further calls for the same item are ignored.
    ///
    /// - Parameters:
    ///   - index: The position of the item in the source.
    ///   - outcome: The outcome.
    ///   - acknowledged: The number of acknowledged body bytes.
    ///   - total: The length of the body, if known.
    ///   - hasReader: Whether there is a reader of results, so that none may be dropped.
    ///   - time: The time since the batch began.
    /// - Returns: Whether this was the first call for the item, and how many of the oldest unread results have to be
    ///   dropped.
    package mutating func end(
        _ index: Int, _ outcome: Outcome, acknowledged: Int64, total: Int64?, hasReader: Bool, at time: Duration = .zero
    ) -> (isFirstEnd: Bool, drop: Int) {
        progress(index, acknowledged: acknowledged, total: total, isTransferring: false, at: time)
        guard let item = running.removeValue(forKey: index) else { return (false, 0) }
        counts[outcome, default: 0] += 1
        sizes.end(item.size, isExact: item.isExact)
        if outcome == .succeeded {
            sizes.addEnded(item.isExact ? item.size ?? item.acknowledged : item.acknowledged)
        } else if let size = item.size {
            abandoned += Int128(max(0, size - item.acknowledged))
            sizes.addEnded(max(size, item.acknowledged))
        } else {
            sizes.addEndedOfUnknownSize(item.acknowledged)
        }
        unread += 1
        guard !hasReader, unread > buffer else { return (true, 0) }
        let drop = unread - buffer
        unread = buffer
        return (true, drop)
    }

    /// Records that the reader took a result.
    package mutating func read() { unread = max(0, unread - 1) }
}

// MARK: - Totals

extension BatchState {
    /// The sums for a snapshot.
    package struct Sums: Sendable {
        package var count: Int?
        package var taken: Int
        package var executing: Int
        package var succeeded: Int
        package var failed: Int
        package var cancelled: Int
        /// The number of acknowledged bytes of all items. Never decreases.
        package var acknowledged: Int64
        /// The number of bytes of unsuccessful items that will not be sent any more.
        package var abandoned: Int64
        /// The number of bytes of all items; `nil` while no sizes are known.
        package var total: Int64?
        /// Whether the total relies on estimated sizes.
        package var isEstimated: Bool
        /// The completed fraction, 0...1; `nil` while the number of items is unknown.
        package var fraction: Double?
        /// The time during which at least one item was on the wire.
        package var transferTime: Duration
        package var isFinished: Bool
    }

    /// Returns the sums for a snapshot.
    ///
    /// - Complexity: O(1).
    package func sums(at time: Duration) -> Sums {
        let done = acknowledgedBytes + abandoned
        let unsized = executing - sizes.moving + max(0, (count ?? 0) - taken - sizes.ahead)
        let whole = sizes.totalBytes(unsized: unsized, count: count, isExhausted: isExhausted).map { max($0, done) }
        let hasExpectedBytes = sizes.expectedBytes != nil
        return Sums(
            count: count, taken: taken, executing: executing, succeeded: counts[.succeeded] ?? 0,
            failed: counts[.failed] ?? 0, cancelled: counts[.cancelled] ?? 0,
            acknowledged: Int64(clamping: acknowledgedBytes),
            abandoned: Int64(clamping: abandoned), total: whole.map { Int64(clamping: $0) },
            isEstimated: !hasExpectedBytes && (count == nil || unsized > 0 || sizes.isEstimated),
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
        // All bytes may have been acknowledged while a response is still awaited.
        return min(share, (1.0).nextDown)
    }
}
