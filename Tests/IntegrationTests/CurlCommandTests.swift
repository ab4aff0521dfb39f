import TestSupport
import Testing
import Waybill

/// Runs the curl command of a form in a shell: the server must receive what Waybill sends.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct CurlCommandTests {
    let folder: TemporaryDirectory
    let server: LoopbackServer

    init() throws {
        folder = try TemporaryDirectory()
        server = try LoopbackServer()
    }

    /// Sends a form with Waybill and with the shell and compares the requests except for the boundary.
    func compare(_ form: MultipartForm, shell: String = "bash") async throws {
        let command = form.curlCommand(to: server.url("/curl"))
        #expect(!command.hasPrefix("#"), "\(command)")
        // The displayed command is the one that runs: one option per line, and no control characters.
        #expect(command.unicodeScalars.allSatisfy { $0.value >= 0x20 || $0 == "\n" })
        let run = try await ChildProcess.run(shell, ["-c", command + " -sS"], directory: folder.path)
        #expect(run.exit == .status(0), "\(run.errorText)\n\(command)")
        _ = try await UploadSession().upload(form, to: server.url("/ours"))
        let theirs = try #require(server.requests.first { $0.path == "/curl" })
        let ours = try #require(server.requests.first { $0.path == "/ours" })
        #expect(try Received.normalizingBoundary(ours) == Received.normalizingBoundary(theirs), "\(command)")
    }

    @Test func `ordinary fields and files match curl in any POSIX shell`() async throws {
        let path = try folder.write("front 1.jpg", [1, 2, 3])
        let form: MultipartForm = [
            .text("BUSINESSNO", "2026"), .text("note", "it's \"quoted\" $HOME `id` \\ ; , # ! * 身份证 🙂"),
            .text("empty", ""),
            .text("at", "@front 1.jpg"), .text("less", "<x"), .text("equals", "a=b=c"), .text("-F", "-o x"),
            .file("FILE", path: path), .file("FILE", path: path, fileName: "身份证 正面.jpg", contentType: "image/pjpeg"),
            .json("META", ["side": "front", "quote": "\"\\"]),
        ]
        try await compare(form, shell: "sh")
    }

    @Test func `hostile names, paths and values survive both levels of quoting`() async throws {
        let hostile = "a'b\"c\\d;e,f$(id)`id`\\n%22 %41&|<>*?[x]{y}~!"
        let path = try folder.write("p'q\"r\\s;t,u $(id) -x.png", [9])
        var typed = MultipartPart.text("typed'\"", "@x;type=y\"\\")
        typed.contentType = "text/x-odd; charset=utf-8"
        var named = MultipartPart.text("named text", "1\n2")
        named.fileName = "a.csv"
        let form: MultipartForm = [
            .text(hostile, hostile), .file(hostile, path: path, fileName: hostile, contentType: "image/png"), typed,
            named,
            .text("named", "v").header("Content-Description", "1; \"two\""),
        ]
        try await compare(form)
    }

    @Test func `line breaks and other control characters survive`() async throws {
        let form: MultipartForm = [
            .text("lines", "a\nb\r\nc\rd\n"), .text("tab\tbell\u{7}", "\u{1B}[31m\u{202E}1\u{7F}7'\\"),
            .text("nl\nname", "\n"),
        ]
        try await compare(form)
    }

    @Test func `the backslash profile matches curl's --form-escape`() async throws {
        var form: MultipartForm = [.text("a\"b\\c", "1"), .text("plain", "2")]
        form.compatibility = .backslashEscapes
        try await compare(form)
    }

    @Test func `braces in a URL, an empty header and a file named - are taken literally`() async throws {
        _ = try folder.write("-", [1, 2, 3])
        var request = UploadRequest(.post, server.url("/a{b,c}[1-3]"), content: .form([.file("f", path: "-")]))
        request.headers[.acceptLanguage] = ""
        let run = try await ChildProcess.run(
            "sh", ["-c", request.curlCommand + " -sS"], directory: folder.path)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let received = try #require(server.requests.first)
        #expect(server.requests.count == 1 && received.path == "/a{b,c}[1-3]")
        #expect(String(decoding: received.body, as: UTF8.self).contains("filename=\"-\""))
        #expect(received.value(of: "Accept-Language") == "")
    }

    @Test func `files last and repeated names keep their order`() async throws {
        let path = try folder.write("a.txt", [1])
        var form: MultipartForm = [.file("f", path: path), .text("a", "1"), .file("f", path: path), .text("a", "2")]
        form.order = .filesLast
        try await compare(form)
    }
}
