import TestSupport
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// An outbox in its own directory, with a local server.
final class OutboxWorld: Sendable {
    let directory: TemporaryDirectory
    let server: LoopbackServer
    let session: UploadSession

    init(_ script: Behaviour..., otherwise: Behaviour = .respond(200, body: "ok")) throws {
        directory = try TemporaryDirectory()
        server = try LoopbackServer(otherwise: otherwise)
        for behaviour in script { server.script(behaviour) }
        var configuration = UploadSession.Configuration()
        configuration.options.transfer.limits.response = .seconds(120 * Slowness.factor)
        session = UploadSession(configuration: configuration)
    }

    var path: String { directory.path("outbox") }

    /// Short delays, for fast tests.
    static var quick: Outbox.Configuration {
        var configuration = Outbox.Configuration()
        configuration.retry = OutboxRetry(maxAttempts: 5, baseDelay: .milliseconds(1), maxDelay: .milliseconds(5))
        configuration.jitter = { 0.5 }
        return configuration
    }

    func open(_ configuration: Outbox.Configuration = OutboxWorld.quick) async throws -> Outbox {
        try await Outbox(at: path, configuration: configuration)
    }

    /// A small upload without files.
    func form(_ text: String = "hello", idempotency: Idempotency = .ignored) async throws -> DurableForm {
        try await DurableForm([.text("FIELD", text)], to: server.url("/upload"), idempotency: idempotency)
    }

    /// Delivers until the queue is idle.
    func deliver(_ outbox: Outbox) async throws { try await outbox.runUntilIdle(session: session) }
}

extension Outbox {
    /// The states of all items, in order.
    func states() async throws -> [OutboxState] {
        var states: [OutboxState] = []
        for try await item in items() { states.append(item.state) }
        return states
    }
}
