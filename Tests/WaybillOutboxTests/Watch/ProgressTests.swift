import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ProgressTests {
    private func tally(ready: Int64, done: Int64) -> OutboxTally {
        var tally = OutboxTally()
        tally.counts = [.ready: ready > 0 ? 1 : 0, .done: 1]
        tally.bytes = [.ready: ready, .done: done]
        return tally
    }

    @Test func `the time left follows the rate and is never negative`() {
        var meter = ProgressMeter()
        #expect(meter.snapshot(tally(ready: 900, done: 100), [], [:], at: .zero).timeLeft == nil)
        let second = meter.snapshot(tally(ready: 800, done: 200), [], [:], at: .seconds(1))
        #expect(second.bytesPerSecond == 100 && second.timeLeft == .seconds(8))
        // A changing rate is smoothed.
        let third = meter.snapshot(tally(ready: 800, done: 200), [], [:], at: .seconds(4))
        #expect(third.bytesPerSecond == 90)
        let last = meter.snapshot(tally(ready: 0, done: 1_000), [], [:], at: .seconds(5))
        #expect(last.timeLeft == .zero && last.isFinished && last.bytesDone == 1_000 && last.bytesTotal == 1_000)
    }

    @Test func `running items count with their acknowledged bytes`() {
        var meter = ProgressMeter()
        let running = RunningItem(
            id: OutboxID(rawValue: 1), attempt: 1, isVerifying: false, acknowledged: 50, total: 60, bytesPerSecond: 1)
        let snapshot = meter.snapshot(tally(ready: 60, done: 40), [running], [:], at: .zero)
        #expect(snapshot.bytesDone == 90 && snapshot.bytesTotal == 100)
    }

    @Test func `a batch is observed by a client of the owner until its end`() async throws {
        let gate = Gate()
        let world = try OutboxWorld(.respond(200).delayed(until: gate))
        let outbox = try await world.open()
        let client = try await world.open()
        var options = EnqueueOptions()
        options.batch = "b"
        try await client.enqueue(contentsOf: [try await world.form("1"), try await world.form("2")], options: options)
        try await client.enqueue(try await world.form("of no batch"))
        _ = try await outbox.pause(.item(OutboxID(rawValue: 3)))
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        var seen: [OutboxProgress] = []
        for try await progress in client.progress(batch: "b", every: .zero) {
            seen.append(progress)
            if !progress.running.isEmpty { gate.open() }
        }
        try await run.value
        let last = try #require(seen.last)
        #expect(last.isFinished && last.tally[.done] == 2 && last.tally.total == 2)
        #expect(try await outbox.states() == [.done, .done, .paused])
        await client.close()
        await outbox.close()
    }
}
