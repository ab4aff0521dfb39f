import CardArtist
import Foundation
import KioskKit
import LittleBackend
import Logging
import ServiceLifecycle
import Testing
import Waybill
import WaybillOutbox

/// The story as a person runs it, what the queue must not hold, and the adapter to services.
@Suite(.timeLimit(.minutes(3))) struct KioskOutboxTests {
    @Test func `what is handed over arrives once, whoever is killed, and the queue holds no token`() async throws {
        let folder = try Folder()
        let (code, output) = try await run(
            ["--outbox", "\(folder.path)/outbox", "--cards", folder.path, "--width", "800"],
            environment: ["KIOSK_TOKEN": "t0k3n-of-this-test"])
        #expect(code == 0, "\(output)")
        #expect(output.contains("the button once more: #1 is there already"), "\(output)")
        let cut = try #require(output.firstMatch(of: /kill -9, when (\d+) of (\d+) bytes/), "\(output)")
        let (arrived, total) = (try #require(Int(cut.1)), try #require(Int(cut.2)))
        #expect(arrived < total && total < 102_000, "\(output)")
        #expect(output.contains(/kill -9, when \S+ ID-\S+ was booked/), "\(output)")
        #expect(output.contains("4 of 4 delivered"), "\(output)")
        #expect(output.contains("the worker ends by itself, status 0"), "\(output)")
        #expect(output.matches(of: /4 results:/).count == 2, "\(output)")
        #expect(output.contains("and then: 0"), "\(output)")
        #expect(output.contains("1 of these had come before"), "\(output)")
        #expect(output.contains("4 sides were stored"), "\(output)")

        #expect(!output.contains("t0k3n"))
        let files = try FileManager.default.subpathsOfDirectory(atPath: "\(folder.path)/outbox")
        #expect(files.contains("queue.db"))
        for file in files {
            let bytes = FileManager.default.contents(atPath: "\(folder.path)/outbox/\(file)") ?? Data()
            #expect(bytes.range(of: Data("t0k3n".utf8)) == nil, "\(file)")
        }
        // Nothing is left of the pictures but what the camera has.
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/outbox/spool").isEmpty)
    }

    @Test func `a worker ends when nobody is there who started it`() async throws {
        let folder = try Folder()
        // Its standard input is empty, as it is when the other end is gone.
        let (code, output) = try await run(["--work", "\(folder.path)/outbox"])
        #expect(code == 0, "\(output)")
    }

    @Test func `unknown options are told`() async throws {
        let (code, output) = try await run(["--nonsense", "1"])
        #expect(code == 64)
        #expect(output.contains("usage:"))
    }

    @Test func `a service group ends the outbox gracefully, and what was cut off is delivered by the next`()
        async throws
    {
        let folder = try Folder()
        let backend = try await LittleBackend(token: "t")
        let courier = Courier(token: .secret("t")) { _ in }
        var outbox = try await courier.open("\(folder.path)/outbox")
        let receipt = try await handOver(folder, outbox, backend.url)

        await backend.holdAnswer(toBooking: 1)
        let group = ServiceGroup(
            services: [OutboxService(outbox, session: courier.makeSession(), patience: .zero)],
            logger: Logger(label: "test"))
        let running = Task { try await group.run() }
        _ = await backend.wait { $0.effects.count == 1 }
        await group.triggerGracefulShutdown()
        try await running.value
        await backend.descriptorClosed()
        #expect(!outbox.isOwner)

        outbox = try await courier.open("\(folder.path)/outbox")
        #expect(try await outbox.item(receipt.id)?.state.isTerminal == false)
        try await outbox.runUntilIdle(session: courier.makeSession())
        let result = try #require(try await outbox.results().first)
        #expect(result.isDelivered)
        #expect(result.stored?.DATA.NUMBER == 1)
        let books = await backend.books
        #expect(books.effects.count == 1 && books.replays == 1)
        await outbox.close()
        await backend.stop()
    }

    @Test func `a graceful shutdown leaves what is being sent the time for its answer`() async throws {
        let folder = try Folder()
        let backend = try await LittleBackend(token: "t")
        let courier = Courier(token: .secret("t")) { _ in }
        var outbox = try await courier.open("\(folder.path)/outbox")
        let receipt = try await handOver(folder, outbox, backend.url)
        await backend.holdAnswer(toBooking: 1)
        let service = OutboxService(outbox, session: courier.makeSession())
        let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
        let running = Task { try await group.run() }
        _ = await backend.wait { $0.effects.count == 1 }
        await group.triggerGracefulShutdown()
        await backend.descriptorClosed()
        try await running.value

        outbox = try await courier.open("\(folder.path)/outbox")
        #expect(try await outbox.item(receipt.id)?.state == .done)
        #expect(await backend.books.replays == 0)
        await outbox.close()
        await backend.stop()
    }

    @Test func `a group ends with the error of an outbox that somebody else delivers from`() async throws {
        let folder = try Folder()
        let backend = try await LittleBackend(token: "t")
        let courier = Courier(token: .secret("t")) { _ in }
        let outbox = try await courier.open("\(folder.path)/outbox")
        _ = try await handOver(folder, outbox, backend.url)
        await backend.holdAnswer(toBooking: 1)
        let first = Task { try await outbox.run(session: courier.makeSession()) }
        _ = await backend.wait { $0.effects.count == 1 }

        let group = ServiceGroup(services: [OutboxService(outbox)], logger: Logger(label: "test"))
        let error = await #expect(throws: OutboxError.self) { try await group.run() }
        #expect(error?.code == .ownedByAnother)
        first.cancel()
        _ = await first.result
        await outbox.close()
        await backend.stop()
    }

    @Test func `a refusal in the envelope fails the item and is told`() async throws {
        let folder = try Folder()
        let backend = try await LittleBackend(token: "another one")
        let courier = Courier(token: .secret("t")) { _ in }
        let outbox = try await courier.open("\(folder.path)/outbox")
        _ = try await handOver(folder, outbox, backend.url)
        try await outbox.runUntilIdle(session: courier.makeSession())
        let result = try #require(try await outbox.results().first)
        #expect(result.item.state == .failed && result.item.reason == "envelopeRejected")
        #expect(result.stored == nil)
        #expect(result.words.contains("100001"))
        #expect(await backend.books.effects.isEmpty)
        await outbox.close()
        await backend.stop()
    }

    // MARK: Help

    private func handOver(_ folder: Folder, _ outbox: Outbox, _ url: String) async throws -> OutboxReceipt {
        let cards = try await CardArtist.cards(in: folder.path, width: 320)
        let kiosk = Kiosk(outbox: outbox, url: url)
        return try await kiosk.handOver(Kiosk.Photograph(business: "B-1", side: "front", path: cards.front))
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

/// A directory that is gone with the value.
private final class Folder {
    let path = FileManager.default.temporaryDirectory.appending(path: "kiosk-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
