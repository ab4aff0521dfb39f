import Foundation
import TestSupport
import Testing
import WaybillCore

@testable import Waybill
@testable import WaybillCLI

/// `-i`, `-D` and the header fields of `--json`.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ResponseHeadTests {
    private static let fields = [
        ("X-Receipt", "17"), ("Set-Cookie", "sid=s3cr3t-sid; Path=/; HttpOnly"), ("set-cookie", "b=2"),
        ("Location", "/receipts/17?signature=s3cr3t-signature"), ("X-Auth-Token", "s3cr3t-token"),
        ("X-Foreign", "a\u{202E}b"), ("Empty", ""),
    ]
    private static let answer = Behaviour.respond(ScriptedResponse(201, headers: fields, text: "stored"))

    /// Returns the response head as the server sends it.
    private static func head(_ status: String, _ fields: [(String, String)], length: Int) -> String {
        let lines = [status] + (fields + [("Content-Length", "\(length)")]).map { "\($0.0): \($0.1)" }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    private func files(_ folder: TemporaryDirectory, _ names: [String]) throws -> [String] {
        try names.map { try folder.write($0, "content of \($0)") }
    }

    @Test func `-i and -D write the same bytes as curl`() async throws {
        let folder = try TemporaryDirectory()
        let fields = Self.fields.filter { !$0.1.isEmpty }
        let server = try LoopbackServer(otherwise: .respond(ScriptedResponse(201, headers: fields, text: "stored")))
        let arguments = ["-F", "a=b", "-i", server.url()]
        let ours = try await Tool.run(["post", "-D", folder.path("ours")] + arguments)
        let curl = try await ChildProcess.run("curl", ["-sS", "-D", folder.path("curl")] + arguments)
        #expect(ours.exit == .status(0), "\(ours.errorText)")
        #expect(ours.text == Self.head("HTTP/1.1 201 Created", fields, length: 6) + "stored")
        #expect(ours.output == curl.output)
        #expect(try folder.read("ours") == folder.read("curl"))
    }

    @Test func `-D creates a private file and replaces a link without following it`() async throws {
        let folder = try TemporaryDirectory()
        let original = try folder.write("original", "kept")
        try FileManager.default.createSymbolicLink(atPath: folder.path("head"), withDestinationPath: original)
        let server = try LoopbackServer(Self.answer)
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "-D", folder.path("head")])
        #expect(run.exit == .status(0) && run.text == "stored", "\(run.errorText)")
        #expect(try folder.read("original") == Array("kept".utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path("head"))
        #expect(attributes[.type] as? FileAttributeType == .typeRegular)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `-D - writes the head before the body, and -o receives both with -i`() async throws {
        let folder = try TemporaryDirectory()
        let server = try LoopbackServer(otherwise: Self.answer)
        let all = Self.head("HTTP/1.1 201 Created", Self.fields, length: 6) + "stored"
        let dumped = try await Tool.run(["post", server.url(), "-F", "a=b", "-D", "-"])
        #expect(dumped.text == all, "\(dumped.errorText)")
        let kept = try await Tool.run(["post", server.url(), "-F", "a=b", "-i", "-o", folder.path("answer")])
        #expect(kept.text.isEmpty, "\(kept.errorText)")
        #expect(try folder.read("answer") == Array(all.utf8))
    }

    @Test func `a rejection has a head, and without a response the file of -D is kept`() async throws {
        let folder = try TemporaryDirectory()
        let kept = try folder.write("head", "kept")
        let server = try LoopbackServer(.respond(413, body: "no"), .closeWithoutResponse())
        let refused = try await Tool.run(["post", server.url(), "-F", "a=b", "-i"])
        #expect(refused.exit == .status(1))
        #expect(refused.text == Self.head("HTTP/1.1 413 Content Too Large", [], length: 2) + "no")
        let lost = try await Tool.run(["post", server.url(), "-F", "a=b", "-D", kept])
        #expect(lost.exit == .status(6), "\(lost.errorText)")
        #expect(try folder.names() == ["head"] && folder.read("head") == Array("kept".utf8))
    }

    @Test func `only the final head is written after interim responses and redirects`() async throws {
        let server = try LoopbackServer(
            otherwise: .respond(
                .raw(
                    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")))
        server.route("/old", .respond(307, headers: [("Location", "/new")]))
        let run = try await Tool.run(["post", server.url("/old"), "-F", "a=b", "-i"])
        #expect(run.text == Self.head("HTTP/1.1 200 OK", [], length: 2) + "ok", "\(run.errorText)")
    }

    @Test func `a head is escaped on a terminal`() async throws {
        let server = try LoopbackServer(Self.answer)
        let terminal = try PseudoTerminal(columns: 120)
        let run = try await terminal.run(["post", server.url(), "-F", "a=b", "-i", "-s"], withOutput: true).finish()
        #expect(run.exit == .status(0))
        let text = try await terminal.waitUntil { $0.contains("stored") }
        #expect(text.contains("X-Foreign: a\\u{202e}b\r\n"), "\(text)")
        #expect(!text.unicodeScalars.contains("\u{202E}"))
    }

    @Test func `an unwritable file of -D fails before any request is sent`() async throws {
        let server = try LoopbackServer()
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "-D", "/nonexistent/folder/head"])
        #expect(run.exit == .status(7), "\(run.errorText)")
        #expect(server.state.connections.isEmpty)
    }

    @Test func `--json lists header fields in order and redacts secrets`() async throws {
        let server = try LoopbackServer(Self.answer, .closeWithoutResponse())
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "--json"])
        let fields = try #require(try run.jsonLines().last?["headers"] as? [[String: String]])
        #expect(fields.map { $0["name"] } == Self.fields.map(\.0) + ["Content-Length"])
        #expect(
            fields.map { $0["value"] } == [
                "17", "sid=<redacted>; Path=/; HttpOnly", "b=<redacted>", "/receipts/17?<redacted>", "<redacted>",
                "a\u{202E}b", "", "6",
            ])
        #expect(!run.text.contains("s3cr3t") && !run.text.unicodeScalars.contains("\u{202E}"))
        let lost = try await Tool.run(["post", server.url(), "-F", "a=b", "--json"])
        #expect(try lost.jsonLines().last?["headers"] is NSNull)
    }

    @Test func `--json lists the header fields of a presigned URL`() async throws {
        let folder = try TemporaryDirectory()
        let server = try LoopbackServer(Self.answer)
        let run = try await Tool.run(["put", try folder.write("a", "x"), server.url("/a?signature=1"), "--json"])
        let event = try run.jsonLines().first { $0["event"] as? String == "file" }
        #expect((event?["headers"] as? [[String: String]])?.first == ["name": "X-Receipt", "value": "17"])
        #expect(!run.text.contains("s3cr3t"), "\(run.errorText)")
    }

    @Test func `with --each every file has its own head`() async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, ["a.txt", "b.txt"])
        let server = try LoopbackServer(otherwise: Self.answer)
        let run = try await Tool.run(
            [
                "post", server.url(), "-F", "f=@{}", "-i", "-o", "{folder}/{name}.body", "-D", "{folder}/{name}.head",
                "--json", "--each",
            ] + files)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try folder.names() == ["a.body", "a.head", "a.txt", "b.body", "b.head", "b.txt"])
        let head = Self.head("HTTP/1.1 201 Created", Self.fields, length: 6)
        #expect(try folder.read("b.head") == Array(head.utf8))
        #expect(try folder.read("a.body") == Array((head + "stored").utf8))
        let events = try run.jsonLines().filter { $0["event"] as? String == "file" }
        #expect(events.count == 2 && events.allSatisfy { ($0["headers"] as? [Any])?.count == 8 })
    }

    @Test(arguments: [
        (["-i", "--json"], "summary contains the header fields"), (["-i", "-o", "-", "--json"], "-i: with --json"),
        (["-D", "-", "--json"], "-D: with --json"),
        (["-D", "/tmp/wb-x", "-o", "/tmp/wb-x"], "Choose different files."),
        (["-D", "/tmp/wb-x", "-o", "/tmp/../tmp/wb-x"], "Choose different files."),
        (["-i", "--each", "a", "b"], "-i with --each requires -o 'PATTERN'"),
        (["-D", "-", "--each", "a", "b"], "-D with --each requires a pattern"),
        (["-D", "head", "--each", "a", "b"], "-D: all responses would be written"),
        (["-D", "{folder}/{name}.txt", "--each", "a.txt"], "would overwrite"),
        (["-o", "/tmp/{name}", "-D", "/tmp/{name}", "--each", "a", "b"], "would both be written to"),
        (["-i", "--queue"], "-i can't be combined with --queue"),
        (["-D", "x", "--queue"], "-D can't be combined with --queue"),
    ])
    func `invalid combinations are refused before a request is sent`(_ flags: [String], _ words: String) async throws {
        let server = try LoopbackServer()
        let form = flags.contains("--each") ? "f=@{}" : "a=b"
        let run = try await Tool.run(["post", server.url(), "-F", form] + flags)
        #expect(run.exit == .status(2) && run.errorText.contains(words), "\(run.errorText)")
        #expect(server.state.connections.isEmpty)
    }

    @Test func `a status line may have no reason, and shows the HTTP version`() {
        var response = UploadResponse(status: .init(code: 200), headers: [.eTag: "\"1\""])
        response.metrics.httpVersion = "HTTP/2"
        #expect(
            String(decoding: ResponseHead(response).bytes(forTerminal: false), as: UTF8.self)
                == "HTTP/2 200\r\nETag: \"1\"\r\n\r\n")
    }

    @Test func `-i shows the version of an HTTP2 response`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: "ok"))
        let front = try await HTTP2Front(to: server)
        let run = try await Tool.run(
            ["post", front.url(), "-F", "a=b", "-i", "--http2", "--cacert", front.authority])
        #expect(run.text.hasPrefix("HTTP/2 200\r\n") && run.text.hasSuffix("\r\n\r\nok"), "\(run.errorText)")
    }
}
