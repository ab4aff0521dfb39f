import TestSupport
import Testing
import WaybillCore

@testable import WaybillCLI

/// The three output formats of the real command, in a pseudo-terminal of known size.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct GoldenTests {
    private struct Scene {
        let folder: TemporaryDirectory
        let server: LoopbackServer
        let gate = Gate()
        let front: String
        let back: String

        /// Creates a server that reads slightly more than the first file and then waits at the gate.
        init() throws {
            folder = try TemporaryDirectory()
            front = try folder.writeSparse("front.bin", size: 10_000)
            back = try folder.writeSparse("back.bin", size: 6_000_000)
            server = try LoopbackServer(
                otherwise: .respond(200, body: "answer").paused(afterBodyBytes: 200_000, until: gate),
                receiveBuffer: .kibibytes(64))
        }

        var form: [String] {
            ["post", server.url(), "-F", "TOKEN=abc", "-F", "front=@\(front)", "-F", "back=@\(back)"]
        }
        var each: [String] { ["post", server.url(), "-F", "f=@{}", "--each", back, back] }
    }

    /// Expects that every frame fitted the terminal, the percentage never decreased, and all control sequences are
    /// known.
    private func expectSound(_ screen: Screen) {
        #expect(screen.strange.isEmpty)
        #expect(
            screen.frames.allSatisfy { frame in frame.lines.allSatisfy { TerminalText.columns(of: $0) < frame.columns }
            })
        let percentages = Varying.percentages(screen.frames)
        #expect(percentages == percentages.sorted(), "\(percentages)")
    }

    private func screen(_ text: String, columns: Int) -> Screen {
        var screen = Screen(columns: columns)
        screen.feed(text)
        return screen
    }

    @Test(arguments: [["TERM": "xterm"], ["TERM": "xterm", "NO_COLOR": "1"]])
    func `a terminal shows a line for each file and a bar below`(_ environment: [String: String]) async throws {
        let scene = try Scene()
        let terminal = try PseudoTerminal(columns: 100)
        let child = try terminal.run(scene.form, environment: environment)
        let lines = [
            "  front: front.bin  acknowledged  BYTES", "  back: back.bin    sending       BYTES",
            "sending back  N % [BAR]  BYTES  RATE  ETA TIME",
        ]
        try await terminal.waitUntil { text in
            var screen = Screen(columns: 100)
            screen.feed(text)
            return screen.text.map { Varying.normalised($0) } == lines
        }
        scene.gate.open()
        let run = try await child.finish()
        #expect(run.exit == .status(0) && run.text == "answer")
        let all = try await terminal.waitUntil { $0.contains("done: ") && $0.hasSuffix("\r\n") }
        let end = screen(all, columns: 100)
        #expect(end.text.map { Varying.normalised($0) } == ["done: 200 OK, BYTES in TIME (RATE)"])
        #expect(!all.contains("\u{1B}[3"))
        expectSound(end)
    }

    @Test func `lines fit after a terminal is resized, and no remains are left`() async throws {
        let scene = try Scene()
        let terminal = try PseudoTerminal(columns: 100)
        let child = try terminal.run(scene.form)
        let wide = try await terminal.waitUntil { $0.contains("back: back.bin    sending") }
        var screen = Screen(columns: 100)
        screen.feed(wide)
        var fed = wide
        for (columns, lines) in [
            (40, ["  front: …  acknowledged", "  back: b…  sending", "sending back  N %  BYTES"]),
            (
                80,
                [
                    "  front: front.bin  acknowledged  BYTES", "  back: back.bin    sending       BYTES",
                    "sending back  N % [BAR]  BYTES",
                ]
            ),
        ] {
            terminal.resize(to: columns)
            screen.resize(to: columns)
            let before = fed
            let seen = screen
            fed = try await terminal.waitUntil { text in
                var screen = seen
                screen.feed(Self.rest(text, behind: before))
                return screen.text.map { Varying.still($0) } == lines
            }
            screen.feed(Self.rest(fed, behind: before))
            #expect(screen.text.map { Varying.still($0) } == lines)
        }
        scene.gate.open()
        #expect(try await child.finish().exit == .status(0))
        let all = try await terminal.waitUntil { $0.contains("done: ") && $0.hasSuffix("\r\n") }
        screen.feed(Self.rest(all, behind: fed))
        #expect(screen.text.map { Varying.normalised($0) } == ["done: 200 OK, BYTES in TIME (RATE)"])
        #expect(screen.strange.isEmpty)
    }

    /// Works on scalars: a carriage return at the end of one string and a line feed at the start of the next would
    /// form a single character.
    private static func rest(_ text: String, behind start: String) -> String {
        String(text.unicodeScalars.dropFirst(start.unicodeScalars.count))
    }

    @Test func `many files have a line each while they are in flight`() async throws {
        let scene = try Scene()
        let terminal = try PseudoTerminal(columns: 120)
        let child = try terminal.run(scene.each)
        let line = "  FOLDER/back.bin  sending       BYTES"
        let lines = [line, line, "0 of 2 files  N % [BAR]  BYTES"]
        let folder = scene.folder.path("")
        try await terminal.waitUntil { text in
            var screen = Screen(columns: 120)
            screen.feed(text)
            return screen.text.map { Varying.still($0, folder: String(folder.dropLast())) } == lines
        }
        scene.gate.open()
        #expect(try await child.finish().exit == .status(0))
        let all = try await terminal.waitUntil { $0.contains("done: ") && $0.hasSuffix("\r\n") }
        let end = screen(all, columns: 120)
        let answer = "FOLDER/back.bin: 200 OK, BYTES in TIME (RATE)"
        #expect(
            end.text.map { Varying.normalised($0, folder: String(folder.dropLast())) } == [
                answer, answer, "done: 2 of 2 files accepted, BYTES in TIME",
            ])
        expectSound(end)
    }

    private static let plain = ["sending 3 parts to http://SERVER/", "done: 200 OK, BYTES in TIME (RATE)"]

    @Test(arguments: [["TERM": "dumb"], ["TERM": "xterm", "CI": "true"]])
    func `a terminal without cursor control shows plain lines`(_ environment: [String: String]) async throws {
        let scene = try Scene()
        scene.gate.open()
        let terminal = try PseudoTerminal(columns: 40)
        let child = try terminal.run(scene.form, environment: environment)
        #expect(try await child.finish().exit == .status(0))
        let text = try await terminal.waitUntil { $0.contains("done: ") && $0.hasSuffix("\r\n") }
        let lines = text.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        #expect(lines.map { Varying.normalised($0) } == Self.plain)
    }

    @Test func `a pipe receives the same plain lines`() async throws {
        let scene = try Scene()
        scene.gate.open()
        let run = try await Tool.run(scene.form)
        #expect(run.exit == .status(0) && run.text == "answer")
        let lines = run.errorText.split(separator: "\n").map { Varying.normalised(String($0)) }
        #expect(lines == Self.plain)
    }

    @Test func `a failure is red on a terminal unless NO_COLOR is set`() async throws {
        let server = try LoopbackServer(otherwise: .respond(400))
        let message = "rejected: The server responded with 400 Bad Request."
        for (environment, head) in [
            (["TERM": "xterm"], "\u{1B}[31mwaybill:\u{1B}[0m "), (["TERM": "xterm", "NO_COLOR": "1"], "waybill: "),
        ] {
            let terminal = try PseudoTerminal(columns: 80)
            let child = try terminal.run(["post", server.url(), "-F", "a=b"], environment: environment)
            #expect(try await child.finish().exit == .status(1))
            let text = try await terminal.waitUntil { $0.contains("rejected") && $0.hasSuffix("\r\n") }
            let last = try #require(text.components(separatedBy: "\r\n").last { !$0.isEmpty })
            #expect(last.hasSuffix(head + message), "\(last)")
        }
    }

    @Test func `JSON lines keep members and order, also on a terminal`() async throws {
        let scene = try Scene()
        let terminal = try PseudoTerminal(columns: 40)
        let child = try terminal.run(scene.form + ["--json"], withOutput: true)
        try await terminal.waitUntil { $0.contains("\"phase\":\"sending\"") }
        scene.gate.open()
        #expect(try await child.finish().exit == .status(0))
        let text = try await terminal.waitUntil { $0.contains("\"event\":\"summary\"") && $0.hasSuffix("\r\n") }
        var seen: Set<String> = []
        let lines = text.components(separatedBy: "\r\n").filter { !$0.isEmpty }.map(Self.shape)
            .filter { seen.insert($0).inserted }
        let head = #""v":1,"t":"T""#
        let parts =
            #""parts":[{"name":"TOKEN","fileName":null,"acknowledged":N,"total":N},"#
            + #"{"name":"front","fileName":"front.bin","acknowledged":N,"total":N},"#
            + #"{"name":"back","fileName":"back.bin","acknowledged":N,"total":N}]"#
        let start = #"{\#(head),"event":"start","method":"POST","url":"http://SERVER/","parts":N}"#
        let sending =
            #"{\#(head),"event":"progress","phase":"sending","attempt":N,"sent":N,"acknowledged":N,"total":N,"#
            + #""accuracy":"exact","bytesPerSecond":N,\#(parts)}"#
        let summary =
            #"{\#(head),"event":"summary","result":"succeeded","exit":N,"outcome":"accepted","status":N,"#
            + #""headers":[{"name":"Content-Length","value":"6"}],"sent":N,"#
            + #""acknowledged":N,"total":N,"seconds":N,"signal":null,"attempts":[{"number":N,"code":null,"#
            + #""reason":"200 OK","outcome":null,"status":N,"acknowledged":N,"seconds":N}],"body":"answer"}"#
        #expect(lines.first == start)
        #expect(lines.contains(sending), "\(lines)")
        #expect(lines.last == summary)
        #expect(lines.dropFirst().dropLast().allSatisfy { $0.hasPrefix(#"{\#(head),"event":"progress","phase":""#) })
    }

    /// Replaces the time and the numbers of a line with placeholders.
    private static func shape(_ line: String) -> String {
        line.replacing(/"t":"[^"]*"/, with: "\"t\":\"T\"").replacing(/127\.0\.0\.1:\d+/, with: "SERVER")
            .replacing(/":-?\d+(\.\d+)?(?=[,}\]])/, with: "\":N").replacing("\"v\":N", with: "\"v\":1")
    }
}
