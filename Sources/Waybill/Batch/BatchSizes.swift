import WaybillMultipart

/// Sums of the body lengths of a batch's items: ended, running, and not yet taken.
struct BatchSizes: Sendable {
    /// The total that the caller expects.
    let expectedBytes: Int64?
    private var expected: [ExpectedLength?]
    /// The number of items with an expected size that were not taken yet.
    private(set) var ahead = 0
    /// The number of running items that have a size.
    private(set) var moving = 0
    /// The number of sizes in `ahead` and `moving` that are estimates.
    private var estimated = 0
    private var ended = 0
    private var bytesAhead: Int128 = 0
    private var bytesRunning: Int128 = 0
    private var bytesEnded: Int128 = 0
    /// The number of bytes of items that ended before their size was known.
    private var bytesUnknown: Int128 = 0

    init(_ options: UploadBatchOptions, count: Int?) {
        expectedBytes = options.expectedBytes.map { max(0, $0) }
        expected = []
        if !options.expectedSizes.isEmpty {
            expect(options.expectedSizes.map { $0.map { ExpectedLength($0) } }, from: 0, count: count)
        }
    }

    /// Whether any size in use is an estimate.
    var isEstimated: Bool { estimated > 0 }

    /// Replaces the expected lengths of the items from an index on.
    mutating func expect(_ lengths: [ExpectedLength?], from index: Int, count: Int?) {
        discardExpected(from: index)
        expected = count.map { Array(lengths.prefix(max(0, $0))) } ?? lengths
        for case let length? in expected.dropFirst(index) { add(length, ahead: 1) }
    }

    /// Takes an item and returns its expected size.
    mutating func take(_ index: Int) -> (size: Int64?, isExact: Bool) {
        guard index < expected.count, let length = expected[index] else { return (nil, false) }
        add(length, ahead: -1)
        begin(length.bytes, isExact: length.isExact)
        return (length.bytes, length.isExact)
    }

    /// Discards the expected lengths of items from an index on, because they will not be taken.
    mutating func discardExpected(from index: Int) {
        for case let length? in expected.dropFirst(index) { add(length, ahead: -1) }
        expected = []
    }

    private mutating func add(_ length: ExpectedLength, ahead sign: Int) {
        ahead += sign
        bytesAhead += Int128(sign) * Int128(length.bytes)
        if !length.isExact { estimated += sign }
    }

    /// Adds the size of a running item.
    mutating func begin(_ size: Int64?, isExact: Bool) { add(size, isExact, 1) }

    /// Removes the size of a running item.
    mutating func end(_ size: Int64?, isExact: Bool) { add(size, isExact, -1) }

    private mutating func add(_ size: Int64?, _ isExact: Bool, _ sign: Int) {
        guard let size else { return }
        moving += sign
        bytesRunning += Int128(sign) * Int128(size)
        if !isExact { estimated += sign }
    }

    /// Adds the size of an item that has ended.
    mutating func addEnded(_ size: Int64) {
        ended += 1
        bytesEnded += Int128(size)
    }

    /// Adds the bytes of an item that ended before its size was known.
    mutating func addEndedOfUnknownSize(_ bytes: Int64) { bytesUnknown += Int128(bytes) }

    /// Returns the number of bytes of all items. Items without a size count as the mean of the others; `nil` if there
    /// are no others.
    func totalBytes(unsized: Int, count: Int?, isExhausted: Bool) -> Int128? {
        let sized = bytesAhead + bytesRunning + bytesEnded
        let known = sized + bytesUnknown
        if let expectedBytes, !isExhausted || unsized > 0 || isEstimated { return max(Int128(expectedBytes), known) }
        guard count != nil else { return nil }
        guard unsized > 0 else { return known }
        let number = ahead + moving + ended
        return number > 0 ? known + sized * Int128(unsized) / Int128(number) : nil
    }
}

/// Measures the time during which at least one of several transfers was running.
struct TransferClock: Sendable {
    private var moving = 0
    private var since = Duration.zero
    private var total = Duration.zero

    /// Records that a transfer started (1) or stopped (-1).
    mutating func add(_ change: Int, at time: Duration) {
        total = elapsed(at: time)
        since = max(since, time)
        moving += change
    }

    /// Returns the time up to now.
    func elapsed(at time: Duration) -> Duration { moving > 0 ? total + max(.zero, time - since) : total }
}
