import Foundation
import Glibc
import TestSupport
import Testing

@testable import WaybillCLI

/// Standard input, FIFOs and process substitutions as parts of a form and as objects.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PipedInputTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Runs a shell command line in which `$W` is the program.
    private func shell(
        _ line: String, _ environment: [String: String] = [:], input: [UInt8] = []
    ) async throws -> ChildProcess.Finished {
        try await ChildProcess.run(
            "bash", ["-c", line],
            environment: Tool.environment(environment.merging(["W": Tool.path, "HOME": folder.path("home")]) { $1 }),
            input: input, directory: folder.path)
    }

    @Test func `standard input is a file part with a length and a name`() async throws {
        let server = try LoopbackServer()
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let run = try await Tool.run(["post", server.url(), "-F", "f=@-;filename=x.tar"], input: bytes)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let request = try await server.request(0)
        #expect(request.value(of: "Transfer-Encoding") == nil && request.value(of: "Content-Length") != nil)
        let body = String(decoding: request.body, as: UTF8.self)
        #expect(body.contains("name=\"f\"; filename=\"x.tar\"\r\nContent-Type: application/x-tar\r\n"))
        #expect(request.body.count > bytes.count && contains(request.body, bytes))
    }

    private func contains(_ body: [UInt8], _ bytes: [UInt8]) -> Bool { body.firstRange(of: bytes) != nil }

    @Test func `without a file name standard input is named -, as by curl`() async throws {
        let server = try LoopbackServer()
        let run = try await Tool.run(["post", server.url(), "-F", "f=@-"], input: Array("abc".utf8))
        #expect(run.exit == .status(0), "\(run.errorText)")
        let body = try await server.request(0).bodyWithoutBoundary
        #expect(body.contains("filename=\"-\"\r\nContent-Type: application/octet-stream\r\n\r\nabc\r\n"), "\(body)")
    }

    @Test(arguments: ["< in", "3< in <&3", "< <(cat in)"])
    func `standard input from a file, a descriptor or a pipe is sent whole`(_ redirection: String) async throws {
        let server = try LoopbackServer()
        try folder.write("in", "all of it")
        let run = try await shell("$W post \(server.url()) -F f=@- \(redirection)")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try await server.request(0).bodyWithoutBoundary.contains("\r\n\r\nall of it\r\n"))
    }

    @Test func `bytes consumed before the program starts are not sent`() async throws {
        let server = try LoopbackServer()
        try folder.write("in", "first\nrest\n")
        let run = try await shell("{ read -r line; $W post \(server.url()) -F f=@-; } < in")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try await server.request(0).bodyWithoutBoundary.contains("\r\n\r\nrest\n\r\n"))
    }

    @Test func `FIFOs and process substitutions are file parts`() async throws {
        let server = try LoopbackServer()
        let run = try await shell(
            "mkfifo pipe.txt; printf fifo > pipe.txt & $W post \(server.url()) -F a=@pipe.txt -F 'b=@'<(printf shell)';filename=b'"
        )
        #expect(run.exit == .status(0), "\(run.errorText)")
        let body = try await server.request(0).bodyWithoutBoundary
        #expect(body.contains("filename=\"pipe.txt\"\r\nContent-Type: text/plain\r\n\r\nfifo\r\n"), "\(body)")
        #expect(body.contains("filename=\"b\"") && body.contains("\r\n\r\nshell\r\n"), "\(body)")
    }

    @Test func `a retry sends the same bytes again`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200))
        server.script(.respond(503))
        let run = try await Tool.run(
            ["post", server.url(), "-F", "f=@-", "--retry", "1"], input: Array("once".utf8))
        #expect(run.exit == .status(0), "\(run.errorText)")
        let bodies = server.requests.map(\.bodyWithoutBoundary)
        #expect(bodies.count == 2 && bodies.allSatisfy { $0.contains("\r\n\r\nonce\r\n") })
    }

    @Test func `with --each every form contains standard input`() async throws {
        let server = try LoopbackServer()
        let files = try ["a", "b", "c"].map { try folder.write($0, $0) }
        let run = try await Tool.run(
            ["post", server.url(), "-F", "shared=@-", "-F", "f=@{}", "--each"] + files, input: Array("shared".utf8))
        #expect(run.exit == .status(0), "\(run.errorText)")
        let bodies = server.requests.map(\.bodyWithoutBoundary)
        #expect(bodies.count == 3 && bodies.allSatisfy { $0.contains("\r\n\r\nshared\r\n") })
    }

    @Test func `process substitutions can be the files of --each`() async throws {
        let server = try LoopbackServer()
        let run = try await shell("$W post \(server.url()) -F f=@{} --each <(printf one) <(printf two)")
        #expect(run.exit == .status(0), "\(run.errorText)")
        let bodies = server.requests.map(\.bodyWithoutBoundary)
        #expect(
            bodies.contains { $0.contains("\r\n\r\none\r\n") } && bodies.contains { $0.contains("\r\n\r\ntwo\r\n") })
    }

    @Test(arguments: [
        ["-F", "a=@-", "-F", "b=@-"], ["-F", "a=@-,-"], ["-F", "a=<-", "-F", "b=@/dev/stdin"],
        ["-F", "a=@-", "-H", "@-"],
        ["-F", "a=@{}", "-F", "b=@-", "--each-from", "-"],
    ])
    func `two readers of standard input are refused before it is read`(_ words: [String]) async throws {
        let run = try await Tool.run(["post", "http://127.0.0.1:1/"] + words, input: Array("x".utf8))
        #expect(run.exit == .status(2))
        #expect(run.errorText.contains("Standard input can be read only once, but "), "\(run.errorText)")
    }

    @Test(arguments: [[String](), ["--queue"]]) func `a dry run reads no input`(_ more: [String]) async throws {
        let line = "{ $W post http://127.0.0.1:1/ -F f=@- --dry-run \(more.joined()) --outbox outbox"
        let words = more.isEmpty ? line.replacing(" --outbox outbox", with: "") : line
        let run = try await shell(words + "; cat; }", input: Array("still here".utf8))
        #expect(run.exit == .status(0) && run.text.hasSuffix("still here"), "\(run.text)\(run.errorText)")
        #expect(
            (run.text + run.errorText).contains("length unknown until it is read"), "\(run.text)\(run.errorText)")
    }

    @Test func `an image from a pipe is recompressed`() async throws {
        let server = try LoopbackServer()
        let photo = NoisePhoto.bytes(width: 640, height: 480, seed: 5)
        let run = try await Tool.run(
            ["post", server.url(), "-F", "front=@-;filename=card.jpg", "--max-bytes", "20K"], input: photo)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let body = try await server.request(0).body
        #expect(body.count < 21_500 && body.count > 15_000 && contains(body, Array("filename=\"card.jpg\"".utf8)))
    }

    @Test func `an image larger than the decoder limit is refused`() async throws {
        let run = try await shell(
            "head -c 100000001 /dev/zero | $W post http://127.0.0.1:1/ -F 'f=@-;filename=a.jpg' --max-bytes 20K")
        #expect(run.exit == .status(3))
        #expect(run.errorText.contains("tooManyBytes in part \"f\": standard input exceeds "), "\(run.errorText)")
    }

    @Test func `the outbox stores a copy of standard input but references files`() async throws {
        let fixture = try OutboxFixture()
        let file = try fixture.folder.write("a.txt", "file")
        let queued = try await fixture.queue(
            "-F", "f=@-;filename=x", "-F", "g=@\(file)", input: Array("from a pipe".utf8))
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path + "/spool").count == 1)
        #expect(try await fixture.deliver().exit == .status(0))
        let body = try await fixture.server.request(0).bodyWithoutBoundary
        #expect(body.contains("\r\n\r\nfrom a pipe\r\n") && body.contains("\r\n\r\nfile\r\n"), "\(body)")
    }

    @Test func `the temporary copy has no name and is gone after a signal`() async throws {
        let place = try TemporaryDirectory()
        let server = try LoopbackServer(otherwise: .neverRespond)
        let child = try Tool.start(
            ["post", server.url(), "-F", "f=@-"], environment: ["TMPDIR": place.path],
            input: Array(repeating: 65, count: 3_000_000))
        _ = try await server.request(0)
        #expect(try place.names() == [])
        kill(child.pid, SIGINT)
        #expect(try await child.finish().exit == .status(130))
        #expect(try place.names() == [])
    }

    @Test func `a missing temporary directory is reported with TMPDIR`() async throws {
        let run = try await Tool.run(
            ["post", "http://127.0.0.1:1/", "-F", "f=@-"], environment: ["TMPDIR": folder.path("none")], input: [65])
        #expect(run.exit == .status(7), "\(run.errorText)")
        #expect(run.errorText.contains("TMPDIR"), "\(run.errorText)")
    }

    @Test func `shrink reads a FIFO`() async throws {
        try folder.write("in.jpg", NoisePhoto.bytes(width: 640, height: 480, seed: 5))
        let run = try await shell("mkfifo p; cat in.jpg > p & $W shrink p -o out.jpg --max-bytes 20K")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try folder.read("out.jpg").count <= 20_480)
    }
}

