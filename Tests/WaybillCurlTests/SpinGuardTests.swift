import Testing

@testable import WaybillCurl

@Suite struct SpinGuardTests {
    /// The results for rounds, each with its delay after the previous one and its number of libcurl callbacks.
    private func results(_ rounds: [(after: Duration, calls: Int)]) -> [Bool] {
        var (spin, now, callbacks) = (SpinGuard(), ContinuousClock.now, 0)
        return rounds.map { round in
            now += round.after
            callbacks += round.calls
            return spin.isSpinning(callbacks: callbacks, now: now)
        }
    }

    @Test func `consecutive quick rounds without work are a spin`() {
        let rounds =
            [(after: Duration.zero, calls: 1)] + Array(repeating: (after: .microseconds(20), calls: 0), count: 20)
        let idleRounds = SpinGuard.maxIdleRounds
        #expect(
            results(rounds)
                == Array(repeating: false, count: idleRounds) + Array(repeating: true, count: 21 - idleRounds))
    }

    @Test func `rounds after a pause are still a spin`() {
        #expect(results(Array(repeating: (after: SpinGuard.pause, calls: 0), count: 20)).last == true)
    }

    @Test func `rounds with work are not a spin`() {
        #expect(!results(Array(repeating: (after: .microseconds(20), calls: 1), count: 50)).contains(true))
    }

    @Test func `rounds that waited are not a spin`() {
        #expect(!results(Array(repeating: (after: .milliseconds(250), calls: 0), count: 50)).contains(true))
    }

    @Test func `input ends seven of eight pauses`() {
        var (spin, now) = (SpinGuard(), ContinuousClock.now)
        let pauses = (0..<20).compactMap { _ -> Bool? in
            now += .microseconds(20)
            return spin.isSpinning(callbacks: 0, now: now) ? spin.waitsForInput : nil
        }
        #expect(pauses.prefix(9) == [true, true, true, true, true, true, true, false, true])
    }

    @Test func `work ends a spin`() {
        let idle = Array(repeating: (after: Duration.microseconds(20), calls: 0), count: 20)
        #expect(results(idle + [(after: .microseconds(20), calls: 1)]).last == false)
    }
}
