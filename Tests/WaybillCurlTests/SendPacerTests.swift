import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct SendPacerTests {
    private let start = ContinuousClock.now

    /// Sends whenever there is an allowance and the pacer is due, and returns the number of bytes sent until `end`.
    private func run(_ pacer: inout SendPacer, from: Duration, to end: Duration) -> Int {
        var now = start + from
        var sent = 0
        while now < start + end {
            let allowance = pacer.allowance(now: now)
            if allowance > 0 {
                let piece = min(allowance, 64 << 10)
                pacer.consume(piece)
                sent += piece
            } else {
                #expect(pacer.due(now: now) > now)
                now = max(pacer.due(now: now), now + .microseconds(1))
            }
        }
        return sent
    }

    private func expectAllowance(
        _ pacer: inout SendPacer, now: ContinuousClock.Instant, _ isRight: (Int) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let allowance = pacer.allowance(now: now)
        #expect(isRight(allowance), "allowance for \(allowance)", sourceLocation: sourceLocation)
    }

    @Test(arguments: [1, 7, 1_000, 100_000, 1_234_567, 80_000_000])
    func `the average matches the rate`(rate: Int) {
        var pacer = SendPacer(rate: .bytes(Int64(rate)))
        let seconds = rate < 10 ? 100 : 10
        let sent = run(&pacer, from: .zero, to: .seconds(seconds))
        // One extra chunk is allowed at first.
        #expect(sent >= rate * seconds - max(1, rate / 8))
        #expect(sent <= rate * seconds + max(1, rate / 4))
    }

    @Test func `unused rate is not saved up for long`() {
        var pacer = SendPacer(rate: .kilobytes(80))
        _ = run(&pacer, from: .zero, to: .seconds(1))
        // A pause of a minute saves up the bytes of half a second.
        let burst = run(&pacer, from: .seconds(61), to: .seconds(62))
        #expect(burst <= 40_000 + 80_000 + 10_000)
        #expect(burst >= 80_000)
    }

    @Test func `a changed limit applies from then on`() {
        var pacer = SendPacer(rate: nil)
        expectAllowance(&pacer, now: start) { $0 == .max }
        pacer.consume(1 << 30)
        pacer.limit(to: .kilobytes(80), now: start + .seconds(5))
        let sent = run(&pacer, from: .seconds(5), to: .seconds(10))
        #expect((380_000...420_000).contains(sent))
        pacer.limit(to: .kilobytes(8), now: start + .seconds(10))
        let slower = run(&pacer, from: .seconds(10), to: .seconds(15))
        #expect((35_000...45_000).contains(slower))
        pacer.limit(to: nil, now: start + .seconds(15))
        expectAllowance(&pacer, now: start + .seconds(15)) { $0 == .max }
    }

    @Test func `huge rates and long times do not overflow`() {
        var pacer = SendPacer(rate: .bytes(.max))
        expectAllowance(&pacer, now: start) { $0 > 0 }
        pacer.consume(1 << 20)
        expectAllowance(&pacer, now: start + .seconds(1 << 40)) { $0 > 0 }
        #expect(SendPacer(rate: .bytes(0)).rate == nil)
    }
}
