import Glibc
import TestSupport
import Testing
import WaybillCore
import Waybill

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(Slowness.factor))) struct OwnerTests {
    @Test func `a second outbox uses the queue through the owner's socket and owns it afterwards`() async throws {
        let world = try OutboxWorld()
        let first = try await world.open()
        let second = try await world.open()
        #expect(first.isOwner && !second.isOwner)
        let receipt = try await second.enqueue(try await world.form("from the client"))
        #expect(try await first.item(receipt.id)?.state == .ready)
        #expect(try await second.pause(.all) == 1)
        #expect(try await first.states() == [.paused])
        #expect(try await second.resume(.all) == 1)
        try await world.deliver(first)
        #expect(try await second.results().map(\.text) == ["ok"])
        try await second.acknowledge(through: 1)
        #expect(try await first.results().isEmpty)
        await first.close()
        // Now the second one owns the queue.
        #expect(try await second.states() == [.done])
        #expect(second.isOwner)
        await second.close()
    }

    @Test func `an idle owner yields the queue to a worker, and a worker keeps it`() async throws {
        let world = try OutboxWorld()
        let holder = try await world.open()
        let worker = try await world.open()
        try await holder.enqueue(try await world.form())
        let run = Task { try await worker.run(session: world.session) }
        _ = try await world.server.request(0)
        #expect(!holder.isOwner && worker.isOwner)
        let error = await #expect(throws: OutboxError.self) { try await holder.run(session: world.session) }
        #expect(error?.code == .ownedByAnother)
        run.cancel()
        _ = await run.result
        await worker.close()
        await holder.close()
    }

    @Test(arguments: [true, false])
    func `an emptied or removed queue file is refused`(isRemoved: Bool) async throws {
        let world = try OutboxWorld()
        let first = try await world.open()
        try await first.enqueue(try await world.form())
        await first.close()
        let queue = world.path + "/queue.db"
        for name in [queue, queue + "-wal"] { unsafe truncate(name, 0) }
        if isRemoved { unsafe unlink(queue) }
        let error = await #expect(throws: OutboxError.self) { _ = try await world.open() }
        #expect(error?.code == .queueUnusable && error?.message.contains(queue) == true)
        unsafe unlink(world.path + "/lock")
        let next = try await world.open()
        #expect(try await next.tally().total == 0)
        await next.close()
    }

    @Test func `a stopped owner process is named in the error`() async throws {
        let world = try OutboxWorld()
        let first = try await world.open()
        try await first.enqueue(try await world.form())
        await first.close()
        let owner = try ChildProcess(KillRun.worker, ["run", world.path])
        defer { owner.signal(SIGKILL) }
        // It delivers, so it owns the outbox.
        _ = try await world.server.request(0)
        let client = try await world.open()
        #expect(!client.isOwner)
        owner.signal(SIGSTOP)
        let error = await #expect(throws: OutboxError.self) { try await client.tally() }
        #expect(error?.code == .ownerUnreachable && error?.message.contains("\(owner.pid)") == true)
        #expect(error?.message.contains("is stopped") == true, "\(String(describing: error))")
        owner.signal(SIGCONT)
        #expect(try await client.tally().total == 1)
        await client.close()
    }

    @Test func `many concurrent requests of a client are served`() async throws {
        let world = try OutboxWorld()
        let owner = try await world.open()
        let client = try await world.open()
        let form = try await world.form()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { await #expect(throws: Never.self) { try await client.enqueue(form) } }
            }
        }
        #expect(try await owner.tally().total == 50)
        await client.close()
        await owner.close()
    }

    @Test func `invalid data on the socket does no harm`() async throws {
        let world = try OutboxWorld()
        let outbox = try await world.open()
        for bytes in [[0, 0, 0, 2, 123, 125], [255, 255, 255, 255], [0, 0]] as [[UInt8]] {
            let socket = try #require(try LocalSocket.connect(in: world.path))
            #expect(socket.send(bytes))
            if bytes.count == 6 { #expect(await BlockingThread.run { socket.receiveFrame() } != nil) }
            socket.close()
        }
        #expect(try await outbox.tally().total == 0)
        await outbox.close()
    }

    @Test func `releasing an outbox closes its connections and frees the queue`() async throws {
        let world = try OutboxWorld()
        var outbox: Outbox? = try await world.open()
        let client = try #require(try LocalSocket.connect(in: world.path))
        #expect(outbox?.isOwner == true)
        outbox = nil
        #expect(await BlockingThread.run { client.receiveFrame() } == nil)
        client.close()
        let next = try await world.open()
        #expect(next.isOwner)
        await next.close()
    }

    @Test func `a directory readable by others, or an invalid one, is refused`() async throws {
        let directory = try TemporaryDirectory()
        let open = directory.path("open")
        unsafe mkdir(open, 0o700)
        unsafe chmod(open, 0o755)
        let file = try directory.write("file", "x")
        for path in [open, file, file + "/below", ""] {
            let error = await #expect(throws: OutboxError.self) { try await Outbox(at: path) }
            #expect(error?.code == .directoryUnusable, "\(path)")
        }
    }

    @Test func `network file systems are refused by their type`() {
        for type: UInt32 in [0x6969, 0x6573_5546, 0xFF53_4D42] { #expect(OutboxDirectory.refusal(ofType: type) != nil) }
        // ext4, Btrfs, XFS, tmpfs, overlay.
        for type: UInt32 in [0xEF53, 0x9123_683E, 0x5846_5342, 0x0102_1994, 0x794C_7630] {
            #expect(OutboxDirectory.refusal(ofType: type) == nil)
        }
    }

    @Test func `long paths are supported`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path([String](repeating: "a-long-name-of-a-folder", count: 8).joined(separator: "/"))
        let outbox = try await Outbox(at: path, configuration: OutboxWorld.quick)
        let client = try await Outbox(at: path, configuration: OutboxWorld.quick)
        #expect(try await client.tally().total == 0 && !client.isOwner)
        await client.close()
        await outbox.close()
    }
}
