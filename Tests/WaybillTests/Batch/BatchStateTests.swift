import TestSupport
import Testing
import WaybillMultipart

@testable import Waybill

@Suite struct BatchStateTests {
    @Test func `the window bounds how many items are taken`() {
        var state = BatchState(window: 2, buffer: 10)
        #expect(state.mayTake(hasReader: true))
        #expect(state.take() == (0, false))
        #expect(state.take() == (1, false))
        #expect(!state.mayTake(hasReader: false))
        #expect(state.end(1, .succeeded, acknowledged: 5, total: 5, hasReader: true) == (true, 0))
        #expect(state.mayTake(hasReader: true))
    }

    @Test func `unread results stop the batch only while a reader exists`() {
        var state = BatchState(window: 4, buffer: 1)
        _ = state.take()
        _ = state.take()
        #expect(state.end(0, .succeeded, acknowledged: 0, total: 0, hasReader: true) == (true, 0))
        #expect(!state.mayTake(hasReader: true))
        #expect(state.mayTake(hasReader: false))
        #expect(state.end(1, .failed, acknowledged: 0, total: nil, hasReader: false) == (true, 1))
        #expect(state.unread == 1)
        state.read()
        #expect(state.mayTake(hasReader: true))
    }

    @Test func `each item ends only once`() {
        var state = BatchState(window: 1, buffer: 1)
        _ = state.take()
        #expect(state.end(0, .failed, acknowledged: 3, total: 10, hasReader: true).isFirstEnd)
        #expect(!state.end(0, .succeeded, acknowledged: 10, total: 10, hasReader: true).isFirstEnd)
        #expect(!state.end(7, .succeeded, acknowledged: 10, total: 10, hasReader: true).isFirstEnd)
        #expect(state.counts == [.failed: 1])
        #expect(state.sums(at: .zero).acknowledged == 3 && state.sums(at: .zero).abandoned == 7)
    }

    @Test func `an item can be cancelled while pending or in flight, but not after its end`() {
        var state = BatchState(window: 2, buffer: 2)
        #expect(state.cancel(1) == false)
        #expect(state.take() == (0, false))
        #expect(state.take() == (1, true))
        #expect(state.cancel(0) == true)
        #expect(state.isCancelled(0))
        _ = state.end(0, .cancelled, acknowledged: 0, total: nil, hasReader: true)
        #expect(state.cancel(0) == false)
    }

    /// A state with every item taken, each with its expected size.
    private func state(_ sizes: [Int64?], count: Int? = nil) -> BatchState {
        var options = UploadBatchOptions()
        options.expectedSizes = sizes
        var state = BatchState(window: .max, buffer: .max, count: count, options: options)
        for _ in sizes { _ = state.take() }
        return state
    }

    @Test func `the total is estimated until all items are taken and all lengths are known`() {
        var state = BatchState(window: 3, buffer: 3)
        _ = state.take()
        _ = state.take()
        state.progress(0, acknowledged: 0, total: 100, isTransferring: true, at: .zero)
        #expect(state.sums(at: .zero).total == nil && state.sums(at: .zero).fraction == nil)
        state.exhaust()
        #expect(state.sums(at: .zero).total == 200 && state.sums(at: .zero).isEstimated && state.count == 2)
        state.progress(1, acknowledged: 10, total: 50, isTransferring: true, at: .zero)
        #expect(state.sums(at: .zero).total == 150 && !state.sums(at: .zero).isEstimated)
        _ = state.end(0, .succeeded, acknowledged: 100, total: 100, hasReader: true)
        let sums = state.sums(at: .zero)
        #expect(sums.total == 150 && sums.acknowledged == 110 && sums.fraction == 110.0 / 150)
    }

    @Test func `nine of ten items with 12 percent of the bytes count as 12 percent`() {
        var state = state([Int64](repeating: 12, count: 9) + [792])
        for index in 0..<9 { _ = state.end(index, .succeeded, acknowledged: 12, total: 12, hasReader: true) }
        let sums = state.sums(at: .zero)
        #expect(sums.fraction == 0.12 && sums.total == 900 && !sums.isEstimated)
    }

