import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct PauseTests {
    /// A script that stops after some bytes until its gate opens, then takes the rest.
    private func stopping(after count: Int64, at gate: ScriptGate) -> TransferScript {
        [.connect, .receive(count), .wait(gate), .receiveRest, .respond(.ok)]
    }

    @Test func `a paused upload resumes on the same connection within the limit`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([stopping(after: 20_000, at: gate)])
        let task = world.start(100_000)
        await gate.arrivals(atLeast: 1)
        task.pause()
        #expect(task.isPaused)
        #expect(await progress(of: task) { $0.isPaused }.phase == .sending)
        await world.clock.sleepers(atLeast: 1)
        #expect(world.clock.pendingSleeps == [.seconds(20)])
        gate.open()
        // Another upload completes while the first one is paused.
        #expect(try await world.start(10).response.status == .ok)
        #expect(world.transport.transfers[0].bytesReceived == 20_000)
        task.resume()
        #expect(try await task.response.attempts.count == 1)
        #expect(world.transport.transfers[0].bytesReceived == 100_000)
        #expect(world.clock.pendingSleeps.isEmpty)
        #expect(!task.isPaused)
    }

    @Test func `a long pause returns the slot, and the upload is sent again`() async throws {
        let gate = ScriptGate()
        let scripts: [TransferScript] = [stopping(after: 20_000, at: gate), .responding(.ok)]
        let world = SessionWorld(scripts, slots: 1, slotsPerHost: 1, retry: .none)
        let task = world.start(100_000)
        await gate.arrivals(atLeast: 1)
        let other = world.start(10)
        task.pause()
        await world.clock.sleepers(atLeast: 1)
        world.clock.advance(by: .seconds(20))
        #expect(try await other.response.status == .ok)
        let waiting = await progress(of: task) { $0.attempt == 2 }
        #expect(waiting.phase == .queued && waiting.isPaused && waiting.acknowledged == 0)
        #expect(world.transport.transfers.count == 2)
        task.resume()
        let response = try await task.response
        #expect(response.attempts.map(\.code) == [.paused, nil])
        #expect(response.attempts.map(\.disposition) == [.restart, .end])
        #expect(world.transport.transfers[2].body.count == 100_000)
        #expect(world.transport.running == 0)
    }

    @Test func `pauseKeepsSlot sets how long a paused upload keeps its slot`() async throws {
        let gate = ScriptGate()
        let clock = ManualClock()
        var configuration = UploadSession.Configuration()
        configuration.clock = clock
        configuration.pauseKeepsSlot = .milliseconds(1_500)
        let transport = ScriptedTransport([stopping(after: 1, at: gate), .responding(.ok)])
        let session = UploadSession(configuration: configuration, transport: transport)
        let task = session.start(.data([1, 2, 3]), to: SessionWorld.url)
        await gate.arrivals(atLeast: 1)
        task.pause()
        await clock.sleepers(atLeast: 1)
        #expect(clock.pendingSleeps == [.milliseconds(1_500)])
        clock.advance(by: .milliseconds(1_500))
        _ = await progress(of: task) { $0.attempt == 2 }
        task.resume()
        #expect(try await task.response.attempts.count == 2)
    }

    @Test func `a queued upload that is paused is skipped and sends nothing`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.wait(gate), .connect, .receiveRest, .respond(.ok)]], slots: 1, slotsPerHost: 1)
        let first = world.start()
        await gate.arrivals(atLeast: 1)
        let part = GatedPart()
        let paused = world.session.start([.preparing("FILE", with: part)], to: SessionWorld.url)
        paused.pause()
        paused.pause()
        let others = (0..<5).map { _ in world.start() }
        gate.open()
        for task in [first] + others { #expect(try await task.response.status == .ok) }
        // It may already have been preparing when it was paused; it must not have been sent.
        #expect(world.transport.transfers.count == 6)
        part.canContinue.update { $0 = true }
        paused.resume()
        #expect(try await paused.response.status == .ok)
    }

    @Test func `an upload paused while preparing is ready when it is resumed`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let part = GatedPart()
        let task = world.session.start([.preparing("FILE", with: part)], to: SessionWorld.url)
        try await part.arrived.waitUntil { $0 == 1 }
        task.pause()
        part.canContinue.update { $0 = true }
        _ = await progress(of: task) { $0.phase == .queued && $0.isPaused }
        #expect(world.transport.transfers.isEmpty)
        task.resume()
        #expect(try await task.response.status == .ok)
        #expect(part.arrived.value == 1)
    }

    @Test func `an upload paused between two attempts starts the second one after resuming`() async throws {
        let world = SessionWorld([.breaking(after: 1), .responding(.ok)])
        let task = world.start()
        await world.clock.sleepers(atLeast: 1)
        task.pause()
        world.clock.advance(by: .seconds(60))
        _ = await progress(of: task) { $0.phase == .queued && $0.isPaused }
        #expect(world.transport.transfers.count == 1)
        task.resume()
        #expect(try await task.response.attempts.count == 2)
    }

    @Test func `a pause after the last byte changes nothing`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .receiveRest, .wait(gate), .respond(.ok)]])
        let task = world.start()
        await task.reaches(.awaitingResponse)
        task.pause()
        gate.open()
        #expect(try await task.response.attempts.count == 1)
        #expect(world.clock.pendingSleeps.isEmpty)
    }

    @Test func `a stream that can be read only once keeps its slot while paused`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([stopping(after: 3, at: gate)])
        let task = world.session.start(.body(FaultyBody(isReplayable: false)), to: SessionWorld.url)
        await gate.arrivals(atLeast: 1)
        task.pause()
        _ = await progress(of: task) { $0.isPaused }
        #expect(world.clock.pendingSleeps.isEmpty)
        gate.open()
        task.resume()
        #expect(try await task.response.attempts.count == 1)
    }

    @Test func `a paused upload can be cancelled immediately`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([stopping(after: 20_000, at: gate)])
        let task = world.start(100_000)
        await gate.arrivals(atLeast: 1)
        task.pause()
        task.cancel()
        #expect(await task.error()?.outcome == .incomplete(acknowledged: 20_000))
        #expect(world.clock.pendingSleeps.isEmpty)
        task.resume()
        task.pause()
        #expect(!task.isPaused)
    }

    @Test func `closing with drain resumes paused uploads`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([stopping(after: 1, at: gate)], slots: 1, slotsPerHost: 1)
        let first = world.start()
        await gate.arrivals(atLeast: 1)
        let others = (0..<4).map { _ in world.start() }
        world.session.pauseAll()
        gate.open()
        async let closing: Void = world.session.close(.drain)
        for task in [first] + others { #expect(try await task.response.status == .ok) }
        await closing
        #expect(!world.session.isPaused)
    }

    @Test func `closing with cancel ends paused uploads`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([stopping(after: 1, at: gate)], slots: 1, slotsPerHost: 1)
        let tasks = (0..<4).map { _ in world.start() }
        await gate.arrivals(atLeast: 1)
        world.session.pauseAll()
        await world.session.close(.cancel)
        for task in tasks { #expect(await task.error()?.code == .cancelled) }
    }

    @Test func `random pauses from many threads leave no upload stuck`() async throws {
        let world = SessionWorld([.responding(.ok)], slots: 3, slotsPerHost: 3)
        var seeds = SeededGenerator()
        // With a key, so that an upload closed at the moment its last byte was sent can be sent again, too.
        let options = UploadOptions(retry: .none, idempotency: .honoured(window: .seconds(1 << 40)))
        let content = UploadContent.data([UInt8](repeating: 7, count: 40_000))
        let tasks = (0..<200).map { _ in
            world.session.start(content, to: SessionWorld.url, method: .post, options: options)
        }
        let seed = seeds.next()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<6 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(worker))
                    for _ in 0..<300 {
                        let task = tasks.randomElement(using: &random)!
                        switch Int.random(in: 0..<20, using: &random) {
                        case 0: world.session.pauseAll()
                        case 1: world.session.resumeAll()
                        case 2: world.clock.advance(by: .seconds(20))
                        case 3...10: task.pause()
                        default: task.resume()
                        }
                    }
                }
            }
        }
        world.session.resumeAll()
        for task in tasks {
            let response = try await task.response
            #expect(response.attempts.dropLast().allSatisfy { $0.disposition == .restart })
        }
        #expect(world.transport.maxConcurrent <= 3)
        #expect(world.transport.running == 0)
    }

    /// Waits for a snapshot that the upload is guaranteed to reach.
    private func progress(of task: UploadTask, where isMet: (UploadProgress) -> Bool) async -> UploadProgress {
        for await progress in task.progress where isMet(progress) { return progress }
        return task.run.currentProgress(for: task.handle)
    }
}
