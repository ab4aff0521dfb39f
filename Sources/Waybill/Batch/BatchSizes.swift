import WaybillMultipart

/// Adds up the lengths of a batch's items: of those that ended, of those on their way, and of those whose turn has yet to come.
struct BatchSizes: Sendable {
    /// What the caller says that all have together.
    let expectedBytes: Int64?
    private var expected: [ExpectedLength?]
    /// How many items that were not taken yet have an expected size.
    private(set) var ahead = 0
    /// How many items on their way have a size.
    private(set) var moving = 0
    /// How many of both have one that is an estimate.
    private var estimated = 0
    private var settled = 0
    private var bytesAhead: Int128 = 0
    private var bytesMoving: Int128 = 0
    private var bytesSettled: Int128 = 0
    /// Bytes of items that ended before anything was known of their size.
    private var bytesUnknown: Int128 = 0

    init(_ options: UploadBatchOptions, count: Int?) {
        expectedBytes = options.expectedBytes.map { max(0, $0) }
        expected = []
        if !options.expectedSizes.isEmpty {
            expect(options.expectedSizes.map { $0.map { ExpectedLength($0) } }, from: 0, count: count)
        }
    }

    /// Whether a size that is used is an estimate.
    var isEstimated: Bool { estimated > 0 }

    /// Replaces what is expected of the items from an index on.
    mutating func expect(_ lengths: [ExpectedLength?], from index: Int, count: Int?) {
        forgetAhead(from: index)
        expected = count.map { Array(lengths.prefix(max(0, $0))) } ?? lengths
        for case let length? in expected.dropFirst(index) { add(length, ahead: 1) }
    }

    /// An item is taken: the size that is expected of it.
    mutating func take(_ index: Int) -> (size: Int64?, isExact: Bool) {
        guard index < expected.count, let length = expected[index] else { return (nil, false) }
        add(length, ahead: -1)
        begin(length.bytes, isExact: length.isExact)
        return (length.bytes, length.isExact)
    }

    /// No item from an index on will be taken.
    mutating func forgetAhead(from index: Int) {
        for case let length? in expected.dropFirst(index) { add(length, ahead: -1) }
        expected = []
    }

    private mutating func add(_ length: ExpectedLength, ahead sign: Int) {
        ahead += sign
        bytesAhead += Int128(sign) * Int128(length.bytes)
        if !length.isExact { estimated += sign }
    }

    /// An item on its way has this size.
    mutating func begin(_ size: Int64?, isExact: Bool) { add(size, isExact, 1) }

    /// An item on its way has this size no more.
    mutating func end(_ size: Int64?, isExact: Bool) { add(size, isExact, -1) }

    private mutating func add(_ size: Int64?, _ isExact: Bool, _ sign: Int) {
        guard let size else { return }
        moving += sign
        bytesMoving += Int128(sign) * Int128(size)
        if !isExact { estimated += sign }
    }

    /// An item has ended, and had this size.
    mutating func settle(_ size: Int64) {
        settled += 1
        bytesSettled += Int128(size)
    }

    /// An item ended before its size was known.
    mutating func settleUnknown(_ bytes: Int64) { bytesUnknown += Int128(bytes) }

    /// The bytes of all items. Those without a size count as the mean of the others; `nil` while there are no others.
    func whole(unsized: Int, count: Int?, isExhausted: Bool) -> Int128? {
        let sized = bytesAhead + bytesMoving + bytesSettled
        let known = sized + bytesUnknown
        if let expectedBytes, !isExhausted || unsized > 0 || isEstimated { return max(Int128(expectedBytes), known) }
        guard count != nil else { return nil }
        guard unsized > 0 else { return known }
        let number = ahead + moving + settled
        return number > 0 ? known + sized * Int128(unsized) / Int128(number) : nil
    }
}

/// Measures how long at least one of several things was under way.
struct TransferClock: Sendable {
    private var moving = 0
    private var since = Duration.zero
    private var total = Duration.zero

    /// One more, or one fewer, is under way.
    mutating func add(_ change: Int, at time: Duration) {
        total = elapsed(at: time)
        since = max(since, time)
        moving += change
    }

    /// The time until now.
    func elapsed(at time: Duration) -> Duration { moving > 0 ? total + max(.zero, time - since) : total }
}
