import Glibc
import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

/// `kill -9` at random moments while uploads with tickets are delivered.
@Suite(.serialized, .timeLimit(.minutes(10 * Slowness.factor))) struct TicketKillTests {
    @Test func `each upload with a ticket is stored and confirmed once despite kills`() async throws {
        var random = SeededGenerator()
        let (uploads, kills) = (120, 25)
        var faults: [TicketServer.Step: [TicketServer.Fault]] = [:]
        for _ in 0..<uploads {
            let kinds: [TicketServer.Fault] = [.expire, .loseResponse, .cut(Int.random(in: 0..<200, using: &random))]
            for step in [TicketServer.Step.ask, .put, .confirm] {
                let isFault = Int.random(in: 0..<5, using: &random) == 0
                faults[step, default: []].append(isFault ? kinds.randomElement(using: &random)! : .pass)
            }
        }
        let server = try TicketServer(faults: faults)
        let directory = try TemporaryDirectory()
        let path = directory.path("outbox")
        let ids = try await fill(path, server, uploads)
        for _ in 0..<kills {
            let child = try ChildProcess(KillRun.worker, ["run", path])
            let enough = server.requestCount + Int.random(in: 1...uploads / 3, using: &random)
            let arrived = Task { try await server.waitUntil { $0.requests.values.reduce(0, +) >= enough } }
            // There may be nothing left to send: then no request arrives, and the worker is killed anyway.
            let watch = Task {
                try await Task.sleep(for: .milliseconds(400 * Slowness.factor))
                arrived.cancel()
            }
            _ = await arrived.result
            watch.cancel()
            child.signal(SIGKILL)
            #expect(try await child.finish().exit == .signal(Int(SIGKILL)))
        }
        let last = try await ChildProcess(KillRun.worker, ["idle", path]).finish()
        #expect(last.exit == .status(0), "\(last.errorText)")
        let outbox = try await Outbox(at: path)
        #expect(try await outbox.states() == [OutboxState](repeating: .done, count: uploads))
        await outbox.close()
        let state = server.state
        print("kill -9, tickets: \(state.requests), \(uploads) uploads, \(kills) kills")
        #expect(state.violations.isEmpty, "\(state.violations)")
        #expect(state.effects.count == uploads && state.effects.values.allSatisfy { $0 == 1 })
        for id in ids {
            let key = try #require(state.keys["\"\(id.key)\""])
            #expect(state.objects[key]?.bytes == id.bytes)
        }
        #expect(state.objects.count == uploads)
        // Kills and faults that caused no repetition would prove nothing.
        #expect(state.requests[.put] ?? 0 > uploads)
    }

    /// Enqueues uploads with different bytes, and returns them with their idempotency keys.
    private func fill(
        _ path: String, _ server: TicketServer, _ count: Int
    ) async throws -> [(key: String, bytes: [UInt8])] {
        var format = TicketFormat(url: "/data/uploadUrl")
        format.headers = "/data/headers"
        format.validFor = "/data/expiresIn"
        let outbox = try await Outbox(at: path)
        var options = EnqueueOptions()
        options.maxAttempts = 1_000
        var ids: [(key: String, bytes: [UInt8])] = []
        for number in 0..<count {
            let bytes = Array("photo \(number) ".utf8) + [UInt8](repeating: 66, count: 300)
            let upload = try DurableTicketedUpload(
                data: bytes, ask: DurableRequest(.post, server.server.url("/tickets")), format: format,
                confirm: DurableRequest(
                    .post, server.server.url("/confirm/{ticket:/data/id}"), body: #"{"etag":"{header:etag}"}"#,
                    idempotency: .honoured(window: .seconds(82_800))))
            let receipt = try await outbox.enqueue(upload, options: options)
            ids.append((try #require(try await outbox.item(receipt.id)).idempotencyKey, bytes))
        }
        await outbox.close()
        return ids
    }
}
