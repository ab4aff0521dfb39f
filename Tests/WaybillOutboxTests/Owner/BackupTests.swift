import FoundationEssentials
import Glibc
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct BackupTests {
    private static func upload(_ world: OutboxWorld, _ text: String, isHonoured: Bool = true) async throws
        -> DurableForm
    {
        let bytes = [UInt8](repeating: 65, count: 300_000)
        return try await DurableForm(
            [.text("NAME", text), .data("D", bytes)], to: world.server.url("/u"),
            idempotency: isHonoured ? .honoured(window: .seconds(3_600)) : .ignored)
    }

    @Test func `a backup during deliveries is consistent, and delivers nothing when it is opened`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        let count = 40
        for number in 0..<count { try await outbox.enqueue(try await Self.upload(world, "\(number)")) }
        let run = Task { try await outbox.run(session: world.session) }
        _ = try await world.server.request(3)
        let client = try await world.open()
        let path = world.directory.path("backup")
        let backup = try await client.backUp(to: path)
        #expect(backup.items == count && backup.files == backup.paused)
        let core = try #require(outbox.owner)
        while true {
            let seen = core.signal.value
            if try await outbox.tally().unfinished == 0 { break }
            await core.signal.wait { $0 != seen }
        }
        // A backup does not disturb the deliveries in progress.
        #expect(try await outbox.tally()[.done] == count)
        run.cancel()
        _ = await run.result
        let sent = world.server.requests.count
        let copy = try await Outbox(at: path, configuration: OutboxWorld.quick)
        #expect(try await copy.checkIntegrity() == "ok")
        let tally = try await copy.tally()
        #expect(tally[.paused] == backup.paused && tally[.done] + tally[.paused] == count)
        #expect(Spool(directory: try #require(copy.directory).spool).fileNames().count == backup.files)
        try await world.deliver(copy)
        #expect(try await copy.tally() == tally && world.server.requests.count == sent)
        for outbox in [copy, client, outbox] { await outbox.close() }
    }

    @Test func `an item of a backup is verified before it is sent, also after the backup was copied elsewhere`()
        async throws
    {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        try await outbox.enqueue(try await Self.upload(world, "honoured"))
        try await outbox.enqueue(try await Self.upload(world, "plain", isHonoured: false))
        let path = world.directory.path("backup")
        #expect(try await outbox.backUp(to: path) == OutboxBackup(items: 2, paused: 2, files: 2))
        await outbox.close()
        let other = try OutboxDirectory(world.directory.path("restored"))
        for name in Spool(directory: path + "/spool").fileNames() {
            try world.directory.write("restored/spool/" + name, readFile(path + "/spool/" + name))
        }
        try world.directory.write("restored/queue.db", readFile(path + "/queue.db"))
        for name in try world.directory.names() where name != "restored" {
            try FileManager.default.removeItem(atPath: world.directory.path(name))
        }
        let copy = try await Outbox(at: other.path, configuration: OutboxWorld.quick)
        #expect(try await copy.items().reduce(into: []) { $0.append($1.reason) } == ["copied", "copied"])
        try await copy.resume(.all)
        try await world.deliver(copy)
        #expect(try await copy.states() == [.done, .failed])
        let failed = try #require(try await copy.item(OutboxID(rawValue: 2)))
        #expect(failed.reason == "outcomeUnknown" && failed.isDoubtful)
        #expect(world.server.requests.count == 1 && world.server.requests[0].body.count > 300_000)
        await copy.close()
    }

    @Test func `a backup into an existing directory is refused, and a failed one leaves nothing`() async throws {
        let world = try OutboxWorld()
        var configuration = OutboxWorld.quick
        configuration.spoolOperations.fault = { $0 == .syncDirectory ? EIO : nil }
        let outbox = try await world.open(configuration)
        try await outbox.enqueue(try await world.form())
        let error = await #expect(throws: OutboxError.self) { try await outbox.backUp(to: world.path) }
        #expect(error?.code == .directoryUnusable && error?.message.contains("exists") == true)
        let names = try world.directory.names()
        let failure = await #expect(throws: OutboxError.self) {
            try await outbox.backUp(to: world.directory.path("backup"))
        }
        #expect(failure?.code == .storageFailed)
        #expect(try world.directory.names() == names)
        await outbox.close()
    }

    @Test func `a copied file leaves the original unchanged, and a missing one is skipped`() throws {
        let directory = try TemporaryDirectory()
        for name in ["one", "two"] { unsafe mkdir(directory.path(name), 0o700) }
        let (one, two) = (Spool(directory: directory.path("one")), Spool(directory: directory.path("two")))
        let path = try directory.write("one/a", "text")
        var (before, after) = (stat(), stat())
        unsafe stat(path, &before)
        for name in ["a", "a", "missing"] { try two.add(name, from: one) }
        unsafe stat(path, &after)
        #expect(try directory.read("two/a") == Array("text".utf8) && two.fileNames() == ["a"])
        #expect(after.st_nlink == 1 && after.st_ctim.tv_sec == before.st_ctim.tv_sec)
        #expect(after.st_ctim.tv_nsec == before.st_ctim.tv_nsec)
    }
}
