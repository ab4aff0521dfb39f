import TestSupport
import Testing

/// Programs that end during uploads or just after them. OpenSSL frees its state in exit(3), and an engine that was
/// using it crashed: one program in a hundred, just after its last upload.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ProcessEndTests {
    @Test(arguments: ["main", "engine", "after", "copy"])
    func `a program that exits during or after uploads over TLS does not crash`(mode: String) async throws {
        let (run, server) = try await end(by: mode)
        #expect(run.exit == .status(0), "\(run.text)\(run.errorText)")
        #expect(server.requests.count >= 20)
    }

    @Test func `the exit of a program does not hang on a sink that never returns`() async throws {
        #expect(try await end(by: "stuck").run.exit == .status(4))
    }

    private func end(by mode: String) async throws -> (run: ChildProcess.Finished, server: LoopbackServer) {
        let server = try LoopbackServer(keepsBodies: false)
        let front = try await TLSFront(to: server)
        let run = try await ChildProcess.run(
            "\(ProjectRoot.products)/ExitTestHelper", [front.url(), front.authority, mode])
        return (run, server)
    }
}
