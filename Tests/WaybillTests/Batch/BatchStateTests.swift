import TestSupport
import Testing
import WaybillMultipart

@testable import Waybill

@Suite struct BatchStateTests {
    @Test func `the window bounds how many items are taken`() {
        var ledger = BatchState(window: 2, buffer: 10)
        #expect(ledger.mayTake(isRead: true))
        #expect(ledger.take() == (0, false))
        #expect(ledger.take() == (1, false))
        #expect(!ledger.mayTake(isRead: false))
        #expect(ledger.end(1, .succeeded, acknowledged: 5, total: 5, isRead: true) == (true, 0))
        #expect(ledger.mayTake(isRead: true))
    }

    @Test func `unread results stop the batch only while a reader exists`() {
        var ledger = BatchState(window: 4, buffer: 1)
        _ = ledger.take()
        _ = ledger.take()
        #expect(ledger.end(0, .succeeded, acknowledged: 0, total: 0, isRead: true) == (true, 0))
        #expect(!ledger.mayTake(isRead: true))
        #expect(ledger.mayTake(isRead: false))
        #expect(ledger.end(1, .failed, acknowledged: 0, total: nil, isRead: false) == (true, 1))
        #expect(ledger.unread == 1)
        ledger.read()
        #expect(ledger.mayTake(isRead: true))
    }

    @Test func `each item ends only once`() {
        var ledger = BatchState(window: 1, buffer: 1)
        _ = ledger.take()
        #expect(ledger.end(0, .failed, acknowledged: 3, total: 10, isRead: true).isFirstEnd)
        #expect(!ledger.end(0, .succeeded, acknowledged: 10, total: 10, isRead: true).isFirstEnd)
        #expect(!ledger.end(7, .succeeded, acknowledged: 10, total: 10, isRead: true).isFirstEnd)
        #expect(ledger.counts == [.failed: 1])
        #expect(ledger.sums(at: .zero).acknowledged == 3 && ledger.sums(at: .zero).abandoned == 7)
    }

    @Test func `an item can be cancelled while pending or in flight, but not after its end`() {
        var ledger = BatchState(window: 2, buffer: 2)
        #expect(ledger.cancel(1) == false)
        #expect(ledger.take() == (0, false))
        #expect(ledger.take() == (1, true))
        #expect(ledger.cancel(0) == true)
        #expect(ledger.isCancelled(0))
        _ = ledger.end(0, .cancelled, acknowledged: 0, total: nil, isRead: true)
        #expect(ledger.cancel(0) == false)
    }

    /// A ledger with every item taken, each with its expected size.
    private func ledger(_ sizes: [Int64?], count: Int? = nil) -> BatchState {
        var options = UploadBatchOptions()
        options.expectedSizes = sizes
        var ledger = BatchState(window: .max, buffer: .max, count: count, options: options)
        for _ in sizes { _ = ledger.take() }
        return ledger
    }

    @Test func `the total is estimated until all items are taken and all lengths are known`() {
        var ledger = BatchState(window: 3, buffer: 3)
        _ = ledger.take()
        _ = ledger.take()
        ledger.progress(0, acknowledged: 0, total: 100, isMoving: true, at: .zero)
        #expect(ledger.sums(at: .zero).total == nil && ledger.sums(at: .zero).fraction == nil)
        ledger.exhaust()
        #expect(ledger.sums(at: .zero).total == 200 && ledger.sums(at: .zero).isEstimated && ledger.count == 2)
        ledger.progress(1, acknowledged: 10, total: 50, isMoving: true, at: .zero)
        #expect(ledger.sums(at: .zero).total == 150 && !ledger.sums(at: .zero).isEstimated)
        _ = ledger.end(0, .succeeded, acknowledged: 100, total: 100, isRead: true)
        let sums = ledger.sums(at: .zero)
        #expect(sums.total == 150 && sums.acknowledged == 110 && sums.fraction == 110.0 / 150)
    }