    @Test func `expected sizes count before an item is taken, and its prepared length replaces them`() {
        var options = UploadBatchOptions()
        options.expectedSizes = [100, 300, nil]
        var state = BatchState(window: 1, buffer: 3, count: 3, options: options)
        #expect(state.sums(at: .zero).total == 600 && state.sums(at: .zero).isEstimated)
        _ = state.take()
        state.progress(0, acknowledged: 50, total: 120, isTransferring: true, at: .zero)
        #expect(state.sums(at: .zero).total == 630)
        _ = state.end(0, .succeeded, acknowledged: 120, total: 120, hasReader: true)
        _ = state.take()
        _ = state.end(1, .succeeded, acknowledged: 300, total: 300, hasReader: true)
        _ = state.take()
        state.expect(2, 80, isExact: false)
        #expect(state.sums(at: .zero).total == 500 && state.sums(at: .zero).isEstimated)
        state.progress(2, acknowledged: 0, total: 90, isTransferring: true, at: .zero)
        // An estimate does not replace an exact length.
        state.expect(2, 80, isExact: false)
        #expect(state.sums(at: .zero).total == 510 && !state.sums(at: .zero).isEstimated)
    }

    @Test func `sizes that become known later apply to the remaining items`() {
        var state = BatchState(window: 1, buffer: 3, count: 3)
        _ = state.take()
        state.progress(0, acknowledged: 0, total: 10, isTransferring: true, at: .zero)
        #expect(state.sums(at: .zero).total == 30)
        state.expect([ExpectedLength(10), ExpectedLength(200), ExpectedLength(90), ExpectedLength(5_000)])
        #expect(state.sums(at: .zero).total == 300 && !state.sums(at: .zero).isEstimated)
        state.exhaust()
        #expect(state.sums(at: .zero).total == 10 && state.count == 1)
    }

    @Test func `the fraction stays below 1 until the last response`() {
        var state = state([50])
        state.progress(0, acknowledged: 50, total: 50, isTransferring: true, at: .zero)
        state.exhaust()
        let share = state.sums(at: .zero).fraction ?? 1
        #expect(share < 1 && share > 0.99)
        _ = state.end(0, .succeeded, acknowledged: 50, total: 50, hasReader: true)
        #expect(state.sums(at: .zero).fraction == 1)
    }

    @Test func `bytes of a failed item count as completed, but not as acknowledged`() {
        var state = state([100, 100], count: 2)
        _ = state.end(0, .failed, acknowledged: 30, total: nil, hasReader: true)
        let sums = state.sums(at: .zero)
        #expect(sums.fraction == 0.5 && sums.acknowledged == 30 && sums.abandoned == 70 && sums.total == 200)
    }

    @Test func `without sizes the fraction counts items`() {
        var state = BatchState(window: 4, buffer: 4, count: 4)
        _ = state.take()
        #expect(state.sums(at: .zero).fraction == 0)
        _ = state.end(0, .failed, acknowledged: 0, total: nil, hasReader: true)
        #expect(state.sums(at: .zero).fraction == 0.25 && state.sums(at: .zero).isEstimated)
    }

    @Test func `sums of huge sizes do not overflow`() {
        var state = state([.max, .max, .max, -5])
        state.progress(0, acknowledged: .max, total: .max, isTransferring: true, at: .zero)
        let sums = state.sums(at: .zero)
        #expect(sums.total == .max && abs((sums.fraction ?? 0) - 1.0 / 3) < 1e-6)
    }

    @Test func `transfer time excludes time without an item in transfer`() {
        var state = state([100, 100])
        state.progress(0, acknowledged: 0, total: 100, isTransferring: true, at: .seconds(10))
        state.progress(1, acknowledged: 0, total: 100, isTransferring: true, at: .seconds(12))
        _ = state.end(0, .succeeded, acknowledged: 100, total: 100, hasReader: true, at: .seconds(13))
        #expect(state.sums(at: .seconds(14)).transferTime == .seconds(4))
        _ = state.end(1, .succeeded, acknowledged: 100, total: 100, hasReader: true, at: .seconds(15))
        #expect(state.sums(at: .seconds(99)).transferTime == .seconds(5))
    }

