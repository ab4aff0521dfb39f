import TestSupport
import Testing
import Waybill
import WaybillCore
import WaybillTesting

@testable import WaybillOutbox

/// A worker of a store of several machines: what other workers and processes do to its leases.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct LeaseKeeperTests {
    /// A worker with a store of several machines.
    private struct SharedWorld {
        let world: OutboxWorld
        let store: MemoryStore
        let core: OutboxCore
        let worker: Worker
        let drain = Drain()
        /// The clock of the store, which differs from that of this machine.
        let storeClock = Watched<Int64>(1_000_000)
        let clock = ManualClock()
        static let leaseDuration = Duration.seconds(60)

        init(_ behaviour: Behaviour...) throws {
            world = try OutboxWorld()
            for behaviour in behaviour { world.server.script(behaviour) }
            store = MemoryStore(leaseDuration: Self.leaseDuration, now: { [storeClock] in storeClock.value })
            var configuration = OutboxWorld.quick
            configuration.leaseClock = clock
            let spool = Spool(directory: world.directory.path("spool"))
            core = OutboxCore(store, spool, configuration, token: "this worker")
            worker = Worker(core, world.session, try UploadTypeRegistry([]), configuration, drain)
        }

        /// Adds an upload as another process does.
        func enqueue() async throws -> Int64 {
            let form = try await world.form()
            let item = NewItem(
                kind: DurableForm.kind, lane: form.lane.description, spec: try worker.registry.encode(form),
                idempotencyKey: Delivery.newIdempotencyKey())
            return try await store.enqueue([item])[0].id
        }

        func item(_ id: Int64) async throws -> OutboxItem? {
            try await store.items(.item(OutboxID(rawValue: id)), after: 0, limit: 1).first
        }

        /// Advances both clocks by a quarter of a lease, and waits for the renewal.
        func renew() async throws {
            // The renewal, the recovery and the limit.
            await clock.sleepers(atLeast: 3)
            let count = store.renewals.value.count
            storeClock.update { $0 += Self.leaseDuration.milliseconds / 4 }
            clock.advance(by: Self.leaseDuration / 4)
            try await store.renewals.waitUntil { $0.count > count }
        }

        /// Waits until the worker has brought an item into a state.
        func wait(for state: OutboxState, of id: Int64) async throws {
            while true {
                let seen = core.signal.value
                if try await item(id)?.state == state { return }
                await core.signal.wait { $0 != seen }
                try Task.checkCancellation()
            }
        }
    }

    @Test func `a worker delivers what another process enqueues`() async throws {
        let shared = try SharedWorld()
        let run = Task { try await shared.worker.run(untilIdle: false) }
        // The worker is idle and waits.
        try await shared.renew()
        let id = try await shared.enqueue()
        try await shared.wait(for: .done, of: id)
        run.cancel()
        try await run.value
        #expect(shared.world.server.requests.count == 1)
    }

    @Test func `leases are renewed until the delivery ends`() async throws {
        let gate = Gate()
        let shared = try SharedWorld(.respond(200).delayed(until: gate))
        let id = try await shared.enqueue()
        let run = Task { try await shared.worker.run(untilIdle: true) }
        _ = try await shared.world.server.request(0)
        // More than two lease durations, during which another worker looks for leases that have ended.
        for _ in 0..<9 {
            try await shared.renew()
            #expect(try await shared.store.recover(token: "another") == 0)
        }
        gate.open()
        try await run.value
        #expect(try await shared.item(id)?.state == .done)
        #expect(shared.world.server.requests.count == 1)
    }

    @Test func `a delivery whose lease was lost is stopped, and its result ignored`() async throws {
        let shared = try SharedWorld(.neverRespond)
        let id = try await shared.enqueue()
        let run = Task { try await shared.worker.run(untilIdle: false) }
        try await shared.world.server.waitUntil { $0.requests.first?.isComplete == true }
        // Another worker has ended the lease, and verifies the item.
        _ = try await shared.store.apply([ItemChange(id, .lost)])
        let request = LeaseRequest(token: "another", slots: 1, slotsPerLane: 1)
        let other = try #require(try await shared.store.lease(request).items.first)
        try await shared.renew()
        await shared.core.signal.wait { [core = shared.core] _ in core.leases.isEmpty }
        #expect(try await shared.item(id)?.state == .verify)
        let verdict = ItemChange(id, .verdict(.delivered, lease: other.life.leaseNumber))
        #expect(try await shared.store.apply([verdict])[0].isAccepted)
        run.cancel()
        try await run.value
        #expect(try await shared.item(id)?.state == .done)
        #expect(shared.world.server.requests.count == 1)
    }

    @Test func `the result of a lost lease does not end the delivery under the next lease`() async throws {
        let shared = try SharedWorld()
        let shown = RunningItem(
            id: OutboxID(rawValue: 1), attempt: 1, isVerifying: false, acknowledged: 0, total: nil, bytesPerSecond: 0,
            batch: nil)
        for lease in 1...2 as ClosedRange<Int64> {
            shared.core.begin(1, RunningDelivery(item: shown, lane: "h:80", lease: lease)) {}
        }
        shared.core.removeEnded([ItemChange(1, .ended(.aborted, lease: 1))])
        #expect(shared.core.leases == [HeldLease(item: 1, number: 2)])
        shared.core.removeEnded([ItemChange(1, .verdict(.absent, lease: 2))])
        #expect(shared.core.leases.isEmpty)
    }

    @Test func `a delivery is stopped when another process cancels its item`() async throws {
        let shared = try SharedWorld(.neverRespond)
        let id = try await shared.enqueue()
        let run = Task { try await shared.worker.run(untilIdle: false) }
        _ = try await shared.world.server.request(0)
        #expect(try await shared.store.control(.cancel, .all).aborts == [id])
        try await shared.renew()
        try await shared.wait(for: .cancelled, of: id)
        run.cancel()
        try await run.value
    }

    @Test func `deliveries are stopped when their leases cannot be renewed`() async throws {
        let shared = try SharedWorld(.neverRespond)
        let id = try await shared.enqueue()
        let run = Task { try await shared.worker.run(untilIdle: false) }
        try await shared.world.server.waitUntil { $0.requests.first?.isComplete == true }
        shared.store.renewals.update { $0.fail = true }
        // At half a lease after the last renewal.
        for _ in 0..<2 { try await shared.renew() }
        try await shared.wait(for: .failed, of: id)
        run.cancel()
        try await run.value
        let item = try #require(try await shared.item(id))
        #expect(item.reason == "outcomeUnknown" && item.isDoubtful)
        #expect(shared.world.server.requests.count == 1)
    }
}