    @Test func `nine of ten items with 12 percent of the bytes count as 12 percent`() {
        var ledger = ledger([Int64](repeating: 12, count: 9) + [792])
        for index in 0..<9 { _ = ledger.end(index, .succeeded, acknowledged: 12, total: 12, isRead: true) }
        let sums = ledger.sums(at: .zero)
        #expect(sums.fraction == 0.12 && sums.total == 900 && !sums.isEstimated)
    }

    @Test func `expected sizes count before an item is taken, and its prepared length replaces them`() {
        var options = UploadBatchOptions()
        options.expectedSizes = [100, 300, nil]
        var ledger = BatchState(window: 1, buffer: 3, count: 3, options: options)
        #expect(ledger.sums(at: .zero).total == 600 && ledger.sums(at: .zero).isEstimated)
        _ = ledger.take()
        ledger.progress(0, acknowledged: 50, total: 120, isMoving: true, at: .zero)
        #expect(ledger.sums(at: .zero).total == 630)
        _ = ledger.end(0, .succeeded, acknowledged: 120, total: 120, isRead: true)
        _ = ledger.take()
        _ = ledger.end(1, .succeeded, acknowledged: 300, total: 300, isRead: true)
        _ = ledger.take()
        ledger.expect(2, 80, isExact: false)
        #expect(ledger.sums(at: .zero).total == 500 && ledger.sums(at: .zero).isEstimated)
        ledger.progress(2, acknowledged: 0, total: 90, isMoving: true, at: .zero)
        // An estimate does not replace an exact length.
        ledger.expect(2, 80, isExact: false)
        #expect(ledger.sums(at: .zero).total == 510 && !ledger.sums(at: .zero).isEstimated)
    }

    @Test func `sizes that become known later apply to the remaining items`() {
        var ledger = BatchState(window: 1, buffer: 3, count: 3)
        _ = ledger.take()
        ledger.progress(0, acknowledged: 0, total: 10, isMoving: true, at: .zero)
        #expect(ledger.sums(at: .zero).total == 30)
        ledger.expect([ExpectedLength(10), ExpectedLength(200), ExpectedLength(90), ExpectedLength(5_000)])
        #expect(ledger.sums(at: .zero).total == 300 && !ledger.sums(at: .zero).isEstimated)
        ledger.exhaust()
        #expect(ledger.sums(at: .zero).total == 10 && ledger.count == 1)
    }

    @Test func `the fraction stays below 1 until the last response`() {
        var ledger = ledger([50])
        ledger.progress(0, acknowledged: 50, total: 50, isMoving: true, at: .zero)
        ledger.exhaust()
        let share = ledger.sums(at: .zero).fraction ?? 1
        #expect(share < 1 && share > 0.99)
        _ = ledger.end(0, .succeeded, acknowledged: 50, total: 50, isRead: true)
        #expect(ledger.sums(at: .zero).fraction == 1)
    }

    @Test func `bytes of a failed item count as completed, but not as acknowledged`() {
        var ledger = ledger([100, 100], count: 2)
        _ = ledger.end(0, .failed, acknowledged: 30, total: nil, isRead: true)
        let sums = ledger.sums(at: .zero)
        #expect(sums.fraction == 0.5 && sums.acknowledged == 30 && sums.abandoned == 70 && sums.total == 200)
    }

    @Test func `without sizes the fraction counts items`() {
        var ledger = BatchState(window: 4, buffer: 4, count: 4)
        _ = ledger.take()
        #expect(ledger.sums(at: .zero).fraction == 0)
        _ = ledger.end(0, .failed, acknowledged: 0, total: nil, isRead: true)
        #expect(ledger.sums(at: .zero).fraction == 0.25 && ledger.sums(at: .zero).isEstimated)
    }

    @Test func `sums of huge sizes do not overflow`() {
        var ledger = ledger([.max, .max, .max, -5])
        ledger.progress(0, acknowledged: .max, total: .max, isMoving: true, at: .zero)
        let sums = ledger.sums(at: .zero)
        #expect(sums.total == .max && abs((sums.fraction ?? 0) - 1.0 / 3) < 1e-6)
    }

