import Foundation
import TestSupport

/// An outbox in a temporary directory, a loopback server, and the real program.
final class OutboxFixture: Sendable {
    let folder: TemporaryDirectory
    let server: LoopbackServer

    init(_ script: Behaviour..., otherwise: Behaviour = .respond(200, body: "ok")) throws {
        folder = try TemporaryDirectory()
        server = try LoopbackServer(otherwise: otherwise)
        for behaviour in script { server.script(behaviour) }
    }

    var path: String { folder.path("outbox") }

    /// `waybill post … --queue`.
    func queue(_ arguments: String..., input: [UInt8] = []) async throws -> ChildProcess.Finished {
        try await Tool.run(
            ["post", server.url("/form"), "--queue", "--outbox", path] + arguments, environment: environment,
            input: input)
    }

    /// `waybill outbox VERB …`.
    func outbox(_ arguments: String..., environment extra: [String: String] = [:]) async throws -> ChildProcess.Finished
    {
        try await Tool.run(words(arguments), environment: environment.merging(extra) { $1 })
    }

    func startOutbox(_ arguments: String...) throws -> ChildProcess {
        try Tool.start(words(arguments), environment: environment)
    }

    /// Delivers until the outbox is idle.
    func deliver(_ arguments: String..., environment extra: [String: String] = [:]) async throws
        -> ChildProcess.Finished
    {
        try await Tool.run(
            words(["run", "--until-idle"] + arguments), environment: environment.merging(extra) { $1 })
    }

    /// Returns the items in the order of `ls --all --json`.
    func items() async throws -> [[String: Any]] {
        try await outbox("ls", "--all", "--json").jsonLines().filter { $0["event"] as? String == "item" }
    }

    func states() async throws -> [String] { try await items().compactMap { $0["state"] as? String } }

    func words(_ arguments: [String]) -> [String] { ["outbox"] + arguments + ["--outbox", path] }

    private var environment: [String: String] { ["HOME": folder.path("home")] }
}

extension ChildProcess.Finished {
    /// Returns the last JSON object, which must be the only summary.
    func jsonSummary() throws -> [String: Any] {
        let lines = try jsonLines()
        guard let last = lines.last, last["event"] as? String == "summary",
            lines.count(where: { $0["event"] as? String == "summary" }) == 1
        else { throw NotAnObject(line: text) }
        return last
    }
}
