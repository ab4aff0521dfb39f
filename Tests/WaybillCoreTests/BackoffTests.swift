import Testing
import WaybillCore

@Suite struct BackoffTests {
    private let backoff = Backoff(from: .seconds(1), to: .seconds(60))

    @Test func `the time doubles up to the maximum`() {
        for (failures, seconds) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (31, 60), (Int.max, 60)] {
            #expect(backoff.delay(after: failures) == .seconds(seconds))
        }
        #expect(backoff.delay(after: 0) == .seconds(1) && backoff.delay(after: .min) == .seconds(1))
        #expect(Backoff(from: .zero, to: .seconds(9)).delay(after: 5) == .zero)
        #expect(Backoff(from: .seconds(9), to: .seconds(1)).delay(after: 1) == .seconds(1))
    }

    @Test func `the jittered time is between zero and the full time`() {
        #expect(backoff.delay(after: 3, jitter: 0) == .zero && backoff.delay(after: 3, jitter: -1) == .zero)
        #expect(backoff.delay(after: 3, jitter: 0.25) == .seconds(1))
        #expect(backoff.delay(after: 3, jitter: 7) == .seconds(4))
        #expect(Backoff(from: .seconds(-1), to: .seconds(1)).delay(after: 3, jitter: 1) == .zero)
    }

    @Test func `very long times do not overflow`() {
        #expect(Backoff(from: .seconds(1 << 60), to: .seconds(1 << 61)).delay(after: 90) == .seconds(1 << 61))
        #expect(Backoff(from: .seconds(1), to: .seconds(Int64.max)).delay(after: 90, jitter: 1) > .seconds(1 << 29))
    }
}
