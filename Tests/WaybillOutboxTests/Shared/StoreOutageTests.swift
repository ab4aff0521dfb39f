import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// A shared store that cannot be reached, or does not respond.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct StoreOutageTests {
    @Test func `calls report that the store cannot be reached`() async throws {
        let shared = try SharedOutboxWorld()
        let outbox = try await shared.open()
        shared.store.outage.update { $0.isReachable = false }
        let opening = await #expect(throws: OutboxError.self) { try await shared.open() }
        #expect(opening?.code == .storeUnreachable)
        let enqueuing = await #expect(throws: OutboxError.self) {
            try await outbox.enqueue(try await shared.world.form())
        }
        #expect(enqueuing?.code == .storeUnreachable)
    }

    @Test func `a worker reports that it waits for the store, and stores results after the outage`() async throws {
        let gate = Gate()
        let shared = try SharedOutboxWorld(.respond(200, body: "kept").delayed(until: gate))
        let reports = Watched<[OutboxError.Code?]>([])
        var configuration = OutboxWorld.quick
        configuration.storeChanged = { error in reports.update { $0.append(error?.code) } }
        let outbox = try await shared.open("one", configuration)
        try await outbox.enqueue(try await shared.world.form())
        let run = shared.start(outbox)
        _ = try await shared.server.request(0)
        shared.store.outage.update { $0.isReachable = false }
        gate.open()
        // The result cannot be stored, again and again.
        try await shared.store.outage.waitUntil { $0.failures >= 3 }
        shared.store.outage.update { $0.isReachable = true }
        try await shared.wait(for: .done)
        #expect(try await outbox.results().first?.text == "kept")
        #expect(shared.server.requests.count == 1)
        // Once each, whatever the number of failed calls.
        #expect(try await reports.waitUntil { $0.count >= 2 } == [.storeUnreachable, nil])
        run.cancel()
        try await run.value
    }

    @Test func `a worker starts while the store cannot be reached`() async throws {
        let shared = try SharedOutboxWorld()
        let outbox = try await shared.open()
        try await outbox.enqueue(try await shared.world.form())
        shared.store.outage.update { $0.isReachable = false }
        let run = shared.start(outbox)
        try await shared.store.outage.waitUntil { $0.failures >= 4 }
        shared.store.outage.update { $0.isReachable = true }
        try await shared.wait(for: .done)
        run.cancel()
        try await run.value
    }

    @Test func `a run ends while the store cannot be reached`() async throws {
        let shared = try SharedOutboxWorld()
        let outbox = try await shared.open()
        shared.store.outage.update { $0.isReachable = false }
        let run = shared.start(outbox)
        try await shared.store.outage.waitUntil { $0.failures >= 6 }
        run.cancel()
        try await run.value
    }

    @Test func `a renewal that never returns stops deliveries, and the run ends`() async throws {
        let shared = try SharedOutboxWorld(.neverRespond)
        let outbox = try await shared.open()
        try await outbox.enqueue(try await shared.world.form())
        let run = shared.start(outbox)
        try await shared.server.waitUntil { $0.requests.first?.isComplete == true }
        shared.store.isHanging.update { $0 = true }
        // Stopped after its last byte: verified, which fails without an honoured key.
        try await shared.wait(for: .failed)
        run.cancel()
        try await run.value
        shared.store.isHanging.update { $0 = false }
        #expect(shared.server.requests.count == 1)
    }

    @Test func `items whose leases arrive late are returned and leased again`() async throws {
        let shared = try SharedOutboxWorld()
        let outbox = try await shared.open()
        let id = try await outbox.enqueue(try await shared.world.form()).id
        shared.store.holdsLeases.update { $0 = true }
        let run = shared.start(outbox)
        try await shared.wait(for: .leased)
        let count = shared.store.renewals.value.count
        // More than half a lease.
        try await shared.store.renewals.waitUntil { $0.count >= count + 4 }
        shared.store.holdsLeases.update { $0 = false }
        try await shared.wait(for: .done)
        #expect(shared.server.requests.count == 1)
        #expect(shared.store.life(id.rawValue)?.leaseNumber == 2 && shared.store.life(id.rawValue)?.attempts == 1)
        run.cancel()
        try await run.value
    }

    @Test func `the configuration decides how an outbox is opened`() async throws {
        let shared = try SharedOutboxWorld()
        let missing = await #expect(throws: OutboxError.self) { try await Outbox(configuration: OutboxWorld.quick) }
        #expect(missing?.code == .directoryUnusable)
        var configuration = OutboxWorld.quick
        configuration.store = SharedOutboxStore("memory:") { () async throws(OutboxError) in shared.store }
        let both = await #expect(throws: OutboxError.self) {
            try await Outbox(at: shared.world.path, configuration: configuration)
        }
        #expect(both?.code == .directoryUnusable)
    }

    @Test func `a closed outbox reports that it is closed`() async throws {
        let shared = try SharedOutboxWorld()
        let outbox = try await shared.open()
        await outbox.close()
        let error = await #expect(throws: OutboxError.self) { try await outbox.tally() }
        #expect(error?.code == .closed && !outbox.isOwner)
    }
}
