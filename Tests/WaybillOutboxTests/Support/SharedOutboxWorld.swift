import TestSupport
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// Outboxes of several machines over one store in memory, with a local server.
final class SharedOutboxWorld: Sendable {
    let world: OutboxWorld
    let store: MemoryStore
    static let leaseDuration = Duration.seconds(2)

    init(_ script: Behaviour..., otherwise: Behaviour = .respond(200, body: "ok")) throws {
        world = try OutboxWorld(otherwise: otherwise)
        for behaviour in script { world.server.script(behaviour) }
        store = MemoryStore(leaseDuration: Self.leaseDuration) { WallClock.now() }
    }

    var server: LoopbackServer { world.server }

    /// Opens an outbox as a process of a machine does.
    func open(
        _ host: String = "one", _ configuration: Outbox.Configuration = OutboxWorld.quick,
        change: (inout SharedOutboxStore) throws -> Void = { _ in }
    ) async throws -> Outbox {
        var configuration = configuration
        var shared = SharedOutboxStore("memory:") { [store] () async throws(OutboxError) in
            guard store.outage.value.isReachable else {
                throw OutboxError(.storeUnreachable, "The store cannot be reached.")
            }
            return store
        }
        shared.host = host
        try change(&shared)
        configuration.store = shared
        return try await Outbox(configuration: configuration)
    }

    /// Delivers until the queue is idle.
    func deliver(_ outbox: Outbox) async throws { try await outbox.runUntilIdle(session: world.session) }

    /// Starts a worker.
    func start(_ outbox: Outbox) -> Task<Void, any Error> {
        Task { [session = world.session] in try await outbox.run(session: session) }
    }

    /// Waits until the items of the store have states.
    func wait(for states: OutboxState...) async throws {
        while true {
            let seen = store.changes.value
            if try await store.items(.all, after: 0, limit: 1_000).map(\.state) == states { return }
            try await store.changes.waitUntil { $0 != seen }
        }
    }
}
