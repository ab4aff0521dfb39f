import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ControlTests {
    private static let large = [UInt8](repeating: 65, count: 8_000_000)

    @Test func `pausing stops a request, and resuming sends it completely`() async throws {
        let world = try OutboxWorld(.stall(afterBodyBytes: 50_000))
        let outbox = try await world.open()
        let receipt = try await outbox.enqueue([.data("D", Self.large)], to: world.server.url("/u"))
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        try await world.server.waitUntil { $0.requests.first.map { $0.bodyBytesRead >= 50_000 } ?? false }
        #expect(try await outbox.pause(.all) == 1)
        try await run.value
        let paused = try #require(try await outbox.item(receipt.id))
        // Stopped before the server had received it completely: no attempt is counted.
        #expect(paused.state == .paused && paused.attempts == 0 && !paused.isDoubtful)
        #expect(try await outbox.resume(.all) == 1)
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.done])
        await outbox.close()
    }

    @Test func `a cancel within the body is certain, and after the body doubtful`() async throws {
        let world = try OutboxWorld(.stall(afterBodyBytes: 50_000), .neverRespond)
        let outbox = try await world.open()
        let first = try await outbox.enqueue([.data("D", Self.large)], to: world.server.url("/u"))
        var run = Task { try await outbox.runUntilIdle(session: world.session) }
        try await world.server.waitUntil { $0.requests.first.map { $0.bodyBytesRead >= 50_000 } ?? false }
        #expect(try await outbox.cancel(.all) == 1)
        try await run.value
        let second = try await outbox.enqueue(try await world.form())
        run = Task { try await outbox.runUntilIdle(session: world.session) }
        _ = try await world.server.request(1)
        #expect(try await outbox.cancel(.item(second.id)) == 1)
        try await run.value
        #expect(try await outbox.item(first.id)?.state == .cancelled)
        #expect(try await outbox.item(first.id)?.isDoubtful == false)
        let doubtful = try #require(try await outbox.item(second.id))
        #expect(doubtful.state == .cancelled && doubtful.isDoubtful && doubtful.reason == "outcomeUnknown")
        #expect(Spool(directory: outbox.path + "/spool").fileNames().isEmpty)
        await outbox.close()
    }

    @Test func `cancelling a worker requeues the item in delivery`() async throws {
        let world = try OutboxWorld(.stall(afterBodyBytes: 50_000))
        let outbox = try await world.open()
        try await outbox.enqueue([.data("D", Self.large)], to: world.server.url("/u"))
        let run = Task { try await outbox.run(session: world.session) }
        try await world.server.waitUntil { $0.requests.first.map { $0.bodyBytesRead >= 50_000 } ?? false }
        run.cancel()
        _ = await run.result
        #expect(try await outbox.states() == [.ready])
        #expect(try await outbox.running().isEmpty)
        await outbox.close()
    }

    @Test func `a result that can't be stored yet is kept, and nothing is sent again`() async throws {
        let gate = Gate()
        let world = try OutboxWorld(.respond(200, body: String(repeating: "r", count: 60_000)).delayed(until: gate))
        let outbox = try await world.open()
        try await outbox.enqueue(try await world.form())
        let store = try #require(outbox.owner?.store as? SQLiteStore)
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        _ = try await world.server.request(0)
        // No additional page: the response does not fit.
        try await store.limit(pages: 1)
        let refused = await #expect(throws: OutboxError.self) {
            try await outbox.enqueue([.text("A", String(repeating: "x", count: 16_000))], to: world.server.url("/u"))
        }
        #expect(refused?.code == .diskFull)
        gate.open()
        try await world.server.waitUntil { $0.requests.first?.responseStatus == 200 }
        try await store.limit(pages: 1_000_000)
        try await run.value
        #expect(try await outbox.results().map(\.body.count) == [60_000])
        #expect(world.server.requests.count == 1)
        await outbox.close()
    }
}
