import TestSupport
import Testing
import WaybillTesting

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ManualClockTests {
    @Test func `sleepers wake when due, the earliest first`() async throws {
        let clock = ManualClock()
        let woken = Watched<[Int]>([])
        let sleepers = [30, 10, 20].map { seconds in
            Task {
                try await clock.sleep(for: .seconds(seconds))
                woken.update { $0.append(seconds) }
            }
        }
        await clock.sleepers(atLeast: 3)
        #expect(clock.pendingSleeps == [.seconds(10), .seconds(20), .seconds(30)])
        clock.advance(by: .seconds(9))
        #expect(clock.pendingSleeps.count == 3)
        clock.advance(by: .seconds(1))
        try await woken.waitUntil { $0 == [10] }
        clock.advance(by: .seconds(20))
        for sleeper in sleepers { try await sleeper.value }
        #expect(Set(woken.value) == [10, 20, 30])
        #expect(clock.now.offset == .seconds(30))
    }

    @Test func `a deadline in the past returns immediately, and a cancelled sleeper is removed`() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(5))
        try await clock.sleep(until: ManualClock.Instant(offset: .seconds(5)))
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.sleepers(atLeast: 1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.pendingSleeps.isEmpty)
    }
}
