import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct DeduplicationTests {
    private let gate = ScriptGate()

    private var world: SessionWorld {
        SessionWorld([[.connect, .receive(1), .wait(gate), .receiveRest, .respond(.ok, body: "done")]])
    }

    private func start(
        _ world: SessionWorld, key: String? = "card 7", _ priority: UploadPriority = .normal, bytes: Int = 5
    ) -> UploadTask {
        var options = UploadOptions(retry: .none)
        options.deduplicationKey = key
        options.priority = priority
        return world.session.start(
            .data([UInt8](repeating: 1, count: bytes)), to: SessionWorld.url, options: options)
    }

    @Test func `starting an upload with the key of a running one joins it and sends nothing`() async throws {
        let world = world
        let first = start(world)
        let second = start(world, bytes: 999)
        let stranger = start(world, key: "card 8")
        await gate.arrivals(atLeast: 2)
        #expect(!first.isJoined && second.isJoined && !stranger.isJoined)
        #expect(first.id == second.id && first.id != stranger.id)
        async let seen = second.progress.reduce(into: [UploadPhase]()) { $0.append($1.phase) }
        gate.open()
        #expect(try await first.response.body == second.response.body)
        #expect(await seen.last == .succeeded)
        _ = try await stranger.response
        // Only the first request is sent.
        #expect(world.transport.transfers.map(\.body.count) == [5, 5])
        // After the upload ended, the same key is sent again.
        let third = start(world)
        #expect(!third.isJoined)
        _ = try await third.response
        #expect(world.transport.transfers.count == 3)
    }

    @Test func `joined handles are cancelled separately, and the last cancel stops the transfer`() async throws {
        let world = world
        let tasks = [start(world), start(world), start(world)]
        await gate.arrivals(atLeast: 1)
        async let last = tasks[0].progress.reduce(into: [UploadProgress]()) { $0.append($1) }.last
        let waiting = Task { await tasks[0].error() }
        tasks[0].cancel()
        let error = try #require(await waiting.value)
        #expect(error.code == .cancelled && error.outcome == .unknown)
        #expect(await last?.phase == .cancelled)
        #expect(tasks[0].state == .cancelled && tasks[1].state == .executing)
        #expect(world.session.uploads.count == 2)
        #expect(world.transport.running == 1)
        tasks[0].cancel()
        tasks[1].cancel()
        #expect(await tasks[1].error()?.isCancelled == true)
        #expect(world.transport.running == 1)
        tasks[2].cancel()
        #expect(await tasks[2].error()?.outcome == .incomplete(acknowledged: 1))
        #expect(world.transport.running == 0)
        // An upload that is being cancelled can't be joined.
        gate.open()
        #expect(try await start(world).response.status == .ok)
    }

    @Test func `cancelling a joined handle leaves the response to the others`() async throws {
        let world = world
        let first = start(world)
        let second = start(world)
        await gate.arrivals(atLeast: 1)
        first.cancel()
        gate.open()
        #expect(try await second.response.status == .ok)
        #expect(await first.error()?.code == .cancelled)
        #expect(first.state == .cancelled && second.state == .finished)
        let ends = Watched(0)
        first.onCompletion { if case .failure = $0 { ends.update { $0 += 1 } } }
        second.onCompletion { if case .success = $0 { ends.update { $0 += 1 } } }
        try await ends.waitUntil { $0 == 2 }
    }

    @Test func `cancelling a task that awaits a joined handle cancels only that handle`() async throws {
        let world = world
        let first = start(world)
        let second = start(world)
        await gate.arrivals(atLeast: 1)
        let waiting = Task { try await second.response }
        waiting.cancel()
        await #expect(throws: UploadError.self) { try await waiting.value }
        gate.open()
        #expect(try await first.response.status == .ok)
    }

    @Test func `cancelAll cancels all joined handles`() async throws {
        let world = world
        let tasks = [start(world), start(world)]
        await gate.arrivals(atLeast: 1)
        world.session.cancelAll()
        for task in tasks { #expect(await task.error()?.code == .cancelled) }
    }

    @Test func `the highest priority of joined handles applies, and pausing needs all of them`() async throws {
        let world = world
        let calm = start(world, .low)
        #expect(calm.run.priority == .low)
        let urgent = start(world, .veryHigh)
        #expect(calm.run.priority == .veryHigh && calm.priority == .low)
        urgent.priority = .normal
        #expect(calm.run.priority == .normal)
        urgent.cancel()
        #expect(calm.run.priority == .low)

        let third = start(world)
        await gate.arrivals(atLeast: 1)
        calm.pause()
        #expect(calm.isPaused && !calm.run.snapshot.isPaused)
        third.pause()
        #expect(calm.run.snapshot.isPaused)
        third.resume()
        #expect(!calm.run.snapshot.isPaused)
        third.cancel()
        #expect(calm.run.snapshot.isPaused)
        // A new handle starts unpaused and resumes the upload.
        let fourth = start(world)
        #expect(fourth.isJoined && !calm.run.snapshot.isPaused)
        gate.open()
        #expect(try await calm.response.status == .ok)
    }

    @Test func `an invalid request with the key of a running upload fails only for its caller`() async throws {
        let world = world
        let first = start(world)
        var options = UploadOptions()
        options.deduplicationKey = "card 7"
        let wrong = world.session.start(.data([1]), to: "ftp://backend.example/", options: options)
        #expect(!wrong.isJoined)
        #expect(await wrong.error()?.code == .invalidURL)
        gate.open()
        #expect(try await first.response.status == .ok)
    }

    @Test func `concurrent starts with the same key share one transfer`() async throws {
        let world = world
        let tasks = await withTaskGroup(of: UploadTask.self) { group in
            for number in 0..<64 { group.addTask { start(world, key: "key \(number % 2)") } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        await gate.arrivals(atLeast: 2)
        for task in tasks.dropFirst(40) { task.cancel() }
        gate.open()
        for task in tasks.prefix(40) { #expect(try await task.response.status == .ok) }
        #expect(tasks.count { !$0.isJoined } == 2)
        #expect(world.transport.transfers.count == 2)
    }
}
