import CardArtist
import Foundation
import KioskKit
import LittleBackend
import Logging
import ServiceLifecycle
import Testing
import Waybill
import WaybillOutbox

/// The command, the content of the queue, and the adapter to swift-service-lifecycle.
@Suite(.timeLimit(.minutes(3))) struct KioskOutboxTests {
    @Test func `killed workers deliver each side once and the queue contains no token`() async throws {
        let directory = try ScratchDirectory()
        let (code, output) = try await run(
            ["--outbox", "\(directory.path)/outbox", "--cards", directory.path, "--width", "800"],
            environment: ["KIOSK_TOKEN": "t0k3n-of-this-test"])
        #expect(code == 0, "\(output)")
        #expect(output.contains("second press of the button: #1 is already queued"), "\(output)")
        let cut = try #require(output.firstMatch(of: /kill -9 after (\d+) of (\d+) bytes/), "\(output)")
        let (arrived, total) = (try #require(Int(cut.1)), try #require(Int(cut.2)))
        #expect(arrived < total && total < 102_000, "\(output)")
        #expect(output.contains(/kill -9 after \S+ ID-\S+ was stored/), "\(output)")
        #expect(output.contains("4 of 4 delivered"), "\(output)")
        #expect(output.contains("the worker exits with status 0"), "\(output)")
        #expect(output.matches(of: /4 results:/).count == 2, "\(output)")
        #expect(output.contains("results left: 0"), "\(output)")
        #expect(output.contains("1 repeated"), "\(output)")
        #expect(output.contains("4 sides were stored"), "\(output)")

        #expect(!output.contains("t0k3n"))
        let files = try FileManager.default.subpathsOfDirectory(atPath: "\(directory.path)/outbox")
        #expect(files.contains("queue.db"))
        for file in files {
            let bytes = FileManager.default.contents(atPath: "\(directory.path)/outbox/\(file)") ?? Data()
            #expect(bytes.range(of: Data("t0k3n".utf8)) == nil, "\(file)")
        }
        // The compressed images are deleted after delivery.
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/outbox/spool").isEmpty)
    }

    @Test func `a worker exits when its parent process has ended`() async throws {
        let directory = try ScratchDirectory()
        // Its standard input is at its end, as after the end of the parent.
        let (code, output) = try await run(["--work", "\(directory.path)/outbox"])
        #expect(code == 0, "\(output)")
    }

    @Test func `an unknown option prints the usage`() async throws {
        let (code, output) = try await run(["--nonsense", "1"])
        #expect(code == 64)
        #expect(output.contains("usage:"))
    }

    @Test func `an upload interrupted by a graceful shutdown is delivered by the next worker`()
        async throws
    {
        let directory = try ScratchDirectory()
        let backend = try await LittleBackend(token: "t")
        let worker = DeliveryWorker(token: .secret("t")) { _ in }
        var outbox = try await worker.open("\(directory.path)/outbox")
        let receipt = try await enqueue(directory, outbox, backend.url)

        await backend.delayResponse(toEffect: 1)
        let group = ServiceGroup(
            services: [OutboxService(outbox, session: worker.makeSession(), gracePeriod: .zero)],
            logger: Logger(label: "test"))
        let running = Task { try await group.run() }
        _ = await backend.wait { $0.effects.count == 1 }
        await group.triggerGracefulShutdown()
        try await running.value
        await backend.sendDelayedResponse()
        #expect(!outbox.isOwner)

        outbox = try await worker.open("\(directory.path)/outbox")
        #expect(try await outbox.item(receipt.id)?.state.isTerminal == false)
        try await outbox.runUntilIdle(session: worker.makeSession())
        let result = try #require(try await outbox.results().first)
        #expect(result.isDelivered)
        #expect(result.storedResponse?.DATA.NUMBER == 1)
        let snapshot = await backend.snapshot
        #expect(snapshot.effects.count == 1 && snapshot.replays == 1)
        await outbox.close()
        await backend.stop()
    }

    @Test func `a graceful shutdown waits for the response of a running upload`() async throws {
        let directory = try ScratchDirectory()
        let backend = try await LittleBackend(token: "t")
        let worker = DeliveryWorker(token: .secret("t")) { _ in }
        var outbox = try await worker.open("\(directory.path)/outbox")
        let receipt = try await enqueue(directory, outbox, backend.url)
        await backend.delayResponse(toEffect: 1)
        let service = OutboxService(outbox, session: worker.makeSession())
        let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
        let running = Task { try await group.run() }
        _ = await backend.wait { $0.effects.count == 1 }
        await group.triggerGracefulShutdown()
        await backend.sendDelayedResponse()
        try await running.value

        outbox = try await worker.open("\(directory.path)/outbox")
        #expect(try await outbox.item(receipt.id)?.state == .done)
        #expect(await backend.snapshot.replays == 0)
        await outbox.close()
        await backend.stop()
    }

    @Test func `a service group ends with an error if another worker owns the outbox`() async throws {
        let directory = try ScratchDirectory()
        let backend = try await LittleBackend(token: "t")
        let worker = DeliveryWorker(token: .secret("t")) { _ in }
        let outbox = try await worker.open("\(directory.path)/outbox")
        _ = try await enqueue(directory, outbox, backend.url)
        await backend.delayResponse(toEffect: 1)
        let first = Task { try await outbox.run(session: worker.makeSession()) }
        _ = await backend.wait { $0.effects.count == 1 }

        let group = ServiceGroup(services: [OutboxService(outbox)], logger: Logger(label: "test"))
        let error = await #expect(throws: OutboxError.self) { try await group.run() }
        #expect(error?.code == .ownedByAnother)
        first.cancel()
        _ = await first.result
        await outbox.close()
        await backend.stop()
    }

    @Test func `a rejection in the envelope fails the item with its message`() async throws {
        let directory = try ScratchDirectory()
        let backend = try await LittleBackend(token: "another one")
        let worker = DeliveryWorker(token: .secret("t")) { _ in }
        let outbox = try await worker.open("\(directory.path)/outbox")
        _ = try await enqueue(directory, outbox, backend.url)
        try await outbox.runUntilIdle(session: worker.makeSession())
        let result = try #require(try await outbox.results().first)
        #expect(result.item.state == .failed && result.item.reason == "envelopeRejected")
        #expect(result.storedResponse == nil)
        #expect(result.summary.contains("100001"))
        #expect(await backend.snapshot.effects.isEmpty)
        await outbox.close()
        await backend.stop()
    }

    // MARK: Helpers

    private func enqueue(_ directory: ScratchDirectory, _ outbox: Outbox, _ url: String) async throws -> OutboxReceipt {
        let cards = try await CardArtist.cards(in: directory.path, width: 320)
        let kiosk = Kiosk(outbox: outbox, url: url)
        return try await kiosk.enqueue(Kiosk.Photo(business: "B-1", side: "front", path: cards.front))
    }

    private func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> (Int32, String) {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
            path: "KioskOutbox")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let output = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
                process.waitUntilExit()
                continuation.resume(returning: (process.terminationStatus, String(decoding: output, as: UTF8.self)))
            }
        }
    }
}

/// A directory that is deleted with the object.
private final class ScratchDirectory {
    let path = FileManager.default.temporaryDirectory.appending(path: "kiosk-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
