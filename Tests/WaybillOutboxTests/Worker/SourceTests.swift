import Glibc
import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct SourceTests {
    @Test(arguments: [SourceChangePolicy.fail, .restart, .skip])
    func `the change policy decides about a file changed before delivery`(policy: SourceChangePolicy) async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        let path = try world.directory.write("card", "what was meant")
        var options = EnqueueOptions()
        options.onChange = policy
        let upload = try await DurableFileUpload(path: path, to: world.server.url("/c"))
        try await outbox.enqueue(upload, options: options)
        try world.directory.replace("card", with: "something else")
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

    @Test func `a snapshot is sent even if its file is removed`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        let path = try world.directory.write("card", "what was meant")
        var options = EnqueueOptions()
        options.fileStorage = .snapshot
        try await outbox.enqueue([.file("F", path: path)], to: world.server.url("/c"), options: options)
        world.directory.remove("card")
        try await world.deliver(outbox)
        #expect(try await outbox.states() == [.done])
        #expect(String(decoding: world.server.requests[0].body, as: UTF8.self).contains("what was meant"))
        #expect(String(decoding: world.server.requests[0].body, as: UTF8.self).contains("filename=\"card\""))
        #expect(Spool(directory: outbox.path + "/spool").fileNames().isEmpty)
        await outbox.close()
    }

    enum Change: CaseIterable, Sendable {
        case modified, shortened, grown, replaced, removed

        func apply(to name: String, _ directory: TemporaryDirectory) throws {
            switch self {
            case .modified: try directory.overwrite(name, at: SourceTests.size - 1, [2])
            case .shortened: unsafe truncate(directory.path(name), SourceTests.size / 2)
            case .grown: try directory.overwrite(name, at: SourceTests.size, [2])
            case .replaced: try directory.replace(name, with: String(repeating: "r", count: 1_000))
            case .removed: directory.remove(name)
            }
        }
    }

    private static let size = 30_000_000

    @Test(arguments: Change.allCases, [true, false])
    func `a file that changes while it is sent never arrives completely`(change: Change, isForm: Bool) async throws {
        let (world, outbox, run, gate) = try await sendingLarge(.fail, isForm: isForm)
        try change.apply(to: "large", world.directory)
        gate.open()
        try await run.value
        let result = try #require(try await outbox.results().first)
        #expect(result.item.state == .failed && result.item.reason == "sourceChanged" && !result.item.isDoubtful)
        #expect(world.server.requests.allSatisfy { !$0.isComplete && $0.bodyBytesRead < Self.size + 1_000 })
        await outbox.close()
    }

    @Test(arguments: Change.allCases)
    func `with restart a changed file is sent again completely`(change: Change) async throws {
        let (world, outbox, run, gate) = try await sendingLarge(.restart, isForm: false)
        try change.apply(to: "large", world.directory)
        gate.open()
        try await run.value
        let complete = world.server.requests.filter(\.isComplete)
        if change == .removed {
            #expect(try await outbox.states() == [.failed] && complete.isEmpty)
        } else {
            #expect(try await outbox.states() == [.done])
            #expect(
                complete.map(\.digest) == [BodyDigest(of: try world.directory.read("large"))],
                "\(world.server.requests.map { ($0.isComplete, $0.bodyBytesRead) })")
        }
        await outbox.close()
    }

    /// Starts the delivery of a large file; the server has read a small part and waits.
    private func sendingLarge(
        _ policy: SourceChangePolicy, isForm: Bool
    ) async throws -> (OutboxWorld, Outbox, Task<Void, any Error>, Gate) {
        let gate = Gate()
        let world = try OutboxWorld()
        world.server.script(.respond(200).paused(afterBodyBytes: 100_000, until: gate))
        let outbox = try await world.open()
        let path = try world.directory.write("large", [UInt8](repeating: 1, count: Self.size))
        var options = EnqueueOptions()
        options.onChange = policy
        if isForm {
            try await outbox.enqueue([.file("F", path: path)], to: world.server.url("/c"), options: options)
        } else {
            let upload = try await DurableFileUpload(path: path, to: world.server.url("/c"))
            try await outbox.enqueue(upload, options: options)
        }
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        try await world.server.waitUntil { $0.requests.first.map { $0.bodyBytesRead >= 100_000 } ?? false }
        return (world, outbox, run, gate)
    }

    @Test func `a change between the last byte and the response is reported with the result`() async throws {
        let gate = Gate()
        let world = try OutboxWorld(.respond(200).delayed(until: gate))
        let outbox = try await world.open()
        let path = try world.directory.write("card", "content")
        try await outbox.enqueue(try await DurableFileUpload(path: path, to: world.server.url("/c")))
        let run = Task { try await outbox.runUntilIdle(session: world.session) }
        _ = try await world.server.request(0)
        try world.directory.replace("card", with: "later")
        gate.open()
        try await run.value
        let result = try #require(try await outbox.results().first)
        #expect(result.isDelivered && result.sourceChangedAfterwards)
        #expect(world.server.requests.map(\.body) == [Array("content".utf8)])
        await outbox.close()
    }
}
