import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct SourceTests {
    @Test(arguments: [SourceChangePolicy.fail, .restart, .skip])
    func `a file that changed before its turn is treated as was chosen`(policy: SourceChangePolicy) async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        let path = try world.folder.write("card", "what was meant")
        var options = EnqueueOptions()
        options.onChange = policy
        let upload = try await DurableFileUpload(path: path, to: world.server.url("/c"))
        try await outbox.enqueue(upload, options: options)
        try world.folder.replace("card", with: "something else")
        try await world.deliver(outbox)
        switch policy {
        case .fail: #expect(try await outbox.states() == [.failed])
        case .skip: #expect(try await outbox.states() == [.cancelled])
        case .restart:
            #expect(try await outbox.states() == [.done])
            #expect(world.server.requests.map(\.body) == [Array("something else".utf8)])
        }
        if policy != .restart {
            #expect(world.server.requests.isEmpty)
            #expect(try await outbox.results().first?.item.reason == "sourceChanged")
        }
        await outbox.close()
    }

    @Test func `a snapshot is sent whatever becomes of the file`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        let path = try world.folder.write("card", "what was meant")
        var options = EnqueueOptions()
        options.keeping = .snapshot
        try await outbox.enqueue([.file("F", path: path)], to: world.server.url("/c"), options: options)
        world.folder.remove("card")
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.done])
        #expect(String(decoding: world.server.requests[0].body, as: UTF8.self).contains("what was meant"))
        #expect(String(decoding: world.server.requests[0].body, as: UTF8.self).contains("filename=\"card\""))
        #expect(Spool(folder: outbox.folder.spool).fileNames().isEmpty)
        await outbox.close()
    }

    @Test func `a file that changes while it is sent never arrives whole`() async throws {
        let gate = Gate()
        let world = try OutboxWorld()
        world.server.script(.respond(200).paused(afterBodyBytes: 100_000, until: gate))
        let outbox = try await world.open()
        let path = try world.folder.write("large", [UInt8](repeating: 1, count: 30_000_000))
        try await outbox.enqueue(try await DurableFileUpload(path: path, to: world.server.url("/c")))
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        try await world.server.waitUntil { $0.requests.first.map { $0.bodyBytesRead >= 100_000 } ?? false }
        try world.folder.overwrite("large", at: 29_999_999, [2])
        gate.open()
        try await run.value
        #expect(try await outbox.results().first?.item.reason == "sourceChanged")
        #expect(world.server.requests.allSatisfy { !$0.isComplete })
        await outbox.close()
    }

    @Test func `a change between the last byte and the answer is told with the result`() async throws {
        let gate = Gate()
        let world = try OutboxWorld(.respond(200).held(at: gate))
        let outbox = try await world.open()
        let path = try world.folder.write("card", "content")
        try await outbox.enqueue(try await DurableFileUpload(path: path, to: world.server.url("/c")))
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        _ = try await world.server.request(0)
        try world.folder.replace("card", with: "later")
        gate.open()
        try await run.value
        let result = try #require(try await outbox.results().first)
        #expect(result.isDelivered && result.sourceChangedAfterwards)
        #expect(world.server.requests.map(\.body) == [Array("content".utf8)])
        await outbox.close()
    }
}
