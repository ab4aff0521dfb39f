import Glibc
import TestSupport
import Testing
import WaybillCore

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct SignalTests {
    private func stalled(
        _ folder: TemporaryDirectory, _ more: [String] = []
    ) async throws -> (server: LoopbackServer, child: ChildProcess) {
        let file = try folder.writeSparse("large", size: 20_000_000)
        let server = try LoopbackServer(.stall(afterBodyBytes: 50_000), receiveBuffer: .kibibytes(64))
        let child = try Tool.start(["post", server.url(), "-F", "f=@\(file)"] + more)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 50_000 }
        return (server, child)
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)]) func `a signal during a stall ends with a summary`(
        _ signal: Int32, _ status: Int
    ) async throws {
        let folder = try TemporaryDirectory()
        let (server, child) = try await stalled(folder)
        child.signal(signal)
        let run = try await child.finish()
        #expect(run.exit == .status(status), "\(run.errorText)")
        #expect(run.errorText.contains("waybill: cancelled"))
        #expect(run.errorText.contains("which is incomplete"))
        _ = try await server.peerEnd()
    }

    @Test func `the JSON summary is last, also after a signal`() async throws {
        let folder = try TemporaryDirectory()
        let (server, child) = try await stalled(folder, ["--json"])
        child.signal(SIGTERM)
        let run = try await child.finish()
        #expect(run.exit == .status(143), "\(run.errorText)")
        let lines = try run.jsonLines()
        let summary = try #require(lines.last)
        #expect(lines.filter { $0["event"] as? String == "summary" }.count == 1)
        #expect(summary["event"] as? String == "summary")
        #expect(summary["result"] as? String == "cancelled")
        #expect(summary["outcome"] as? String == "incomplete")
        #expect(summary["signal"] as? Int == 15)
        #expect((summary["acknowledged"] as? Int ?? 0) >= 50_000)
        _ = try await server.peerEnd()
    }

    @Test func `a signal while awaiting the response leaves the outcome unknown`() async throws {
        let server = try LoopbackServer(.neverRespond)
        let child = try Tool.start(["post", server.url(), "-F", "a=b", "--json"])
        try await child.waitUntil { $0.text.contains("awaitingResponse") }
        child.signal(SIGINT)
        let run = try await child.finish()
        #expect(run.exit == .status(130), "\(run.errorText)")
        #expect(try run.jsonLines().last?["outcome"] as? String == "unknown")
    }

    @Test func `a repeated signal, as sent by timeout, still ends with a summary`() async throws {
        let folder = try TemporaryDirectory()
        let (server, child) = try await stalled(folder)
        for _ in 0..<3 { child.signal(SIGINT) }
        let run = try await child.finish()
        #expect(run.exit == .status(130), "\(run.errorText)")
        #expect(run.errorText.contains("waybill: cancelled"))
        _ = try await server.peerEnd()
    }

    @Test(.enabled(if: !Tool.isThreadSanitized, "the thread sanitizer hands signals on when it sees fit"))
    func `a later signal ends a program that the first could not stop`() async throws {
        let folder = try TemporaryDirectory()
        let pipe = folder.path("pipe")
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        // The pipe is opened but never read, so the program blocks while writing its response.
        let end = unsafe open(pipe, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        defer { close(end) }
        let server = try LoopbackServer(.respond(200, body: String(repeating: "x", count: 500_000)))
        let child = try ChildProcess(
            "env",
            [
                "--default-signal=INT", "sh", "-c", "exec \"$0\" \"$@\" >'\(pipe)'", Tool.path, "post", server.url(),
                "-F", "a=b", "-v",
            ], environment: Tool.environment())
        try await child.waitUntil { $0.errorText.contains("upload succeeded") }
        while child.writtenSoFar.finished == nil {
            child.signal(SIGINT)
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try await child.finish().exit == .status(130))
    }

    @Test func `a signal ignored at start stays ignored`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(.respond(200, body: "ok").delayed(until: gate))
        let child = try ChildProcess(
            "env", ["--ignore-signal=INT", Tool.path, "post", server.url(), "-F", "a=b", "--json"],
            environment: Tool.environment())
        try await child.waitUntil { $0.text.contains("awaitingResponse") }
        child.signal(SIGINT)
        gate.open()
        let run = try await child.finish()
        #expect(run.exit == .status(0), "\(run.errorText)")
    }
}
