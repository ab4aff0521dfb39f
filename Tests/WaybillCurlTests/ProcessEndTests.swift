import TestSupport
import Testing

/// Programs that end while their uploads go on, or just after them. OpenSSL frees what it has in exit(3), and an engine that was
/// at work with it crashed: one program in a hundred, just after its last upload.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ProcessEndTests {
    @Test(arguments: ["main", "engine", "after", "copy"])
    func `a program that ends in the midst of uploads over TLS, or after them, ends well`(way: String) async throws {
        let (run, server) = try await end(by: way)
        #expect(run.exit == .status(0), "\(run.text)\(run.errorText)")
        #expect(server.requests.count >= 20)
    }

    @Test func `the end of a program waits for a sink that never returns, but not for ever`() async throws {
        #expect(try await end(by: "stuck").run.exit == .status(4))
    }

    private func end(by way: String) async throws -> (run: ChildProcess.Finished, server: LoopbackServer) {
        let server = try LoopbackServer(keepsBodies: false)
        let front = try await TLSFront(to: server)
        let run = try await ChildProcess.run(
            "\(ProjectRoot.products)/ExitErrand", [front.url(), front.authority, way])
        return (run, server)
    }
}
