import Testing

@testable import WaybillCurl

@Suite struct SpinGuardTests {
    /// What the guard says to rounds of which each comes so long after the one before, with so many calls of libcurl.
    private func answers(_ rounds: [(after: Duration, calls: Int)]) -> [Bool] {
        var (spin, now, callbacks) = (SpinGuard(), ContinuousClock.now, 0)
        return rounds.map { round in
            now += round.after
            callbacks += round.calls
            return spin.isSpinning(callbacks: callbacks, now: now)
        }
    }

    @Test func `quick rounds without work are a spin, as long as they last`() {
        let rounds =
            [(after: Duration.zero, calls: 1)] + Array(repeating: (after: .microseconds(20), calls: 0), count: 20)
        let patience = SpinGuard.patience
        #expect(
            answers(rounds) == Array(repeating: false, count: patience) + Array(repeating: true, count: 21 - patience))
    }

    @Test func `rounds after a pause still are a spin`() {
        #expect(answers(Array(repeating: (after: SpinGuard.pause, calls: 0), count: 20)).last == true)
    }

    @Test func `rounds with work do not count`() {
        #expect(!answers(Array(repeating: (after: .microseconds(20), calls: 1), count: 50)).contains(true))
    }

    @Test func `rounds that waited do not count`() {
        #expect(!answers(Array(repeating: (after: .milliseconds(250), calls: 0), count: 50)).contains(true))
    }

    @Test func `work ends a spin`() {
        let idle = Array(repeating: (after: Duration.microseconds(20), calls: 0), count: 20)
        #expect(answers(idle + [(after: .microseconds(20), calls: 1)]).last == false)
    }
}
