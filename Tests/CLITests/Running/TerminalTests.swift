import TestSupport
import Testing
import WaybillCore

@testable import WaybillCLI

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct TerminalTests {
    /// Returns a server that reads part of a large body and waits.
    private func scene(_ gate: Gate) throws -> (server: LoopbackServer, folder: TemporaryDirectory, file: String) {
        let folder = try TemporaryDirectory()
        let file = try folder.writeSparse("large", size: 6_000_000)
        let server = try LoopbackServer(
            .respond(200, body: "answer").paused(afterBodyBytes: 50_000, until: gate), receiveBuffer: .kibibytes(64))
        return (server, folder, file)
    }

    @Test func `events are written above the bar`() async throws {
        let gate = Gate()
        let (server, folder, file) = try scene(gate)
        let terminal = try PseudoTerminal(columns: 100)
        let child = try terminal.run(["post", server.url(), "-F", "front=@\(file)", "-v"])
        try await terminal.waitUntil { $0.contains("\r\u{1B}[Ksending front") }
        gate.open()
        #expect(try await child.finish().exit == .status(0))
        let text = try await terminal.waitUntil { $0.contains("done: 200 OK") && $0.hasSuffix("\r\n") }
        let screen = PseudoTerminal.screen(after: text, columns: 100)
        #expect(screen.allSatisfy { $0.hasPrefix("* ") || $0.hasPrefix("done: ") }, "\(screen)")
        #expect(screen.contains { $0.contains("status=200") })
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: [["TERM": "dumb"], ["TERM": "xterm", "CI": "1"]]) func `a limited terminal receives plain lines`(
        _ environment: [String: String]
    ) async throws {
        let server = try LoopbackServer(otherwise: .respond(400))
        let terminal = try PseudoTerminal(columns: 80)
        let child = try terminal.run(["post", server.url(), "-F", "a=b"], environment: environment)
        #expect(try await child.finish().exit == .status(1))
        let text = try await terminal.waitUntil { $0.contains("rejected") && $0.hasSuffix("\r\n") }
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" && $0 != "\r" })
        #expect(text.hasPrefix("sending 1 part to "))
    }

    @Test func `an image is not written to a terminal`() async throws {
        let folder = try TemporaryDirectory()
        let picture = try folder.write("card.jpg", "refused before it is read")
        let terminal = try PseudoTerminal(columns: 80)
        let shrink = ["shrink", picture, "--max-bytes", "10K", "-o", "-"]
        let child = try terminal.run(shrink, withOutput: true)
        #expect(try await child.finish().exit == .status(2))
        let text = try await terminal.waitUntil { $0.contains("terminal") && $0.hasSuffix("\r\n") }
        #expect(text.contains("-o"))
    }

    @Test func `NO_COLOR disables colored errors`() async throws {
        let server = try LoopbackServer(otherwise: .respond(400))
        for (environment, isColoured) in [(["TERM": "xterm"], true), (["TERM": "xterm", "NO_COLOR": "1"], false)] {
            let terminal = try PseudoTerminal(columns: 80)
            let child = try terminal.run(["post", server.url(), "-F", "a=b"], environment: environment)
            #expect(try await child.finish().exit == .status(1))
            let text = try await terminal.waitUntil { $0.contains("rejected") && $0.hasSuffix("\r\n") }
            #expect(text.contains("\u{1B}[31m") == isColoured)
        }
    }
}
