import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct CancelTests {
    @Test func `cancelling a waiting upload prevents its preparation`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .wait(gate), .receiveRest, .respond(.ok)]], slots: 1)
        // One sends, three are prepared, the next ones wait.
        let others = (0..<4).map { _ in world.start() }
        let parts = (0..<3).map { _ in GatedPart() }
        let waiting = parts.map { world.session.start([.preparing("FILE", with: $0)], to: SessionWorld.url) }
        await gate.arrivals(atLeast: 1)
        waiting[1].cancel()
        let error = try #require(await waiting[1].error())
        #expect(error.code == .cancelled)
        #expect(error.phase == .waiting)
        #expect(error.outcome == .notSent)
        #expect(parts[1].arrived.value == 0)
        gate.open()
        for other in others { _ = try await other.response }
        for index in [0, 2] {
            parts[index].canContinue.update { $0 = true }
            #expect(try await waiting[index].response.status == .ok)
        }
        #expect(world.transport.transfers.count == 6)
    }

    @Test func `cancelling during preparation stops the preparation`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let part = GatedPart()
        let task = world.session.start([.preparing("FILE", with: part)], to: SessionWorld.url)
        try await part.arrived.waitUntil { $0 == 1 }
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.code == .cancelled)
        #expect(error.phase == .preparing)
        try await part.wasCancelled.waitUntil { $0 }
        #expect(world.transport.transfers.isEmpty)
    }

    @Test func `cancelling an upload queued for a slot sends nothing`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .wait(gate), .receiveRest, .respond(.ok)]], slots: 1)
        let first = world.start()
        await gate.arrivals(atLeast: 1)
        let second = world.start()
        await second.reaches(.queued)
        second.cancel()
        let error = try #require(await second.error())
        #expect(error.phase == .queued)
        #expect(error.outcome == .notSent)
        gate.open()
        #expect(try await first.response.status == .ok)
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `cancelling while connecting has the outcome notSent`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.wait(gate), .connect, .receiveRest]])
        let task = world.start()
        await gate.arrivals(atLeast: 1)
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.code == .cancelled)
        #expect(error.phase == .connecting)
        #expect(error.outcome == .notSent)
        #expect(error.attempts.count == 1)
    }

    @Test func `cancelling while sending reports the acknowledged bytes`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .receive(40), .wait(gate), .receiveRest]])
        let task = world.start()
        await gate.arrivals(atLeast: 1)
        task.cancel()
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.code == .cancelled)
        #expect(error.isCancelled)
        #expect(error.outcome == .incomplete(acknowledged: 40))
        #expect(error.acknowledged == 40)
        #expect(world.transport.transfers.first?.bytesReceived == 40)
        task.cancel()
        #expect(await task.error()?.acknowledged == 40)
    }

    @Test func `cancelling while awaiting the response has an unknown outcome`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .receiveRest, .wait(gate), .hang]])
        let task = world.start()
        await gate.arrivals(atLeast: 1)
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.phase == .awaitingResponse)
        #expect(error.outcome == .unknown)
    }

    @Test func `cancelling while waiting for a retry ends immediately`() async throws {
        let world = SessionWorld([.breaking(after: 10), .responding(.ok)])
        let task = world.start()
        await world.clock.sleepers(atLeast: 1)
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.code == .cancelled)
        #expect(error.phase == .retrying)
        #expect(error.outcome == .incomplete(acknowledged: 10))
        world.clock.advance(by: .seconds(1_000))
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `a response that arrives after a cancel succeeds`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .receiveRest, .ignoreCancel, .wait(gate), .respond(.ok)]])
        let task = world.start()
        await gate.arrivals(atLeast: 1)
        task.cancel()
        #expect(try await task.response.status == .ok)
    }

    @Test func `cancelling the surrounding task cancels sending and preparing`() async throws {
        let sending = ScriptGate()
        let world = SessionWorld([[.connect, .receive(1), .wait(sending), .hang]])
        let upload = Task {
            await Result { () async throws(UploadError) in
                try await world.session.upload(.data([1, 2]), to: SessionWorld.url)
            }
        }
        await sending.arrivals(atLeast: 1)
        upload.cancel()
        let end = await upload.value
        #expect(throws: UploadError.self) { try end.get() }

        let part = GatedPart()
        let form: MultipartForm = [.preparing("FILE", with: part)]
        let preparing = Task { await world.session.start(form, to: SessionWorld.url).error() }
        try await part.arrived.waitUntil { $0 == 1 }
        preparing.cancel()
        #expect(await preparing.value?.phase == .preparing)
        try await part.wasCancelled.waitUntil { $0 }
    }

    @Test func `a task that is already cancelled prepares nothing and receives the end`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let part = GatedPart()
        let phases = Watched<[UploadPhase]>([])
        let upload = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await Result { () async throws(UploadError) in
                try await world.session.upload([.preparing("FILE", with: part)], to: SessionWorld.url) { progress in
                    phases.update { $0.append(progress.phase) }
                }
            }
        }
        guard case .failure(let error) = await upload.value else {
            Issue.record("no error")
            return
        }
        #expect(error.code == .cancelled)
        #expect(part.arrived.value == 0)
        #expect(world.transport.transfers.isEmpty)
        #expect(phases.value.last == .cancelled)
    }

    @Test func `an upload can be cancelled in its progress callback`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .wait(gate), .receiveRest, .hang]])
        let task = world.start(50_000)
        task.onProgress { progress in
            if progress.phase == .sending { gate.open() }
            if progress.acknowledged > 0 { task.cancel() }
        }
        let error = try #require(await task.error())
        #expect(error.code == .cancelled)
    }

    @Test func `a thousand random cancels give each upload one end`() async throws {
        var random = SeededGenerator()
        let script: TransferScript = [.connect, .receive(20), .receive(20), .receiveRest, .respond(.ok)]
        let world = SessionWorld([script], slots: 16, slotsPerHost: 9)
        let ends = Watched(0)
        var tasks: [UploadTask] = []
        for _ in 0..<1_000 {
            let task = world.start()
            task.onCompletion { _ in ends.update { $0 += 1 } }
            tasks.append(task)
            if Bool.random(using: &random) { tasks.randomElement(using: &random)?.cancel() }
        }
        for task in tasks { _ = await task.end() }
        try await ends.waitUntil { $0 == 1_000 }
        #expect(world.transport.running == 0)
    }
}

extension Result where Failure == UploadError {
    fileprivate init(_ body: () async throws(UploadError) -> Success) async {
        do throws(UploadError) {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
