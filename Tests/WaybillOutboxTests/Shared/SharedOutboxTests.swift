import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// Outboxes of several machines over one store.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct SharedOutboxTests {
    @Test func `one machine delivers what another enqueues, and both see the result`() async throws {
        let shared = try SharedOutboxWorld()
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        let receipt = try await first.enqueue(try await shared.world.form(), options: EnqueueOptions())
        #expect(try await second.item(receipt.id)?.state == .ready)
        try await shared.deliver(second)
        #expect(first.isOwner && second.isOwner && first.path == "memory:")
        #expect(try await first.states() == [.done])
        let result = try #require(try await first.results().first)
        #expect(result.text == "ok" && result.item.id == receipt.id)
        try await second.acknowledge(through: result.sequence)
        #expect(try await first.results().isEmpty)
        #expect(try await first.tally()[.done] == 1)
    }

    @Test func `machines that deliver concurrently send each item once`() async throws {
        let shared = try SharedOutboxWorld()
        let outboxes = [try await shared.open("one"), try await shared.open("two"), try await shared.open("three")]
        for number in 0..<60 {
            try await outboxes[number % 3].enqueue(try await shared.world.form("\(number)"))
        }
        try await withThrowingTaskGroup { group in
            for outbox in outboxes { group.addTask { try await shared.deliver(outbox) } }
            try await group.waitForAll()
        }
        #expect(try await outboxes[0].tally().counts == [.done: 60])
        #expect(shared.server.requests.count == 60)
        #expect(Set(shared.server.requests.compactMap { $0.value(of: "Idempotency-Key") }).count == 60)
    }

    @Test func `a machine cancels a delivery of another one`() async throws {
        let shared = try SharedOutboxWorld(.neverRespond)
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        try await first.enqueue(try await shared.world.form())
        let run = shared.start(first)
        _ = try await shared.server.request(0)
        #expect(try await second.cancel(.all) == 1)
        try await shared.wait(for: .cancelled)
        run.cancel()
        try await run.value
    }

    @Test func `a request to stop items of other machines does not stop later deliveries`() async throws {
        let shared = try SharedOutboxWorld(.neverRespond)
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        try await first.enqueue(try await shared.world.form(idempotency: .honoured(window: .seconds(3_600))))
        let run = shared.start(first)
        _ = try await shared.server.request(0)
        try await second.pause(.all)
        run.cancel()
        try await run.value
        try await second.resume(.all)
        try await shared.deliver(second)
        #expect(try await second.states() == [.done])
        #expect(shared.server.requests.count == 2)
    }

    @Test func `deliveries of other machines are listed without bytes`() async throws {
        let gate = Gate()
        let shared = try SharedOutboxWorld(.respond(200).delayed(until: gate))
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        var options = EnqueueOptions()
        options.batch = "b"
        let id = try await first.enqueue(try await shared.world.form(), options: options).id
        let run = shared.start(first)
        _ = try await shared.server.request(0)
        let seen = try #require(try await second.running().first)
        #expect(seen.id == id && seen.attempt == 1 && seen.acknowledged == 0 && seen.batch == "b")
        #expect(try await first.running().map(\.id) == [id])
        var progress = second.progress(batch: "b").makeAsyncIterator()
        #expect(try await progress.next()?.running.map(\.id) == [id])
        gate.open()
        try await shared.wait(for: .done)
        run.cancel()
        try await run.value
        #expect(try await second.running().isEmpty)
    }

    @Test func `machines share the limit of a lane`() async throws {
        let gate = Gate()
        let shared = try SharedOutboxWorld(.respond(200).delayed(until: gate))
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        let form = try await shared.world.form()
        try await second.setMaximumConcurrentDeliveries(1, lane: form.lane.description)
        try await first.enqueue(contentsOf: [form, form])
        let run = shared.start(first)
        _ = try await shared.server.request(0)
        // Starts nothing, and does not wait for the other machine.
        try await shared.deliver(second)
        #expect(shared.server.requests.count == 1)
        #expect(try await second.states() == [.leased, .ready])
        gate.open()
        try await shared.wait(for: .done, .done)
        run.cancel()
        try await run.value
    }

    @Test func `one machine passes on results, and another one continues after it`() async throws {
        let shared = try SharedOutboxWorld()
        let seen = Watched<[String]>([])
        func open(_ host: String) async throws -> Outbox {
            var configuration = OutboxWorld.quick
            configuration.onResult = { result in
                let name = "\(host) \(result.item.id)"
                seen.update { $0.append(name) }
            }
            return try await shared.open(host, configuration)
        }
        let (first, second) = (try await open("one"), try await open("two"))
        let runs = [shared.start(first)]
        try await first.enqueue(try await shared.world.form())
        try await seen.waitUntil { $0 == ["one 1"] }
        let other = shared.start(second)
        for _ in 0..<10 { try await second.enqueue(try await shared.world.form()) }
        try await seen.waitUntil { $0.count == 11 }
        runs[0].cancel()
        try await runs[0].value
        try await second.enqueue(try await shared.world.form())
        try await seen.waitUntil { $0.count == 12 }
        other.cancel()
        try await other.value
        // In the order of their ends.
        #expect(Set(seen.value.prefix(11)) == Set((1...11).map { "one \($0)" }) && seen.value.last == "two 12")
    }

    @Test func `a start tries a blocked lane with one item`() async throws {
        let shared = try SharedOutboxWorld(.respond(401))
        let (first, second) = (try await shared.open("one"), try await shared.open("two"))
        let form = try await shared.world.form()
        try await first.enqueue(contentsOf: [form, form, form])
        try await shared.store.lane(form.lane.description, .block("status401", jitter: 1))
        try await shared.deliver(second)
        #expect(shared.server.requests.count == 1)
        #expect(try await first.blockedLanes().values.map(\.self) == ["status401"])
        #expect(try await first.states() == [.ready, .ready, .ready])
        try await shared.deliver(first)
        #expect(try await first.states() == [.done, .done, .done])
        #expect(try await first.blockedLanes().isEmpty)
    }

    @Test func `a start ends the leases of a worker that is gone`() async throws {
        let now = Watched(WallClock.now())
        let store = MemoryStore(leaseDuration: .seconds(2)) { now.value }
        let world = try OutboxWorld()
        var configuration = OutboxWorld.quick
        configuration.store = SharedOutboxStore("memory:") { () async throws(OutboxError) in store }
        let outbox = try await Outbox(configuration: configuration)
        try await outbox.enqueue(try await world.form(idempotency: .honoured(window: .seconds(3_600))))
        let request = LeaseRequest(token: "gone", slots: 1, slotsPerLane: 1)
        #expect(try await store.lease(request).items.count == 1)
        now.update { $0 += 2_001 }
        let run = Task { try await outbox.run(session: world.session) }
        _ = try await world.server.request(0)
        try await store.changes.waitUntil { _ in world.server.requests.first?.isComplete == true }
        run.cancel()
        try await run.value
        #expect(try await outbox.item(OutboxID(rawValue: 1))?.attempts == 2)
    }
}