    @Test func `transfer time excludes time without an item in transfer`() {
        var ledger = ledger([100, 100])
        ledger.progress(0, acknowledged: 0, total: 100, isMoving: true, at: .seconds(10))
        ledger.progress(1, acknowledged: 0, total: 100, isMoving: true, at: .seconds(12))
        _ = ledger.end(0, .succeeded, acknowledged: 100, total: 100, isRead: true, at: .seconds(13))
        #expect(ledger.sums(at: .seconds(14)).transferTime == .seconds(4))
        _ = ledger.end(1, .succeeded, acknowledged: 100, total: 100, isRead: true, at: .seconds(15))
        #expect(ledger.sums(at: .seconds(99)).transferTime == .seconds(5))
    }

    @Test func `the rate excludes preparation, and the time left includes it`() {
        var ledger = ledger([1_000, 1_000], count: 2)
        var meter = BatchMeter()
        _ = meter.progress(ledger.sums(at: .zero), at: .zero)
        // Nine seconds of preparation, one second of transfer.
        ledger.progress(0, acknowledged: 0, total: 1_000, isMoving: true, at: .seconds(9))
        ledger.progress(0, acknowledged: 500, total: 1_000, isMoving: true, at: .seconds(10))
        let now = meter.progress(ledger.sums(at: .seconds(10)), at: .seconds(10))
        #expect(abs(now.bytesPerSecond - 500) < 1)
        let left = (now.timeLeft ?? .zero) / .seconds(1)
        #expect(abs(left - 30) < 0.5, "\(left)")
    }

    /// With sums that iterate over all items, this would take hours.
    @Test(.timeLimit(.minutes(3 * Slowness.factor)))
    func `a snapshot of 100,000 items takes constant time`() {
        var ledger = ledger([Int64](repeating: 1_000, count: 100_000))
        var last = 0.0
        for index in 0..<100_000 {
            ledger.progress(index, acknowledged: 500, total: 1_000, isMoving: true, at: .zero)
            let share = ledger.sums(at: .zero).fraction ?? 0
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
            let isRead = Bool.random(using: &random)
            var ledger = BatchState(window: window, buffer: buffer, count: Bool.random(using: &random) ? 12 : nil)
            var onTheirWay: Set<Int> = []
            var arrived: Int64 = 0
            var fraction = 0.0
            var last = 0
            for _ in 0..<60 {
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1:
                    guard ledger.mayTake(isRead: isRead) else { break }
                    if ledger.taken == 12 { ledger.exhaust() } else { onTheirWay.insert(ledger.take().index) }
                case 2:
                    guard let index = onTheirWay.randomElement(using: &random) else { break }
                    ledger.progress(
                        index, acknowledged: .random(in: 0...100, using: &random), total: 100,
                        isMoving: Bool.random(using: &random), at: .zero)
                case 3:
                    guard let index = onTheirWay.randomElement(using: &random) else { break }
                    onTheirWay.remove(index)
                    let ending = BatchState.Ending.allCases.randomElement(using: &random) ?? .failed
                    let end = ledger.end(
                        index, ending, acknowledged: ending == .succeeded ? 100 : 0, total: 100, isRead: isRead)
                    #expect(end.isFirstEnd && (!isRead || end.drop == 0), "seed \(seed), round \(round)")
                case 4 where ledger.unread > 0: ledger.read()
                default: _ = ledger.cancel(.random(in: 0..<14, using: &random))
                }
                #expect(ledger.executing == onTheirWay.count && ledger.executing <= window, "seed \(seed)")
                #expect(ledger.unread <= (isRead ? buffer + window : buffer), "seed \(seed), round \(round)")
                #expect(ledger.counts.values.reduce(0, +) == ledger.ended, "seed \(seed), round \(round)")
                let sums = ledger.sums(at: .zero)
                #expect(sums.acknowledged >= arrived, "seed \(seed), round \(round)")
                let now = sums.fraction ?? fraction
                #expect(now < 1 || sums.isFinished, "seed \(seed), round \(round)")
                #expect(now >= fraction - 1e-9 && now <= 1, "seed \(seed), round \(round)")
                #expect(ledger.taken >= last)
                (arrived, fraction, last) = (sums.acknowledged, now, ledger.taken)
            }
        }
    }
}
