import TestSupport
import Testing

@testable import Waybill

@Suite struct BatchLedgerTests {
    @Test func `no more are on their way than the window holds`() {
        var ledger = BatchLedger(window: 2, buffer: 10)
        #expect(ledger.mayTake(isRead: true))
        #expect(ledger.take() == (0, false))
        #expect(ledger.take() == (1, false))
        #expect(!ledger.mayTake(isRead: false))
        #expect(ledger.end(1, .succeeded, acknowledged: 5, total: 5, isRead: true) == (true, 0))
        #expect(ledger.mayTake(isRead: true))
    }

    @Test func `a reader that lags stops the taking, nobody reading does not`() {
        var ledger = BatchLedger(window: 4, buffer: 1)
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

    @Test func `an end counts once`() {
        var ledger = BatchLedger(window: 1, buffer: 1)
        _ = ledger.take()
        #expect(ledger.end(0, .failed, acknowledged: 3, total: 10, isRead: true).isNews)
        #expect(!ledger.end(0, .succeeded, acknowledged: 10, total: 10, isRead: true).isNews)
        #expect(!ledger.end(7, .succeeded, acknowledged: 10, total: 10, isRead: true).isNews)
        #expect(ledger.counts == [.failed: 1] && ledger.acknowledged == 3 && ledger.abandoned == 7)
    }

    @Test func `an item is cancelled before its turn, on its way, and not after its end`() {
        var ledger = BatchLedger(window: 2, buffer: 2)
        #expect(ledger.cancel(1) == false)
        #expect(ledger.take() == (0, false))
        #expect(ledger.take() == (1, true))
        #expect(ledger.cancel(0) == true)
        #expect(ledger.isCancelled(0))
        _ = ledger.end(0, .cancelled, acknowledged: 0, total: nil, isRead: true)
        #expect(ledger.cancel(0) == false)
    }

    @Test func `the total is known when the last item was taken and all have their lengths`() {
        var ledger = BatchLedger(window: 3, buffer: 3)
        _ = ledger.take()
        _ = ledger.take()
        ledger.progress(0, acknowledged: 0, total: 100)
        #expect(ledger.total == nil)
        ledger.exhaust()
        #expect(ledger.total == nil && ledger.count == 2)
        ledger.progress(1, acknowledged: 10, total: 50)
        #expect(ledger.total == 150)
        _ = ledger.end(0, .succeeded, acknowledged: 100, total: 100, isRead: true)
        #expect(ledger.total == 150 && ledger.acknowledged == 110)
        #expect(ledger.itemFraction == (1 + 0.2) / 2)
    }

    /// Whatever comes in whatever order: nothing goes back, nothing is counted twice, and the bounds hold.
    @Test func `random orders keep the books right`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for round in 0..<2_000 {
            let window = Int.random(in: 1...4, using: &random)
            let buffer = Int.random(in: 1...3, using: &random)
            let isRead = Bool.random(using: &random)
            var ledger = BatchLedger(window: window, buffer: buffer, count: Bool.random(using: &random) ? 12 : nil)
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
                    ledger.progress(index, acknowledged: .random(in: 0...100, using: &random), total: 100)
                case 3:
                    guard let index = onTheirWay.randomElement(using: &random) else { break }
                    onTheirWay.remove(index)
                    let ending = BatchLedger.Ending.allCases.randomElement(using: &random) ?? .failed
                    let end = ledger.end(
                        index, ending, acknowledged: ending == .succeeded ? 100 : 0, total: 100, isRead: isRead)
                    #expect(end.isNews && (!isRead || end.drop == 0), "seed \(seed), round \(round)")
                case 4 where ledger.unread > 0: ledger.read()
                default: _ = ledger.cancel(.random(in: 0..<14, using: &random))
                }
                #expect(ledger.executing == onTheirWay.count && ledger.executing <= window, "seed \(seed)")
                #expect(ledger.unread <= (isRead ? buffer + window : buffer), "seed \(seed), round \(round)")
                #expect(ledger.counts.values.reduce(0, +) == ledger.ended, "seed \(seed), round \(round)")
                #expect(ledger.acknowledged >= arrived, "seed \(seed), round \(round)")
                let now = ledger.itemFraction ?? fraction
                #expect(now >= fraction - 1e-9 && now <= 1, "seed \(seed), round \(round)")
                #expect(ledger.taken >= last)
                (arrived, fraction, last) = (ledger.acknowledged, now, ledger.taken)
            }
        }
    }
}
