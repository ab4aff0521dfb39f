import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct FormBuildTests {
    let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    let expected =
        "--golden\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n@x;y\r\n"
        + "--golden\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
        + "--golden\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n"
        + "bytes\r\n--golden--\r\n"

    func arguments() throws -> [String] {
        let path = try folder.write("in.bin", "bytes")
        return [
            "form", "build", "--boundary", "golden", "--form-string", "b=@x;y", "-F", "a=1",
            "-F", "f=@\(path);filename=x.png",
        ]
    }

    @Test func `the body is written to standard output, its header fields to standard error`() async throws {
        let run = try await Tool.run(arguments())
        #expect(run.exit == .status(0))
        #expect(run.text == expected)
        #expect(
            run.errorText
                == "Content-Type: multipart/form-data; boundary=golden\nContent-Length: \(expected.utf8.count)\n")
    }

    @Test func `an output file is complete and private, and replaced only with --force`() async throws {
        let output = folder.path("form.bin")
        let run = try await Tool.run(arguments() + ["-o", output])
        #expect(run.exit == .status(0) && run.output.isEmpty, "\(run.errorText)")
        #expect(try folder.read("form.bin") == Array(expected.utf8))
        let mode = try FileManager.default.attributesOfItem(atPath: output)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try folder.write("form.bin", "mine")
        let refused = try await Tool.run(arguments() + ["-o", output])
        #expect(refused.exit == .status(2) && refused.errorText.contains("--force"))
        #expect(try folder.read("form.bin") == Array("mine".utf8))
        #expect(try await Tool.run(arguments() + ["-o", output, "--force"]).exit == .status(0))
        #expect(try folder.read("form.bin") == Array(expected.utf8))
        #expect(try folder.names() == ["form.bin", "in.bin"])
    }

    @Test func `a failure leaves no file and names the part`() async throws {
        let output = folder.path("form.bin")
        let run = try await Tool.run(["form", "build", "-F", "a=1", "-F", "f=@\(folder.path("none"))", "-o", output])
        #expect(run.exit == .status(3) && run.errorText.contains("Part 2 (\"f\")"), "\(run.errorText)")
        #expect(try folder.names() == [])
    }

    @Test(arguments: ["", "a b", "ä", "x\"", String(repeating: "x", count: 71)])
    func `an invalid boundary is a usage error`(boundary: String) async throws {
        let run = try await Tool.run(["form", "build", "-F", "a=1", "--boundary", boundary])
        #expect(run.exit == .status(2) && run.output.isEmpty && run.errorText.contains("Invalid boundary"))
    }

    @Test func `a boundary that occurs in a text field is refused`() async throws {
        let run = try await Tool.run(["form", "build", "-F", "a=xgoldenx", "--boundary", "golden"])
        #expect(run.exit == .status(7) && run.output.isEmpty && run.errorText.contains("Part 1"))
    }

    @Test func `the body is never written to a terminal, a preview is`() async throws {
        func run(on terminal: PseudoTerminal, _ more: [String]) async throws -> ChildProcess.Finished {
            try await ChildProcess.run(
                "sh", ["-c", "exec \"$@\" >\"$0\"", terminal.path, Tool.path] + arguments() + more,
                environment: Tool.environment())
        }
        let untouched = try PseudoTerminal(columns: 100)
        let refused = try await run(on: untouched, [])
        #expect(refused.exit == .status(2) && refused.errorText.contains("-o"))
        #expect(untouched.text.isEmpty)
        // The pseudo-terminal closes when the last program closes it.
        let terminal = try PseudoTerminal(columns: 100)
        let shown = try await run(on: terminal, ["--preview"])
        #expect(shown.exit == .status(0), "\(shown.errorText)")
        let text = try await terminal.waitUntil { $0.contains("--golden--") }
        #expect(text.contains("filename=\"x.png\"") && text.contains("<5 bytes>") && !text.contains("@x;y"))
    }

    @Test func `secrets are read from files and the environment, and images are recompressed`() async throws {
        let token = try folder.write("token", "s3cr3t-1")
        let photo = NoisePhoto.bytes(width: 320, height: 240, seed: 5)
        let path = try folder.write("front.png", photo)
        let run = try await Tool.run(
            [
                "form", "build", "-F", "T=<\(token)", "-F", "U=env:SECRET", "-F", "front=@\(path)", "--max-bytes",
                "front=8KB", "--boundary", "golden",
            ], environment: ["SECRET": "s3cr3t-2"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let text = String(decoding: run.output, as: UTF8.self)
        #expect(text.contains("s3cr3t-1") && text.contains("s3cr3t-2") && !run.errorText.contains("s3cr3t"))
        #expect(text.contains("filename=\"front.jpg\"\r\nContent-Type: image/jpeg") && run.output.count < 9_000)
    }

    @Test func `post sends what form build writes`() async throws {
        let server = try LoopbackServer()
        let form = try Array(arguments().dropFirst(4))
        let posted = try await Tool.run(["post", server.url()] + form)
        #expect(posted.exit == .status(0), "\(posted.errorText)")
        let request = try await server.request(0)
        let boundary = try #require(request.value(of: "Content-Type")?.split(separator: "boundary=").last)
        let built = try await Tool.run(["form", "build", "--boundary=\(boundary)"] + form)
        #expect(built.output == request.body)
    }

    @Test func `a closed pipe is a write error`() async throws {
        let path = try folder.writeSparse("large", size: 30_000_000)
        let run = try await ChildProcess.run(
            "bash",
            ["-c", "\"$0\" form build -F f=@\"$1\" | head -c 10 >/dev/null; echo ${PIPESTATUS[0]}", Tool.path, path],
            environment: Tool.environment())
        #expect(run.text == "7\n", "\(run.errorText)")
    }
}
