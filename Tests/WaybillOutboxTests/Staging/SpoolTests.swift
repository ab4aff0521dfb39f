import Glibc
import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct SpoolTests {
    private static let large = [UInt8](repeating: 9, count: 40_000)

    @Test(arguments: SpoolFileOperations.Step.allCases)
    func `a disk error while staging leaves neither a row nor a file`(step: SpoolFileOperations.Step) async throws {
        let world = try OutboxWorld()
        let path = try world.folder.write("card", "content")
        var configuration = OutboxWorld.quick
        // Cloning is unsupported here, so that a copy is read and written.
        configuration.spoolDisk.fault = { asked in asked == .clone ? ENOTSUP : asked == step ? EIO : nil }
        let outbox = try await world.open(configuration)
        var options = EnqueueOptions()
        options.keeping = .snapshot
        let form: MultipartForm = [.data("D", Self.large), .file("F", path: path)]
        if step == .clone {
            try await outbox.enqueue(form, to: world.server.url("/u"), options: options)
            #expect(Spool(folder: outbox.folder.spool).fileNames().count == 2)
        } else {
            let error = await #expect(throws: OutboxError.self) {
                try await outbox.enqueue(form, to: world.server.url("/u"), options: options)
            }
            #expect([.storageFailed, .uploadRefused].contains(error?.code))
            #expect(try await outbox.tally().total == 0)
            #expect(Spool(folder: outbox.folder.spool).fileNames().isEmpty)
        }
        await outbox.close()
    }

    @Test func `orphaned files are removed at the next start, and others are kept`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        try await outbox.enqueue([.data("D", Self.large)], to: world.server.url("/u"))
        let spool = Spool(folder: outbox.folder.spool)
        let kept = spool.fileNames()
        await outbox.close()
        try world.folder.write("outbox/spool/orphan", "left by a crash")
        let again = try await world.open()
        #expect(spool.fileNames() == kept && kept.count == 1)
        try await world.deliver(again)
        #expect(try await again.states() == [.done])
        await again.close()
    }

    @Test func `nothing is removed while staging is in progress`() async throws {
        let folder = try TemporaryDirectory()
        let spool = Spool(folder: folder.path)
        try folder.write("new", "its row is not committed yet")
        let hold = try spool.hold()
        #expect(try await spool.sweep { _ in [] } == nil)
        #expect(spool.fileNames() == ["new"])
        _ = consume hold
        #expect(try await spool.sweep { _ in [] } == 1)
        #expect(spool.fileNames().isEmpty)
    }

    @Test func `queue and staged files are accessible only by their owner`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        try await outbox.enqueue([.data("D", Self.large)], to: world.server.url("/u"))
        let spool = Spool(folder: outbox.folder.spool)
        let queue = outbox.folder.queue
        for path in [world.path, spool.folder, spool.path(spool.fileNames()[0]), queue, queue + "-wal"] {
            var status = stat()
            #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o077 == 0, "\(path)")
        }
        await outbox.close()
    }
}
