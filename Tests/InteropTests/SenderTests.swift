import TestSupport
import Testing
import WaybillMultipart

/// Forms of third-party programs, parsed by `MultipartParser`: every program is started and sends over a connection.
@Suite(.timeLimit(.minutes(3 * Slowness.factor)))
struct SenderTests {
    static let content = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    /// The form that every sender sends.
    static let expected: [TablePart.Read] = [
        field("TOKEN", "a b&c=d"), field("字段", "值\r\n第二行"), field("a\"b;c", ""), field("TOKEN", "again"),
        file("身份证正面.jpg", "image/jpeg"), file("a\"b;c.bin", "application/octet-stream"),
    ]

    private static func field(_ name: String, _ value: String) -> TablePart.Read {
        .init(name: Array(name.utf8), fileName: nil, contentType: nil, content: Array(value.utf8))
    }

    private static func file(_ fileName: String, _ type: String) -> TablePart.Read {
        .init(name: Array("FILE".utf8), fileName: Array(fileName.utf8), contentType: type, content: content)
    }

    @Test func `curl's form is parsed correctly`() async throws {
        let run = try await sent { server, path in
            (
                "curl",
                [
                    "-q", "-sS", "--noproxy", "*", "-F", "TOKEN=a b&c=d", "-F", "字段=值\r\n第二行", "--form-string",
                    "a\"b;c=", "-F", "TOKEN=again", "-F", "FILE=@\(path);filename=身份证正面.jpg;type=image/jpeg", "-F",
                    "FILE=@\(path);filename=\"a\\\"b;c.bin\";type=application/octet-stream", server.url("/form"),
                ]
            )
        }
        try expectForm(run)
    }

    @Test(arguments: ["requests", "httpx", "aiohttp"])
    func `a form of a Python library is parsed correctly`(library: String) async throws {
        let directory = try await ForeignReader.cacheDirectory()
        let request = try await sent { server, path in
            ("\(directory)/bin/python", ["-B", Self.script("send.py"), library, server.url("/form"), path])
        }
        // aiohttp also writes a type for fields, and escapes the quote in a field name with a backslash.
        try expectForm(request, ignoresTypesOfFields: true)
    }

    @Test func `a form of Node is parsed correctly`() async throws {
        try expectForm(
            try await sent { server, path in ("node", [Self.script("send.mjs"), server.url("/form"), path]) })
    }

    @Test func `a recorded form of a browser is parsed correctly`() throws {
        try expectRecordedFormIsRead()
    }

    @Test(.enabled(if: InstalledBrowser.here.isExpected, "\(InstalledBrowser.remedy)"))
    func `a form submitted by a browser is parsed correctly`() async throws {
        let browser = try #require(InstalledBrowser.here.program, "\(InstalledBrowser.remedy)")
        let server = try LoopbackServer()
        let page = String(decoding: try readFile(Self.script("page.html")), as: UTF8.self)
        let html = [("Content-Type", "text/html; charset=utf-8")]
        server.route("/page", .respond(200, headers: html, body: page))
        server.route("/form", .respond(200, headers: html, body: "done"))
        let profile = try TestSupport.TemporaryDirectory()
        let process = try ChildProcess(
            browser,
            [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--no-proxy-server", "--user-data-dir=\(profile.path)",
                "--virtual-time-budget=20000", "--dump-dom", server.url("/page"),
            ])
        let state = try await server.waitUntil { state in
            state.requests.contains { $0.path == "/form" && $0.isComplete }
        }
        process.signal(15)
        _ = try await process.finish()
        try expectForm(try #require(state.requests.first { $0.path == "/form" }))
    }

    /// Parses a request of Chromium 156 recorded by `Senders/record.py`.
    private func expectRecordedFormIsRead() throws {
        let bytes = try readFile(Self.script("Recorded/chromium-156.http"))
        let blankLine = Array("\r\n\r\n".utf8)
        let end = try #require(
            bytes.indices.first { bytes[$0...].starts(with: blankLine) }, "the record has no head")
        let head = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        func value(_ name: String) throws -> String {
            let line = try #require(head.first { $0.hasPrefix(name + ": ") }, "the record has no \(name)")
            return String(line.dropFirst(name.count + 2))
        }
        #expect(try value("User-Agent").contains("HeadlessChrome/156."))
        let body = Array(bytes[(end + blankLine.count)...])
        #expect(try Int(value("Content-Length")) == body.count)
        try expectForm(body, type: value("Content-Type"), fileBytes: 700)
    }

    /// Runs a sender and returns the request that it sent.
    private func sent(
        _ command: (LoopbackServer, String) -> (String, [String])
    ) async throws -> RecordedRequest {
        let server = try LoopbackServer()
        let directory = try TestSupport.TemporaryDirectory()
        let path = try directory.write("content", Self.content)
        let (program, arguments) = command(server, path)
        let run = try await ChildProcess.run(program, arguments)
        try #require(run.exit == .status(0), "\(program): \(run.errorText) Run make setup to install it.")
        return try await server.request(0)
    }

    private func expectForm(_ request: RecordedRequest, ignoresTypesOfFields: Bool = false) throws {
        let type = try #require(request.value(of: "Content-Type"))
        try expectForm(request.body, type: type, ignoresTypesOfFields: ignoresTypesOfFields)
    }

    private func expectForm(
        _ body: [UInt8], type: String, ignoresTypesOfFields: Bool = false, fileBytes: Int = content.count
    ) throws {
        for piece in [1, 997, body.count] {
            var read = try Collector.read(body, type, piece)
            if ignoresTypesOfFields {
                for index in read.indices where read[index].fileName == nil { read[index].contentType = nil }
            }
            #expect(read.count == Self.expected.count)
            for (read, var expected) in zip(read, Self.expected) {
                if expected.fileName != nil { expected.content = Array(expected.content.prefix(fileBytes)) }
                #expect(String(decoding: read.name, as: UTF8.self) == String(decoding: expected.name, as: UTF8.self))
                #expect(read == expected, "\(String(decoding: body.prefix(1_000), as: UTF8.self))")
            }
        }
    }

    private static func script(_ name: String) -> String { ProjectRoot.file("Tests/InteropTests/Senders/\(name)") }
}
