import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct GroupTests {
    private static func options(group: String? = nil, tags: Set<String> = []) -> UploadOptions {
        var options = UploadOptions(retry: .none)
        options.group = group
        options.tags = tags
        return options
    }

    private func start(
        _ world: SessionWorld, _ group: String? = nil, tags: Set<String> = [], to path: String = ""
    ) -> UploadTask {
        world.session.start(
            .data([1, 2, 3]), to: SessionWorld.url + path, options: Self.options(group: group, tags: tags))
    }

    @Test func `uploads are found by id, tag and group until they end`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.wait(gate), .connect, .receiveRest, .respond(.ok)]])
        let a = start(world, tags: ["order 7", "front"])
        let b = start(world, "cards", tags: ["order 7"])
        let c = start(world)
        #expect(world.session.uploads.map(\.id) == [a.id, b.id, c.id])
        #expect(world.session.uploads(taggedWith: "order 7").map(\.id) == [a.id, b.id])
        #expect(world.session.uploads(taggedWith: "nothing").isEmpty)
        #expect(world.session.group("cards").uploads.map(\.id) == [b.id])
        #expect(world.session.upload(id: c.id)?.id == c.id)
        #expect(world.session.upload(id: UploadID()) == nil)
        #expect(a.tags == ["order 7", "front"])
        #expect(b.group == "cards")
        #expect(c.group == nil)
        gate.open()
        for task in [a, b, c] { _ = try await task.response }
        #expect(world.session.uploads.isEmpty)
        #expect(world.session.upload(id: a.id) == nil)
    }

    @Test func `the states follow the phases`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.wait(gate), .connect, .receiveRest, .respond(.ok)]], slots: 1, slotsPerHost: 1)
        let tasks = (0..<6).map { _ in start(world) }
        await gate.arrivals(atLeast: 1)
        #expect(tasks[0].state == .executing)
        #expect(tasks[5].state == .ready)
        tasks[5].cancel()
        #expect(await tasks[5].error() != nil)
        #expect(tasks[5].state == .cancelled)
        gate.open()
        for task in tasks[..<5] { _ = try await task.response }
        #expect(tasks[..<5].allSatisfy { $0.state == .finished })
        let states = UploadPhase.allCases.map { UploadState($0) }
        #expect(states.count { $0 == .executing } == 6)
    }

    @Test func `a paused group does not block others, and its new uploads start paused`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let group = world.session.group("g")
        group.pause()
        #expect(group.isPaused && !world.session.isPaused)
        let inside = (0..<3).map { _ in start(world, "g") }
        let outside = (0..<3).map { _ in start(world) }
        for task in outside { #expect(try await task.response.status == .ok) }
        #expect(inside.allSatisfy { $0.isPaused })
        #expect(world.transport.transfers.count == 3)
        // The latest call wins: first one upload is resumed, then all.
        inside[1].resume()
        #expect(try await inside[1].response.status == .ok)
        group.resume()
        for task in inside { #expect(try await task.response.status == .ok) }
        #expect(try await start(world, "g").response.status == .ok)
    }

    @Test func `the latest call wins among session, group and upload controls`() async throws {
        let world = SessionWorld([.responding(.ok)])
        world.session.pauseAll()
        let tasks = [start(world), start(world, "a"), start(world, "b")]
        #expect(tasks.allSatisfy { $0.isPaused })
        world.session.group("a").resume()
        #expect(try await tasks[1].response.status == .ok)
        #expect(try await start(world, "a").response.status == .ok)
        #expect(tasks[0].isPaused && tasks[2].isPaused && start(world, "c").isPaused)
        world.session.group("b").pause()
        world.session.resumeAll()
        for task in tasks { #expect(try await task.response.status == .ok) }
        #expect(!world.session.group("b").isPaused)
        await world.session.close()
    }

    @Test func `cancelling a group cancels only its uploads`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .receive(1), .wait(gate), .receiveRest, .respond(.ok)]], slots: 2)
        let inside = (0..<10).map { _ in start(world, "g") }
        let outside = (0..<10).map { _ in start(world) }
        await gate.arrivals(atLeast: 2)
        world.session.group("g").cancel()
        for task in inside { #expect(await task.error()?.code == .cancelled) }
        gate.open()
        for task in outside { #expect(try await task.response.status == .ok) }
        #expect(try await start(world, "g").response.status == .ok)
        // Two running, ten outside the group, one started later; no queued upload was started only to be cancelled.
        #expect(world.transport.transfers.count == 13)
    }

    @Test func `a group has its own slots, which do not block other uploads`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld(
            [[.wait(gate), .connect, .receiveRest, .respond(.ok)]], slots: 8, slotsPerHost: 8)
        let group = world.session.group("few")
        #expect(group.maximumConcurrentTransfers == nil)
        group.maximumConcurrentTransfers = 2
        #expect(group.maximumConcurrentTransfers == 2)
        let few = (0..<50).map { _ in start(world, "few", to: "/few") }
        let others = (0..<20).map { _ in start(world, to: "/others") }
        await gate.arrivals(atLeast: 8)
        #expect(world.transport.maxConcurrent(to: SessionWorld.url + "/few") == 2)
        #expect(world.transport.maxConcurrent(to: SessionWorld.url + "/others") == 6)
        gate.open()
        for task in few + others { _ = try await task.response }
        #expect(world.transport.maxConcurrent(to: SessionWorld.url + "/few") == 2)
    }

    /// One slot, and urgent uploads that keep arriving while the low-priority one waits.
    @Test func `aging bounds how long a flood of urgent uploads delays a low-priority one`() async throws {
        let transport = ScriptedTransport([.responding(.ok)], keepsBodies: false)
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = 1
        configuration.maximumConcurrentTransfersPerHost = 1
        configuration.priorityReach = 25
        let session = UploadSession(configuration: configuration, transport: transport)
        func start(_ priority: UploadPriority, _ path: String) -> UploadTask {
            var options = UploadOptions(retry: .none)
            options.priority = priority
            return session.start(.data([1]), to: SessionWorld.url + path, options: options)
        }
        session.pauseAll()
        var flood = (0..<30).map { _ in start(.veryHigh, "/urgent") }
        let patient = start(.veryLow, "/patient")
        flood += (0..<300).map { _ in start(.veryHigh, "/urgent") }
        session.resumeAll()
        var index = 0
        while !patient.state.isOver, index < flood.count {
            _ = try await flood[index].response
            flood.append(start(.veryHigh, "/urgent"))
            index += 1
        }
        #expect(try await patient.response.status == .ok)
        let place = transport.transfers.firstIndex { $0.request.url.hasSuffix("/patient") }
        // Uploads before it, uploads that may overtake it (25 for each of four steps), and those in the window
        // already.
        let bound = 30 + 4 * 25 + 4
        #expect(try #require(place) <= bound)
        session.cancelAll()
    }
}

extension UploadState {
    fileprivate var isOver: Bool { self == .finished || self == .cancelled }
}
