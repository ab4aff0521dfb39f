import Foundation
import Glibc
import TestSupport
import Testing
import WaybillCore

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PostFailureTests {
    @Test(arguments: [(400, 1), (401, 1), (413, 1), (503, 5), (429, 5)])
    func `a rejection exits with 1, or 5 if it may be temporary, and prints the response`(_ status: Int, _ exit: Int)
        async throws
    {
        let server = try LoopbackServer(.respond(status, body: "no: \(status)"))
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "--retry", "0"])
        #expect(run.exit == .status(exit))
        #expect(run.text == "no: \(status)")
        #expect(run.errorText.contains("waybill: rejected: The server responded with \(status)"))
        #expect(server.requests.count == 1)
    }

    @Test func `an unreadable source exits with 3 before any connection`() async throws {
        let folder = try TemporaryDirectory()
        #expect(unsafe mkfifo(folder.path("fifo"), 0o600) == 0)
        let broken = try folder.write("broken.jpg", [0xFF, 0xD8, 0xFF, 0xE0])
        let photo = try folder.write("photo.jpg", NoisePhoto.bytes(width: 400, height: 320, seed: 1))
        let server = try LoopbackServer()
        let cases: [(arguments: [String], code: String)] = [
            (["-F", "front=@\(folder.path)/missing"], "fileNotFound"),
            (["-F", "front=@\(folder.path)"], "notARegularFile"),
            (["-F", "front=@\(broken)", "--max-bytes", "front=10K"], "truncated"),
            (["-F", "front=@\(photo)", "--max-bytes", "front=20"], "cannotReachLimit"),
            (["-F", "front=<\(folder.path)/missing"], "fileNotFound"),
            (["-F", "front=<\(folder.path)/fifo"], "fileNotReadable"),
            (["-F", "front=<\(folder.path)"], "fileNotReadable"),
            (["-F", "a=b", "-H", "@\(folder.path)/missing"], "fileNotFound"),
        ]
        for example in cases {
            let run = try await Tool.run(["post", server.url(), "--json"] + example.arguments)
            #expect(run.exit == .status(3), "\(example): \(run.errorText)")
            let summary = try #require(try run.jsonLines().last)
            #expect(summary["exit"] as? Int == 3)
            #expect(summary["outcome"] as? String == "notSent")
            #expect((summary["error"] as? [String: Any])?["code"] as? String == example.code, "\(run.text)")
            #expect(run.errorText.hasPrefix("waybill: "))
        }
        #expect(server.state.connections.isEmpty)
    }

    @Test(arguments: [
        ["post"], ["post", "URL"], ["post", "URL", "-F", "novalue"], ["post", "URL", "-F", "a=b", "--bogus"],
        ["post", "URL", "-F", "a=b", "-X", "HEAD"], ["post", "URL", "-F", "a=b", "-X", "a b"],
        ["post", "URL", "-F", "a=b", "-H", "Host: x"], ["post", "URL", "-F", "a=b", "-H", "Content-Length: 5"],
        ["post", "URL", "-F", "a=b", "-H", "Content-Type: multipart/form-data"],
        ["post", "URL", "-F", "a=b", "-H", "nothing"], ["post", "URL", "-F", "a=b", "--limit-rate", "fast"],
        ["post", "URL", "-F", "a=b", "--retry", "-1"], ["post", "URL", "-F", "a=b", "-m", "soon"],
        ["post", "URL", "-F", "a=b", "--max-bytes", "10K"], ["post", "URL", "-F", "a=b", "--max-bytes", "a=10K"],
        ["post", "URL", "-F", "a=b", "-u", "nobody"], ["post", "URL", "-F", "a=b", "--digest"],
        ["post", "URL", "-F", "a=b", "--resolve", "host"],
        ["post", "URL", "-F", "a=env:WB_NOT_SET"],
        ["post", "URL", "-F", "f=@/etc/hostname;type=a/b", "--quality", "f=5"],
        ["post", "ftp://127.0.0.1/", "-F", "a=b"], ["post", "file:///etc/hostname", "-F", "a=b"],
        ["post", "127.0.0.1/", "-F", "a=b"], ["post", "http://", "-F", "a=b"], ["post", "http://a b/", "-F", "a=b"],
        ["bogus"], ["shrink", "/etc/hostname"],
    ]) func `an invalid call exits with 2 before any connection`(_ arguments: [String]) async throws {
        let server = try LoopbackServer()
        let run = try await Tool.run(arguments.map { $0 == "URL" ? server.url() : $0 })
        #expect(run.exit == .status(2), "\(run.errorText)")
        #expect(!run.errorText.isEmpty && run.output.isEmpty)
        #expect(server.state.connections.isEmpty)
    }

    @Test func `a refused connection exits with 5`() async throws {
        let port = try ClosedPort()
        let run = try await Tool.run(["post", port.url(), "-F", "a=b"])
        #expect(run.exit == .status(5))
        #expect(run.errorText.contains("cannotConnect"))
        #expect(run.errorText.contains("The server received nothing of the request"))
    }

    @Test func `a connection lost in the body exits with 5, and a retry recovers`() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.writeSparse("large", size: 20_000_000)
        let server = try LoopbackServer(
            .reset(afterBodyBytes: 100_000), .reset(afterBodyBytes: 100_000), receiveBuffer: .kibibytes(64))
        let alone = try await Tool.run(["post", server.url(), "-F", "f=@\(file)"])
        #expect(alone.exit == .status(5), "\(alone.errorText)")
        #expect(alone.errorText.contains("which is incomplete"))
        let again = try await Tool.run(["post", server.url(), "-F", "f=@\(file)", "--retry", "1"])
        #expect(again.exit == .status(0), "\(again.errorText)")
        #expect(again.errorText.contains("2 attempts"))
    }

    @Test func `a request sent without a response exits with 6`() async throws {
        let server = try LoopbackServer(.closeWithoutResponse(), .neverRespond)
        let closed = try await Tool.run(["post", server.url(), "-F", "a=b", "--retry", "3"])
        #expect(closed.exit == .status(6), "\(closed.errorText)")
        #expect(closed.errorText.contains("Check the server before you send it again"))
        let mute = try await Tool.run(["post", server.url(), "-F", "a=b", "--response-timeout", "0.3", "--json"])
        #expect(mute.exit == .status(6), "\(mute.errorText)")
        #expect(mute.errorText.contains("Raise --response-timeout"))
        #expect(try mute.jsonLines().last?["outcome"] as? String == "unknown")
        #expect(server.requests.count == 2)
    }

    @Test func `a file that grows while it is sent exits with 4`() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.writeSparse("large", size: 6_000_000)
        let gate = Gate()
        let server = try LoopbackServer(
            .respond(200).paused(afterBodyBytes: 50_000, until: gate), receiveBuffer: .kibibytes(64))
        let child = try Tool.start(["post", server.url(), "-F", "f=@\(file)"])
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 50_000 }
        #expect(unsafe truncate(file, 6_000_001) == 0)
        gate.open()
        let run = try await child.finish()
        #expect(run.exit == .status(4), "\(run.errorText)")
        #expect(run.errorText.contains("sourceChanged"))
    }

    @Test func `an unwritable output file exits with 7 before any request is sent`() async throws {
        let server = try LoopbackServer()
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "-o", "/nonexistent/folder/answer"])
        #expect(run.exit == .status(7), "\(run.errorText)")
        #expect(server.state.connections.isEmpty)
    }

    @Test func `a response that cannot be written exits with 7 and is still reported`() async throws {
        let server = try LoopbackServer(.respond(200, body: "answer"))
        let child = try ChildProcess(
            "sh", ["-c", "exec \"$0\" \"$@\" >/dev/full", Tool.path, "post", server.url(), "-F", "a=b"],
            environment: Tool.environment())
        let run = try await child.finish()
        #expect(run.exit == .status(7))
        #expect(run.errorText.contains("standard output can't be written"))
        #expect(run.errorText.contains("done: 200 OK"))
    }

    @Test func `text from outside cannot control the terminal`() async throws {
        let server = try LoopbackServer(
            .respond(.raw("HTTP/1.1 400 \u{1B}[2Jbad\u{202E}\r\nContent-Length: 0\r\n\r\n")))
        let run = try await Tool.run([
            "post", server.url(), "-F", "a\u{1B}[31m=@\"/nonexistent/\u{1B}]0,x\u{7}\"", "-v",
        ])
        #expect(run.exit == .status(3))
        let refused = try await Tool.run(["post", server.url(), "-F", "a=b", "-v"])
        for text in [run.errorText, refused.errorText] {
            #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0.value == 0x202E }, "\(text)")
        }
    }
}
