import TestSupport
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillOutbox

/// Items of the outbox that are resumable uploads. Their record is in the row of the queue.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ResumableDeliveryTests {
    private let world: OutboxWorld
    private let bytes = SeededGenerator.pattern(3_000_000)

    init() throws {
        world = try OutboxWorld()
    }

    private func server(
        _ dialect: ResumableServer.Dialect = .draft8, _ configure: (inout ResumableServer.Settings) -> Void = { _ in }
    ) throws -> ResumableServer {
        try ResumableServer(dialect) { settings in
            settings.limits.maxAppend = 500_000
            settings.tusExtensions.removeAll { $0 == "creation-with-upload" }
            configure(&settings)
        }
    }

    private func form(to server: ResumableServer) async throws -> DurableForm {
        let path = try world.directory.write("film.mp4", bytes)
        return try await DurableForm(
            [.text("A", "1"), .file("FILE", path: path)], to: server.url(), resumption: .draft)
    }

    @Test func `an interrupted form continues in the next attempt`() async throws {
        let server = try server()
        server.script(.on(.append, 3, .cut(afterBytes: 200_000, keeping: .all, closing: .reset)))
        let outbox = try await world.open()
        let id = try await outbox.enqueue(try await form(to: server))
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        #expect(server.uploads.count == 1)
        #expect(server.applicationRuns.count == 1)
        #expect(server.requests.reduce(0) { $0 + $1.bodyBytes } < 3_100_000)
        await outbox.close()
    }

    @Test func `attempts with progress are not counted`() async throws {
        let server = try server()
        for number in 1...5 {
            server.script(.on(.append, .number(number), .cut(afterBytes: 300_000, keeping: .all, closing: .reset)))
        }
        var configuration = OutboxWorld.quick
        configuration.retry.maxAttempts = 3
        let outbox = try await world.open(configuration)
        let id = try await outbox.enqueue(try await form(to: server))
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        #expect(server.applicationRuns.count == 1)
        await outbox.close()
    }

    @Test func `a lost response is fetched again`() async throws {
        let server = try server()
        server.script(.on(.finish, 1, .loseResponse(.reset)))
        let outbox = try await world.open()
        let id = try await outbox.enqueue(try await form(to: server))
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        #expect(server.applicationRuns.count == 1)
        await outbox.close()
    }

    @Test func `a processed upload whose response is lost is never sent again`() async throws {
        let server = try server { $0.replaysResponse = false }
        server.script(.on(.finish, 1, .loseResponse(.reset)))
        let outbox = try await world.open()
        let id = try await outbox.enqueue(try await form(to: server))
        try await world.deliver(outbox)
        let item = try #require(try await outbox.item(id.id))
        #expect(item.state == .failed && item.reason == "responseLost")
        #expect(server.uploads.count == 1)
        #expect(server.applicationRuns.count == 1)
        await outbox.close()
    }

    @Test func `the application's rejection is not fetched again`() async throws {
        let server = try server()
        server.respond(with: ScriptedResponse(503))
        server.once({ $0.applicationRuns.count == 1 && $0.requests(.finish).contains { $0.isOver } }) {
            server.respond(with: ScriptedResponse(200))
        }
        let outbox = try await world.open()
        let id = try await outbox.enqueue(try await form(to: server))
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        #expect(server.uploads.count == 2 && server.applicationRuns.count == 2)
        await outbox.close()
    }

    @Test func `creating an upload is no progress`() async throws {
        let server = try server(.tus)
        server.script(.on(.append, .every, .respond(ScriptedResponse(404))))
        let path = try world.directory.write("film.mp4", bytes)
        var configuration = OutboxWorld.quick
        configuration.retry.maxAttempts = 3
        let outbox = try await world.open(configuration)
        let id = try await outbox.enqueue(
            try await DurableFileUpload(path: path, to: server.url(), method: .post, resumption: .tus))
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .failed)
        #expect(server.uploads.count <= 6)
        await outbox.close()
    }

    @Test func `an upload by tus is not repeatable, whatever its method is`() async throws {
        let path = try world.directory.write("film.mp4", bytes)
        let upload = try await DurableFileUpload(path: path, to: "http://127.0.0.1:1/", resumption: .tus)
        guard case .undetermined = try await upload.verify(Delivery(session: world.session, idempotencyKey: "k")) else {
            Issue.record("a second POST could create a second file")
            return
        }
        let plain = try await DurableFileUpload(path: path, to: "http://127.0.0.1:1/")
        guard case .repeatable = try await plain.verify(Delivery(session: world.session, idempotencyKey: "k")) else {
            Issue.record("PUT is idempotent")
            return
        }
    }

    @Test func `a file continues by tus in another process`() async throws {
        let server = try server(.tus)
        let path = try world.directory.write("film.mp4", bytes)
        server.script(.on(.append, 2, .cut(afterBytes: 0, keeping: .all, closing: .reset)), .on(.offset, 1, .hold))
        let upload = try await DurableFileUpload(path: path, to: server.url(), method: .post, resumption: .tus)
        let first = try await world.open()
        let id = try await first.enqueue(upload)
        let worker = Task { try await world.deliver(first) }
        try await server.waitUntil { $0.requests(.offset).count == 1 }
        worker.cancel()
        _ = try? await worker.value
        await first.close()
        server.clearScript()
        let second = try await world.open()
        try await world.deliver(second)
        #expect(try await second.item(id.id)?.state == .done)
        #expect(server.uploads.count == 1)
        #expect(server.applicationRuns.map(\.bytes) == [bytes])
        // The queue's copy has another name.
        #expect(server.uploads.map { String(decoding: $0.metadata["filename"] ?? [], as: UTF8.self) } == ["film.mp4"])
        await second.close()
    }

    @Test func `a form whose credential has changed starts again`() async throws {
        let server = try server()
        server.script(.on(.append, 2, .cut(afterBytes: 0, keeping: .all, closing: .reset)))
        let path = try world.directory.write("film.mp4", bytes)
        let form = try await DurableForm(
            [.credential("TOKEN", named: "backend"), .file("FILE", path: path)], to: server.url(), resumption: .draft)
        let calls = Watched(0)
        var configuration = OutboxWorld.quick
        configuration.credentials = CredentialTable { _ in
            let number = calls.update { count in
                count += 1
                return count
            }
            return .secret("token-\(number)")
        }
        let outbox = try await world.open(configuration)
        let id = try await outbox.enqueue(form)
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        #expect(server.uploads.count == 2)
        let run = try #require(server.applicationRuns.first)
        let text = String(decoding: run.bytes.prefix(300), as: UTF8.self)
        #expect(text.contains("token-2") && server.applicationRuns.count == 1)
        await outbox.close()
    }
}
