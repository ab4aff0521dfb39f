import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ProgressTests {
    @Test func `two listeners receive the same progress at their own pace`() async throws {
        let gates = (0..<4).map { _ in ScriptGate() }
        let world = SessionWorld([
            [
                .connect, .receive(10), .wait(gates[0]), .receive(10), .wait(gates[1]), .receive(10), .wait(gates[2]),
                .receiveRest, .wait(gates[3]), .respond(.ok),
            ]
        ])
        let first = Watched<[UploadProgress]>([])
        let second = Watched<[UploadProgress]>([])
        let task = world.start()
        task.onProgress { progress in first.update { $0.append(progress) } }
        await gates[0].arrivals(atLeast: 1)
        task.onProgress { progress in second.update { $0.append(progress) } }
        // The first script step may have run before either listener started; both see the second one.
        gates[0].open()
        try await first.waitUntil { $0.last?.acknowledged == 20 }
        try await second.waitUntil { $0.last?.acknowledged == 20 }
        gates[1].open()
        try await first.waitUntil { $0.last?.acknowledged == 30 }
        gates[2].open()
        try await second.waitUntil { $0.last?.phase == .awaitingResponse }
        gates[3].open()
        try await first.waitUntil { $0.last?.phase == .succeeded }
        try await second.waitUntil { $0.last?.phase == .succeeded }
        for listener in [first.value, second.value] {
            #expect(listener.last?.acknowledged == 100)
            #expect(zip(listener, listener.dropFirst()).allSatisfy { $0.acknowledged <= $1.acknowledged })
        }
    }

    @Test func `a late listener receives the latest snapshot, and only the end after the end`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .receive(10), .wait(gate), .receiveRest, .respond(.ok)]])
        let task = world.start()
        await gate.arrivals(atLeast: 1)
        var late = task.progress.makeAsyncIterator()
        let progress = try #require(await late.next())
        #expect(progress.phase == .sending)
        gate.open()
        _ = try await task.response
        var phases: [UploadPhase] = []
        for await progress in task.progress { phases.append(progress.phase) }
        #expect(phases == [.succeeded])
        for _ in 0..<2 { _ = await late.next() }
        #expect(await late.next() == nil)
    }

    @Test func `a slow listener skips snapshots, but not the newest and the last`() async throws {
        let start = ScriptGate()
        let end = ScriptGate()
        let steps: [TransferScript.Step] = [.connect, .wait(start)] + (0..<50).map { _ in .receive(1) }
        let world = SessionWorld([TransferScript(steps + [.wait(end), .receiveRest, .respond(.ok)])])
        let task = world.start()
        var slow = task.progress.makeAsyncIterator()
        _ = await slow.next()
        start.open()
        await end.arrivals(atLeast: 1)
        #expect(await slow.next()?.acknowledged == 50)
        end.open()
        _ = try await task.response
        #expect(await slow.next()?.phase == .succeeded)
        #expect(await slow.next() == nil)
    }

    @Test func `progress is computed only while a listener exists`() async throws {
        let gates = (0..<2).map { _ in ScriptGate() }
        let world = SessionWorld([
            [.connect, .wait(gates[0]), .receive(10), .wait(gates[1]), .receiveRest, .respond(.ok)]
        ])
        let task = world.start()
        await gates[0].arrivals(atLeast: 1)
        #expect(!task.run.wantsProgress)
        do {
            var listener = task.progress.makeAsyncIterator()
            _ = await listener.next()
            #expect(task.run.wantsProgress)
        }
        #expect(!task.run.wantsProgress)
        gates[0].open()
        await gates[1].arrivals(atLeast: 1)
        #expect(task.run.snapshot.acknowledged == 0)
        gates[1].open()
        #expect(try await task.response.attempts.first?.acknowledged == 100)
    }

    @Test func `callbacks run in order, and completion runs last`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let events = Watched<[String]>([])
        world.start(100_000)
            .onProgress { progress in events.update { $0.append("\(progress.phase)") } }
            .onCompletion { result in events.update { $0.append((try? result.get()) == nil ? "error" : "done") } }
        let seen = try await events.waitUntil { $0.last == "done" }
        #expect(seen.filter { $0 == "succeeded" }.count == 1)
        #expect(seen.suffix(2) == ["succeeded", "done"])
    }

    @Test func `progress of parts is derived from acknowledged bytes`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .receiveRest, .wait(gate), .respond(.ok)]])
        let form: MultipartForm = [
            .text("DOCTYPE", "ID"), .data("FILE", [UInt8](repeating: 1, count: 1_000), fileName: "card.jpg"),
        ]
        let task = world.session.start(form, to: SessionWorld.url)
        await gate.arrivals(atLeast: 1)
        let progress = task.run.currentProgress(for: 0)
        #expect(progress.parts.map(\.name) == ["DOCTYPE", "FILE"])
        #expect(progress.parts.map(\.fileName) == [nil, "card.jpg"])
        #expect(progress.parts.map(\.acknowledged) == [2, 1_000])
        gate.open()
        _ = try await task.response
    }

    @Test(arguments: [(0, 0), (99, 0), (100, 0), (101, 1), (150, 50), (200, 100), (900, 100)])
    func `the progress of a part is clamped to its range`(acknowledged: Int64, ofPart: Int64) {
        let part = BodyPart(name: "FILE", range: 100..<200)
        #expect(PartProgress(part, acknowledgedOfBody: acknowledged).acknowledged == ofPart)
    }

    @Test func `the rate follows the transfer and restarts with each attempt`() {
        var meter = RateMeter()
        meter.add(acknowledged: 0, attempt: 1, at: .zero)
        #expect(meter.bytesPerSecond == 0)
        for tick in 1...100 { meter.add(acknowledged: Int64(tick) * 5_000, attempt: 1, at: .milliseconds(tick * 50)) }
        #expect(abs(meter.bytesPerSecond - 100_000) < 1)
        for tick in 101...300 { meter.add(acknowledged: 500_000, attempt: 1, at: .milliseconds(tick * 50)) }
        #expect(meter.bytesPerSecond < 2_000)
        meter.add(acknowledged: 0, attempt: 2, at: .seconds(16))
        #expect(meter.bytesPerSecond == 0)
        // Two snapshots within a microsecond are too close for a rate.
        meter.add(acknowledged: 500_000, attempt: 2, at: .seconds(16) + .microseconds(1))
        #expect(meter.bytesPerSecond == 0)
        meter.add(acknowledged: 500_000, attempt: 2, at: .seconds(17))
        #expect(abs(meter.bytesPerSecond - 500_000) < 1)
    }

    @Test func `the fraction is nil for an unknown length and 1 for an empty body`() {
        #expect(UploadProgress(phase: .sending, attempt: 1, acknowledged: 5, total: 20).fraction == 0.25)
        #expect(UploadProgress(phase: .sending, attempt: 1, acknowledged: 5).fraction == nil)
        #expect(UploadProgress(phase: .sending, attempt: 1, total: 0).fraction == 1)
    }

    @Test func `the rate excludes time outside of sending`() {
        let clock = ManualClock()
        let broadcast = ProgressBroadcast(clock: clock)
        var snapshot = UploadSnapshot()
        func rate(_ phase: UploadPhase, _ acknowledged: Int64, after time: Duration) -> Double {
            clock.advance(by: time)
            (snapshot.phase, snapshot.acknowledged) = (phase, acknowledged)
            broadcast.publish(snapshot)
            return broadcast.current(for: 0).bytesPerSecond
        }
        #expect(rate(.waiting, 0, after: .zero) == 0)
        #expect(rate(.preparing, 0, after: .seconds(10)) == 0)
        #expect(rate(.connecting, 0, after: .seconds(10)) == 0)
        #expect(abs(rate(.sending, 1_000, after: .seconds(1)) - 1_000) < 1)
        #expect(rate(.retrying, 1_000, after: .seconds(1)) == 0)
    }

    @Test func `progress of a pending retry has its reason, number and time left`() async throws {
        let world = SessionWorld([.responding(.serviceUnavailable), .responding(.ok)])
        let task = world.start()
        await task.reaches(.retrying)
        await world.clock.sleepers(atLeast: 1)
        let retry = try #require(task.latestProgress.retry)
        #expect(retry.reason.contains("503 Service Unavailable"), "\(retry.reason)")
        #expect(retry.number == 1 && retry.limit == 3 && retry.delay == .seconds(1))
        world.clock.advance(by: .milliseconds(400))
        #expect(task.latestProgress.retry?.timeLeft == .milliseconds(600))
        world.clock.advance(by: .milliseconds(600))
        _ = try await task.response
        #expect(task.latestProgress.retry == nil)
    }
}