/// Pipes as sources of objects.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PutPipeTests {
    private let store: OSSStore
    private let folder: TemporaryDirectory

    init() throws {
        store = try OSSStore()
        folder = try TemporaryDirectory()
    }

    private func put(_ line: String, input: [UInt8] = []) async throws -> ChildProcess.Finished {
        let environment = [
            "W": "\(Tool.path) put --endpoint \(store.endpoint) --region cn-hangzhou --allow-http",
            "OSS_ACCESS_KEY_ID": "ak", "OSS_ACCESS_KEY_SECRET": "sk", "XDG_STATE_HOME": folder.path("state"),
        ]
        return try await ChildProcess.run(
            "bash", ["-c", line], environment: Tool.environment(environment), input: input, directory: folder.path)
    }

    @Test func `standard input becomes an object and leaves no resume record`() async throws {
        let bytes = [UInt8](repeating: 7, count: 300_000)
        let run = try await put("$W --part-size 100KiB - oss://examplebucket/a/b.bin", input: bytes)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(store.object("a/b.bin")?.content.bytes == bytes)
        #expect(run.errorText.contains("done: 1 of 1 file stored, 293.0 KiB"), "\(run.errorText)")
        let records = try? FileManager.default.subpathsOfDirectory(atPath: folder.path("state"))
        #expect((records ?? []).allSatisfy { !$0.hasSuffix(".json") }, "\(records ?? [])")
    }

    @Test func `a FIFO provides a key, standard input and process substitutions require one`() async throws {
        let run = try await put("mkfifo named; printf x > named & $W named oss://examplebucket/in/")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(store.object("in/named")?.content.bytes == [120])
        for line in [
            "$W - oss://examplebucket/in/", "$W <(printf x) oss://examplebucket", "$W - - oss://examplebucket/a",
        ] {
            let refused = try await put(line)
            #expect(refused.exit == .status(2), "\(line)")
            #expect(
                refused.errorText.contains("Write the complete key") || refused.errorText.contains("can't be combined"),
                "\(refused.errorText)")
        }
        let named = try await put("$W <(printf y) oss://examplebucket/whole")
        #expect(named.exit == .status(0), "\(named.errorText)")
        #expect(store.object("whole")?.content.bytes == [121])
    }

    @Test(arguments: ["", "--queue --outbox outbox"]) func `a dry run reads no input`(_ more: String) async throws {
        let run = try await put("{ $W - oss://examplebucket/k -n \(more); cat; }", input: Array("still here".utf8))
        #expect(run.exit == .status(0) && run.text.hasSuffix("still here"), "\(run.text)\(run.errorText)")
        #expect(
            (run.text + run.errorText).contains("length unknown until it is read"), "\(run.text)\(run.errorText)")
        #expect(store.state.keys().isEmpty)
    }

    @Test func `the outbox stores a copy of an object from standard input`() async throws {
        let queued = try await put("$W - oss://examplebucket/k --queue --outbox outbox", input: Array("kept".utf8))
        #expect(queued.exit == .status(0), "\(queued.errorText)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("outbox/spool")).count == 1)
    }
}
