import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct DeliveryTests {
    @Test func `an enqueued item is delivered once, and its response is stored`() async throws {
        let world = try OutboxWorld(otherwise: .respond(201, headers: [("ETag", "\"7\"")], body: "stored"))
        let outbox = try await world.open()
        let receipt = try await outbox.enqueue(try await world.form())
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.done])
        let result = try #require(try await outbox.results().first)
        #expect(result.item.id == receipt.id && result.status == 201 && result.text == "stored")
        #expect(result.headers.contains { $0.name == "ETag" && $0.value == "\"7\"" })
        #expect(world.server.requests.count == 1)
        let key = try #require(world.server.requests[0].value(of: "Idempotency-Key"))
        #expect(key == "\"\(result.item.idempotencyKey)\"")
        await outbox.close()
    }

    @Test func `all attempts have the same bytes and the same key`() async throws {
        let world = try OutboxWorld(.respond(503), .respond(503), .respond(429))
        let outbox = try await world.open()
        let large = [UInt8](repeating: 65, count: 400_000)
        try await outbox.enqueue([.text("A", "b"), .data("D", large)], to: world.server.url("/u"))
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.done])
        let requests = world.server.requests
        #expect(requests.count == 4)
        #expect(Set(requests.filter(\.isComplete).map(\.body)).count == 1)
        #expect(Set(requests.compactMap { $0.value(of: "Idempotency-Key") }).count == 1)
        #expect(Set(requests.compactMap { $0.value(of: "Content-Type") }).count == 1)
        // The staged data is removed with its item.
        #expect(Spool(directory: outbox.path + "/spool").fileNames().isEmpty)
        await outbox.close()
    }

    @Test func `a lost response is retried only if the server honours the key`() async throws {
        let world = try OutboxWorld(.closeWithoutResponse(), .closeWithoutResponse())
        let outbox = try await world.open()
        try await outbox.enqueue(try await world.form("plain"))
        try await world.deliver(outbox)
        let failed = try #require(try await outbox.results().first)
        #expect(failed.item.state == .failed && failed.item.reason == "outcomeUnknown" && failed.item.isDoubtful)
        #expect(world.server.requests.count == 1)
        try await outbox.enqueue(try await world.form("known", idempotency: .honoured(window: .seconds(3_600))))
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.failed, .done])
        #expect(world.server.requests.count == 3)
        await outbox.close()
    }

    @Test(arguments: [408, 500, 502, 504])
    func `a status with an unknown outcome is retried only with an honoured key`(status: Int) async throws {
        let world = try OutboxWorld(.respond(status), .respond(status))
        let outbox = try await world.open()
        try await outbox.enqueue(try await world.form("plain"))
        try await world.deliver(outbox)
        let failed = try #require(try await outbox.results().first)
        #expect(failed.item.reason == "outcomeUnknown" && failed.item.isDoubtful && failed.status == status)
        #expect(world.server.requests.count == 1)
        try await outbox.enqueue(try await world.form("known", idempotency: .honoured(window: .seconds(3_600))))
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.failed, .done])
        #expect(world.server.requests.count == 3)
        await outbox.close()
    }

    @Test func `an item whose response was lost stays doubtful when a later attempt is refused`() async throws {
        let world = try OutboxWorld(.closeWithoutResponse(), .respond(422))
        let outbox = try await world.open()
        try await outbox.enqueue(try await world.form(idempotency: .honoured(window: .seconds(3_600))))
        try await world.deliver(outbox)
        let failed = try #require(try await outbox.results().first)
        #expect(failed.item.state == .failed && failed.item.reason == "status422" && failed.item.isDoubtful)
        #expect(world.server.requests.count == 2)
        await outbox.close()
    }

    @Test func `a doubtful item is not sent again after its key window`() async throws {
        let world = try OutboxWorld(.closeWithoutResponse(), .respond(401))
        let hours = Locked<Int64>(0)
        var configuration = OutboxWorld.quick
        configuration.now = { WallClock.now() + hours.withLock { $0 } * 3_600_000 }
        let outbox = try await world.open(configuration)
        try await outbox.enqueue(try await world.form(idempotency: .honoured(window: .seconds(3_600))))
        try await world.deliver(outbox)
        // The second attempt got a 401, which blocks the lane: the item stays ready.
        let waiting = try #require(try await outbox.item(OutboxID(rawValue: 1)))
        #expect(waiting.state == .ready && waiting.isDoubtful && world.server.requests.count == 2)
        hours.withLock { $0 = 30 }
        try await world.deliver(outbox)
        let failed = try #require(try await outbox.results().first)
        #expect(failed.item.state == .failed && failed.item.reason == "outcomeUnknown" && failed.item.isDoubtful)
        #expect(world.server.requests.count == 2)
        await outbox.close()
    }

    @Test(arguments: [UnknownPolicy.fail, .retry, .ask])
    func `the unknown policy decides about doubtful items`(policy: UnknownPolicy) async throws {
        let world = try OutboxWorld(.closeWithoutResponse())
        let outbox = try await world.open()
        var options = EnqueueOptions()
        options.onUnknown = policy
        try await outbox.enqueue(try await world.form(), options: options)
        try await world.deliver(outbox)
        switch policy {
        case .fail: #expect(try await outbox.states() == [.failed])
        case .retry: #expect(try await outbox.states() == [.done])
        case .ask:
            #expect(try await outbox.states() == [.paused])
            // A manual decision.
            #expect(try await outbox.retry(.all) == 1)
            try await world.deliver(outbox)
            #expect(try await outbox.states() == [.done])
        }
        #expect(world.server.requests.count == (policy == .fail ? 1 : 2))
        await outbox.close()
    }

    @Test func `a rejected credential blocks the lane and fails no item`() async throws {
        let world = try OutboxWorld(.respond(401))
        var configuration = OutboxWorld.quick
        configuration.maximumConcurrentDeliveriesPerLane = 1
        configuration.credentials = CredentialTable { _ in .secret("t0ken") }
        let outbox = try await world.open(configuration)
        for _ in 0..<3 {
            let form = try await DurableForm(
                [.text("A", "b")], to: world.server.url("/u"), credential: .bearer(named: "clerk"))
            try await outbox.enqueue(form)
        }
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.ready, .ready, .ready])
        #expect(world.server.requests.count == 1)
        #expect(world.server.requests[0].value(of: "Authorization") == "Bearer t0ken")
        #expect(try await outbox.blockedLanes().values.sorted() == ["status401"])
        #expect(try await outbox.item(OutboxID(rawValue: 1))?.attempts == 0)
        // A new run tries the lane again.
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.done, .done, .done])
        await outbox.close()
    }

    @Test func `a running worker probes a blocked lane and continues`() async throws {
        let world = try OutboxWorld(.respond(401))
        var configuration = OutboxWorld.quick
        configuration.maximumConcurrentDeliveriesPerLane = 1
        // The shortest suspension of a blocked lane: 7.5 seconds.
        configuration.jitter = { 0 }
        let outbox = try await world.open(configuration)
        for _ in 0..<3 { try await outbox.enqueue(try await world.form()) }
        let run = Task { try await outbox.run(session: world.session) }
        let core = try #require(outbox.owner)
        while true {
            let seen = core.signal.value
            if try await outbox.states() == [.done, .done, .done] { break }
            await core.signal.wait { $0 != seen }
        }
        run.cancel()
        _ = await run.result
        #expect(world.server.requests.count == 4)
        #expect(try await outbox.blockedLanes().isEmpty)
        await outbox.close()
    }

    @Test func `a lane has as many concurrent deliveries as its limit, also after a change of the limit`() async throws
    {
        let gate = Gate()
        let world = try OutboxWorld(otherwise: .respond(200).delayed(until: gate))
        let outbox = try await world.open()
        let form = try await world.form()
        let lane = form.lane.description
        try await outbox.setMaximumConcurrentDeliveries(2, lane: lane)
        #expect(try await outbox.lanes().map(\.maximumConcurrentDeliveries) == [2])
        for _ in 0..<5 { try await outbox.enqueue(form) }
        let run = Task { try await outbox.run(session: world.session) }
        _ = try await world.server.request(1)
        #expect(try await outbox.running().count == 2)
        try await outbox.setMaximumConcurrentDeliveries(3, lane: lane)
        _ = try await world.server.request(2)
        #expect(try await outbox.running().count == 3)
        try await outbox.setMaximumConcurrentDeliveries(nil, lane: lane)
        _ = try await world.server.request(4)
        #expect(try await outbox.running().count == 5)
        #expect(try await outbox.lanes().isEmpty)
        gate.open()
        outbox.drain(atMost: .seconds(60 * Slowness.factor))
        try await run.value
        #expect(try await outbox.states() == Array(repeating: .done, count: 5))
        await outbox.close()
    }

    @Test func `a verification counts against the limit of its lane`() async throws {
        let gate = Gate()
        let world = try OutboxWorld(.closeWithoutResponse(), .respond(200).delayed(until: gate))
        var configuration = OutboxWorld.quick
        configuration.kinds = [VerifiedTestUpload.self]
        let outbox = try await world.open(configuration)
        let upload = VerifiedTestUpload(url: world.server.url("/u"))
        try await outbox.setMaximumConcurrentDeliveries(1, lane: upload.lane.description)
        try await outbox.enqueue(upload)
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        _ = try await world.server.request(1)
        #expect(try await outbox.running().map(\.isVerifying) == [true])
        // The worker leases again, and finds the item of another lane.
        try await outbox.enqueue(upload)
        try await outbox.enqueue(try await world.form())
        _ = try await world.server.request(2)
        #expect(try await outbox.states().prefix(2) == [.verify, .ready])
        gate.open()
        try await run.value
        #expect(try await outbox.states() == [.done, .done, .done])
        #expect(world.server.requests.count == 4)
        await outbox.close()
    }

    @Test func `a forbidden item fails without blocking others`() async throws {
        let world = try OutboxWorld(.respond(403))
        let outbox = try await world.open()
        for _ in 0..<20 {
            try await outbox.enqueue(try await DurableForm([.text("A", "b")], to: world.server.url("/u")))
        }
        try await world.deliver(outbox)
        let states = try await outbox.states()
        #expect(states.count { $0 == .failed } == 1 && states.count { $0 == .done } == 19)
        #expect(try await outbox.blockedLanes().isEmpty)
        await outbox.close()
    }

    @Test func `a lane that forbids everything is blocked after five items`() async throws {
        let world = try OutboxWorld(otherwise: .respond(403))
        var configuration = OutboxWorld.quick
        configuration.maximumConcurrentDeliveriesPerLane = 1
        let outbox = try await world.open(configuration)
        for _ in 0..<20 {
            try await outbox.enqueue(try await DurableForm([.text("A", "b")], to: world.server.url("/u")))
        }
        try await world.deliver(outbox)
        #expect(try await outbox.states().count { $0 == .failed } == 5)
        #expect(try await outbox.blockedLanes().values.sorted() == ["status403"])
        await outbox.close()
    }

    @Test func `a refused connection counts no attempt`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        let port = try ClosedPort()
        try await outbox.enqueue(try await DurableForm([.text("A", "b")], to: port.url()))
        let core = try #require(outbox.owner)
        let run = Task { try await outbox.run(session: world.session) }
        while true {
            let seen = core.signal.value
            if try await core.store.lanes().values.contains(where: { $0.failures > 0 }) { break }
            await core.signal.wait { $0 != seen }
        }
        run.cancel()
        _ = await run.result
        let item = try #require(try await outbox.item(OutboxID(rawValue: 1)))
        #expect(item.state == .ready && item.attempts == 0 && item.reason == "cannotConnect")
        await outbox.close()
    }

    @Test func `a permanent rejection is not retried`() async throws {
        let world = try OutboxWorld(.respond(422, body: "no such field"))
        let outbox = try await world.open()
        try await outbox.enqueue(try await world.form())
        try await world.deliver(outbox)
        let result = try #require(try await outbox.results().first)
        #expect(result.item.state == .failed && result.item.reason == "status422" && result.text == "no such field")
        #expect(!result.item.isDoubtful && world.server.requests.count == 1)
        await outbox.close()
    }

    @Test func `each consumer receives all results until it acknowledges them`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        for number in 0..<3 { try await outbox.enqueue(try await world.form("\(number)")) }
        try await world.deliver(outbox)
        try await outbox.acknowledge(through: 2, for: "ledger")
        try await outbox.acknowledge(through: 1)
        #expect(try await outbox.results(for: "ledger").map(\.sequence) == [3])
        #expect(try await outbox.results(for: "mail", limit: 2).map(\.sequence) == [1, 2])
        #expect(try await outbox.results().map(\.sequence) == [2, 3])
        // No name of a consumer changes the marks of the outbox itself.
        try await outbox.acknowledge(through: 90, for: OutboxMark.sequence)
        #expect(try await outbox.lastSequence() == 3)
        await outbox.close()
    }

    @Test func `results are reported after they are stored, in order, until acknowledged`() async throws {
        let world = try OutboxWorld()
        let reported = Watched<[Int64]>([])
        let calls = Watched(0)
        var configuration = OutboxWorld.quick
        configuration.onResult = { result in
            // An error of the callback: the result is reported again, and nothing is sent again.
            if calls.update({
                $0 += 1; return $0
            }) == 2 {
                throw CancellationError()
            }
            reported.update { $0.append(result.sequence) }
        }
        let outbox = try await world.open(configuration)
        for number in 0..<4 { try await outbox.enqueue(try await world.form("\(number)")) }
        try await world.deliver(outbox)
        #expect(reported.value == [1, 2, 3, 4] && calls.value == 5)
        #expect(world.server.requests.count == 4)
        #expect(try await outbox.results().map(\.sequence) == [1, 2, 3, 4])
        try await outbox.acknowledge(through: 3)
        await outbox.close()
        let again = try await world.open()
        #expect(try await again.results().map(\.sequence) == [4])
        #expect(try await again.results(after: 0).count == 4)
        await again.close()
    }
}

/// An upload that is verified by a second request.
private struct VerifiedTestUpload: DurableUpload {
    static let kind = "verified"
    var url: String
    var lane: DurableLane { DurableLane(host: "verified.test:80") }

    func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        try await delivery.session.upload(.data([1]), to: url, method: .post, options: delivery.options)
    }

    func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict {
        .delivered(try await deliver(delivery))
    }
}
