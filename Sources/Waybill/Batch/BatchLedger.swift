import WaybillCore

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
        var total: Int64?
        var isCancelled = false
    }

    private let window: Int
    private let buffer: Int
    private var running: [Int: Running] = [:]
    /// Items that were cancelled before their turn.
    private var cancelledAhead: Set<Int> = []
    private var endedBytes: Int64 = 0
    private var abandonedBytes: Int64 = 0
    private var endedTotals: Int64 = 0
    private var allEndedTotalsKnown = true

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
    package init(window: Int, buffer: Int, count: Int? = nil) {
        self.window = max(1, window)
        self.buffer = max(1, buffer)
        self.count = count
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
        running[taken] = Running(isCancelled: isCancelled)
        return (taken, isCancelled)
    }

    /// The source has no further item.
    package mutating func exhaust() {
        isExhausted = true
        count = taken
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

    /// How far an item has come.
    package mutating func progress(_ index: Int, acknowledged: Int64, total: Int64?) {
        guard var item = running[index] else { return }
        item.acknowledged = max(item.acknowledged, acknowledged)
        item.total = total ?? item.total
        running[index] = item
    }

    /// An item has ended. Its second end is none.
    ///
    /// - Parameters:
    ///   - index: Its place in the source.
    ///   - ending: What it came to.
    ///   - acknowledged: Bytes of its body that arrived.
    ///   - total: The length of its body, if that was known.
    ///   - isRead: Whether a reader waits for results, so that none may be dropped.
    /// - Returns: Whether this was news, and how many of the oldest unread results have to be dropped.
    package mutating func end(
        _ index: Int, _ ending: Ending, acknowledged: Int64, total: Int64?, isRead: Bool
    ) -> (isNews: Bool, drop: Int) {
        guard let item = running.removeValue(forKey: index) else { return (false, 0) }
        counts[ending, default: 0] += 1
        let arrived = max(item.acknowledged, acknowledged)
        endedBytes += arrived
        if let length = total ?? item.total {
            endedTotals += length
            if ending != .succeeded { abandonedBytes += max(0, length - arrived) }
        } else {
            allEndedTotalsKnown = allEndedTotalsKnown && ending != .succeeded
            endedTotals += arrived
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
    /// Bytes that arrived, of all items. Never goes back.
    package var acknowledged: Int64 { running.values.reduce(endedBytes) { $0 + $1.acknowledged } }

    /// Bytes of items that ended without success, which will not arrive any more.
    package var abandoned: Int64 { abandonedBytes }

    /// The bytes of all items, once the last was taken and all lengths are known.
    package var total: Int64? {
        guard isExhausted, allEndedTotalsKnown else { return nil }
        var sum = endedTotals
        for item in running.values {
            guard let total = item.total else { return nil }
            sum += total
        }
        return sum
    }

    /// How much of the work is done, counted in items, those on their way by their share; `nil` while nobody knows how
    /// many there are. Never goes back.
    package var itemFraction: Double? {
        guard let count else { return nil }
        guard count > 0 else { return 1 }
        let shares = running.values.reduce(0.0) { sum, item in
            guard let total = item.total, total > 0 else { return sum }
            return sum + min(1, Double(item.acknowledged) / Double(total))
        }
        return min(1, (Double(ended) + shares) / Double(count))
    }
}
