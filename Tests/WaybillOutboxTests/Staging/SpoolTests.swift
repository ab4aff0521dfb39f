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
        let path = try world.directory.write("card", "content")
        var configuration = OutboxWorld.quick
        // Cloning is unsupported here, so that a copy is read and written.
        configuration.spoolOperations.fault = { $0 == .clone ? ENOTSUP : $0 == step ? EIO : nil }
        let outbox = try await world.open(configuration)
        var options = EnqueueOptions()
        options.fileStorage = .snapshot
        let form: MultipartForm = [.data("D", Self.large), .file("F", path: path)]
        if step == .clone {
            try await outbox.enqueue(form, to: world.server.url("/u"), options: options)
            #expect(Spool(directory: outbox.path + "/spool").fileNames().count == 2)
        } else {
            let error = await #expect(throws: OutboxError.self) {
                try await outbox.enqueue(form, to: world.server.url("/u"), options: options)
            }
            #expect([.storageFailed, .uploadRefused].contains(error?.code))
            #expect(try await outbox.tally().total == 0)
            #expect(Spool(directory: outbox.path + "/spool").fileNames().isEmpty)
        }
        await outbox.close()
    }

    @Test func `orphaned files are removed at the next start, and others are kept`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        try await outbox.enqueue([.data("D", Self.large)], to: world.server.url("/u"))
        let spool = Spool(directory: outbox.path + "/spool")
        let kept = spool.fileNames()
        await outbox.close()
        try world.directory.write("outbox/spool/orphan", "left by a crash")
        let again = try await world.open()
        #expect(spool.fileNames() == kept && kept.count == 1)
        try await world.deliver(again)
        #expect(try await again.states() == [.done])
        await again.close()
    }

    @Test func `nothing is removed while staging is in progress`() async throws {
        let directory = try TemporaryDirectory()
        let spool = Spool(directory: directory.path)
        try directory.write("new", "its row is not committed yet")
        let lock = try spool.lockAgainstSweep()
        #expect(try await spool.sweep { _ in [] } == nil)
        #expect(spool.fileNames() == ["new"])
        _ = consume lock
        #expect(try await spool.sweep { _ in [] } == 1)
        #expect(spool.fileNames().isEmpty)
    }

    @Test func `queue and staged files are accessible only by their owner`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        try await outbox.enqueue([.data("D", Self.large)], to: world.server.url("/u"))
        let spool = Spool(directory: outbox.path + "/spool")
        let queue = outbox.path + "/queue.db"
        for path in [world.path, spool.directory, spool.path(spool.fileNames()[0]), queue, queue + "-wal"] {
            var status = stat()
            #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o077 == 0, "\(path)")
        }
        await outbox.close()
    }
}
