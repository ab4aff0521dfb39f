import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct PurgeTests {
    @Test func `a purge removes ended items with their files, and reports the space`() async throws {
        let world = try OutboxWorld(.respond(400))
        let hours = Locked<Int64>(0)
        var configuration = OutboxWorld.quick
        configuration.now = { WallClock.now() + hours.withLock { $0 } * 3_600_000 }
        let outbox = try await world.open(configuration)
        // A failed item keeps its file for a retry.
        try await outbox.enqueue([.data("D", [UInt8](repeating: 65, count: 1_000_000))], to: world.server.url("/u"))
        try await world.deliver(outbox)
        try await outbox.enqueue(try await world.form())
        hours.withLock { $0 = 2 }
        #expect(try await outbox.purge(olderThan: .seconds(3 * 3_600)).items == 0)
        let client = try await world.open(configuration)
        #expect(!client.isOwner)
        let purge = try await client.purge(olderThan: .seconds(3_600))
        #expect(purge.items == 1 && purge.bytes >= 1_000_000, "\(purge)")
        #expect(try await outbox.states() == [.ready])
        #expect(Spool(directory: try #require(outbox.directory).spool).fileNames().isEmpty)
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.done])
        await client.close()
        await outbox.close()
    }
}
