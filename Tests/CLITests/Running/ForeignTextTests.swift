import TestSupport
import Testing

@testable import WaybillCLI

/// Text from a server or a file name never controls the terminal; pipes and files receive it unchanged.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ForeignTextTests {
    /// A window title, a color, a bidirectional override, C1 controls as UTF-8 and as bytes, a lone carriage return,
    /// a zero-width space and separators.
    private static let hostile: [UInt8] =
        Array("{\"a\":1}\r\n\tb \u{1B}]0;hit\u{7}\u{1B}[31m\u{202E}c\u{2066}\u{9B}2J\rd\u{200B}\u{2028}e\u{7F}".utf8)
        + [0x9B, 0x66]

    private static let shown =
        "{\"a\":1}\n\tb \\u{1b}]0;hit\\u{7}\\u{1b}[31m\\u{202e}c\\u{2066}\\u{9b}2J\\u{d}d\\u{200b}\\u{2028}e\\u{7f}\u{FFFD}f"

    private static func controls(_ text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { scalar in
            ![0x09, 0x0A, 0x0D].contains(scalar.value)
                && [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
    }

    /// Runs the program with standard output and standard error on a terminal that draws no bars.
    private func onTerminal(_ words: [String], until mark: String) async throws -> (
        text: String, exit: ChildProcess.Exit
    ) {
        let terminal = try PseudoTerminal(columns: 200)
        let child = try terminal.run(words, environment: ["TERM": "dumb"], withOutput: true)
        let exit = try await child.finish().exit
        let text = try await terminal.waitUntil { $0.contains(mark) && $0.hasSuffix("\r\n") }
        return (text.unicodeScalars.filter { $0 != "\r" }.map(String.init).joined(), exit)
    }

    @Test func `line breaks and tabs are kept, other control characters are escaped`() {
        #expect(UntrustedText.escaped(Self.hostile) == Self.shown)
        #expect(UntrustedText.escaped([]).isEmpty)
        #expect(UntrustedText.escaped(Array("a\r\n\r\nb\n".utf8)) == "a\n\nb\n")
    }

    @Test(arguments: [200, 400]) func `a response is escaped on a terminal`(_ status: Int) async throws {
        let server = try LoopbackServer(otherwise: .respond(ScriptedResponse(status, body: Self.hostile)))
        let mark = status == 200 ? "done: " : "rejected"
        let (text, exit) = try await onTerminal(["post", server.url(), "-F", "a=b"], until: mark)
        #expect(exit == .status(status == 200 ? 0 : 1))
        // A line break ends the response, so that the next line starts in the first column.
        #expect(text.contains(Self.shown + "\n"), "\(text)")
        #expect(Self.controls(text).isEmpty, "\(text)")
    }

    @Test func `a response is escaped on a terminal that -o names`() async throws {
        let server = try LoopbackServer(otherwise: .respond(ScriptedResponse(200, body: Self.hostile)))
        let terminal = try PseudoTerminal(columns: 80)
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "-q", "-o", terminal.path])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let text = try await terminal.waitUntil { $0.hasSuffix("\r\n") && $0.contains("\u{FFFD}f") }
        #expect(Self.controls(text).isEmpty, "\(text)")
    }

    @Test func `a response is written unchanged to a pipe and a file`() async throws {
        let folder = try TemporaryDirectory()
        let server = try LoopbackServer(otherwise: .respond(ScriptedResponse(200, body: Self.hostile + [0])))
        let piped = try await Tool.run(["post", server.url(), "-F", "a=b"])
        #expect(piped.output == Self.hostile + [0])
        _ = try await Tool.run(["post", server.url(), "-F", "a=b", "-o", folder.path("answer")])
        #expect(try folder.read("answer") == Self.hostile + [0])
    }

    @Test func `binary data is not written to a terminal, and the warning names -o`() async throws {
        let server = try LoopbackServer(
            otherwise: .respond(ScriptedResponse(200, body: Array("GIF89a".utf8) + [0, 1])))
        let (text, exit) = try await onTerminal(["post", server.url(), "-F", "a=b"], until: "done: ")
        #expect(exit == .status(0))
        #expect(!text.contains("GIF89a"))
        #expect(text.contains("warning: The response is binary (8 B)") && text.contains("-o FILE"), "\(text)")
    }

    @Test func `the response to a put is escaped on a terminal`() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("a.txt", "contents")
        let server = try LoopbackServer(otherwise: .respond(ScriptedResponse(200, body: Self.hostile)))
        let url = server.url("/object?signature=abc")
        let (text, exit) = try await onTerminal(["put", file, url, "--allow-http"], until: "done: ")
        #expect(exit == .status(0), "\(text)")
        #expect(text.contains(Self.shown + "\n") && Self.controls(text).isEmpty, "\(text)")
    }

    @Test func `file names, part names and reasons are escaped wherever they are printed`() async throws {
        let folder = try TemporaryDirectory()
        let name = "\u{1B}[2J\u{202E}\u{9B}gpj.jpg"
        let photo = try folder.write(name, NoisePhoto.bytes(width: 64, height: 64, seed: 1))
        let missing = folder.path("\u{1B}[31mmissing\u{2028}.jpg")
        let server = try LoopbackServer(otherwise: .respond(404))
        let form = ["-F", "\u{202E}x=@\(photo);filename=x.jpg"]
        let outbox = ["--outbox", folder.path("outbox")]
        let calls: [([String], String)] = [
            (["post", server.url()] + form + ["--max-bytes", "9KB", "-v"], "rejected"),
            (["post", server.url()] + form + ["--dry-run", "--max-bytes", "9KB"], "would send"),
            (["post", server.url(), "-F", "f=@{};filename=x.jpg", "--each", photo, missing], "accepted"),
            (["post", server.url(), "--json"] + form, "summary"), (["put", missing, server.url()], "waybill: "),
            (["shrink", photo, missing, "--max-bytes", "9KB"], "images failed"),
            (["form", "build", "--preview"] + form, "<"),
            (
                ["post", server.url(), "-F", "f=@{};filename=x.jpg", "--queue"] + outbox + ["--each", photo, missing],
                "uploads queued"
            ),
            (["outbox", "show", "1"] + outbox, "item"), (["outbox", "ls"] + outbox, "STATE"),
            (["outbox", "pause", "\u{1B}[31m"] + outbox, "sage"),
        ]
        for (words, mark) in calls {
            let (text, _) = try await onTerminal(words, until: mark)
            #expect(Self.controls(text).isEmpty, "\(words): \(Self.controls(text))")
        }
    }
}