    @Test func `the rate excludes preparation, and the time left includes it`() {
        var state = state([1_000, 1_000], count: 2)
        var meter = BatchMeter()
        _ = meter.progress(state.sums(at: .zero), at: .zero)
        // Nine seconds of preparation, one second of transfer.
        state.progress(0, acknowledged: 0, total: 1_000, isTransferring: true, at: .seconds(9))
        state.progress(0, acknowledged: 500, total: 1_000, isTransferring: true, at: .seconds(10))
        let now = meter.progress(state.sums(at: .seconds(10)), at: .seconds(10))
        #expect(abs(now.bytesPerSecond - 500) < 1)
        let left = (now.timeLeft ?? .zero) / .seconds(1)
        #expect(abs(left - 30) < 0.5, "\(left)")
    }

    /// With sums that iterate over all items, this would take hours.
    @Test(.timeLimit(.minutes(3 * Slowness.factor)))
    func `a snapshot of 100,000 items takes constant time`() {
        var state = state([Int64](repeating: 1_000, count: 100_000))
        var last = 0.0
        for index in 0..<100_000 {
            state.progress(index, acknowledged: 500, total: 1_000, isTransferring: true, at: .zero)
            let share = state.sums(at: .zero).fraction ?? 0
            #expect(share > last)
            last = share
        }
        #expect(last == 0.5)
    }

    /// In any order of events, progress never decreases, nothing is counted twice, and the bounds hold.
    @Test func `random event orders keep counters and bounds consistent`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for round in 0..<2_000 {
            let window = Int.random(in: 1...4, using: &random)
            let buffer = Int.random(in: 1...3, using: &random)
            let hasReader = Bool.random(using: &random)
            var state = BatchState(window: window, buffer: buffer, count: Bool.random(using: &random) ? 12 : nil)
            var onTheirWay: Set<Int> = []
            var arrived: Int64 = 0
            var fraction = 0.0
            var last = 0
            for _ in 0..<60 {
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1:
                    guard state.mayTake(hasReader: hasReader) else { break }
                    if state.taken == 12 { state.exhaust() } else { onTheirWay.insert(state.take().index) }
                case 2:
                    guard let index = onTheirWay.randomElement(using: &random) else { break }
                    state.progress(
                        index, acknowledged: .random(in: 0...100, using: &random), total: 100,
                        isTransferring: Bool.random(using: &random), at: .zero)
                case 3:
                    guard let index = onTheirWay.randomElement(using: &random) else { break }
                    onTheirWay.remove(index)
                    let outcome = BatchState.Outcome.allCases.randomElement(using: &random) ?? .failed
                    let end = state.end(
                        index, outcome, acknowledged: outcome == .succeeded ? 100 : 0, total: 100, hasReader: hasReader)
                    #expect(end.isFirstEnd && (!hasReader || end.drop == 0), "seed \(seed), round \(round)")
                case 4 where state.unread > 0: state.read()
                default: _ = state.cancel(.random(in: 0..<14, using: &random))
                }
                #expect(state.executing == onTheirWay.count && state.executing <= window, "seed \(seed)")
                #expect(state.unread <= (hasReader ? buffer + window : buffer), "seed \(seed), round \(round)")
                #expect(state.counts.values.reduce(0, +) == state.ended, "seed \(seed), round \(round)")
                let sums = state.sums(at: .zero)
                #expect(sums.acknowledged >= arrived, "seed \(seed), round \(round)")
                let now = sums.fraction ?? fraction
                #expect(now < 1 || sums.isFinished, "seed \(seed), round \(round)")
                #expect(now >= fraction - 1e-9 && now <= 1, "seed \(seed), round \(round)")
                #expect(state.taken >= last)
                (arrived, fraction, last) = (sums.acknowledged, now, state.taken)
            }
        }
    }
}
