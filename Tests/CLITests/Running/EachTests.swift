import Foundation
import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCLI

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct EachTests {
    /// Creates files whose content contains their name.
    private func files(_ folder: TemporaryDirectory, _ names: [String]) throws -> [String] {
        try names.map { try folder.write($0, "content of \($0)") }
    }

    @Test func `every file is sent in a separate form with the shared fields`() async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, ["one.txt", "two;,.txt", "{name}.txt"])
        let server = try LoopbackServer()
        let run = try await Tool.run(
            [
                "post", server.url(), "-F", "TOKEN=<-", "-F", "FILE=@{};filename=\"x;{name}.bin\"", "--form-string",
                "last={}", "--each",
            ] + files, input: Array("shared text".utf8))
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.output.isEmpty)
        let bodies = Set(server.requests.map(\.bodyWithoutBoundary))
        #expect(bodies.count == 3)
        for (name, stem) in [("one.txt", "one"), ("two;,.txt", "two;,"), ("{name}.txt", "{name}")] {
            let body = try #require(bodies.first { $0.contains("\r\n\r\ncontent of \(name)\r\n") })
            #expect(body.contains("filename=\"x;\(stem).bin\""), "\(body)")
            #expect(body.contains("name=\"TOKEN\"\r\n\r\nshared text\r\n"))
            #expect(body.contains("name=\"last\"\r\n\r\n{}\r\n"))
        }
        let lines = run.errorText.split(separator: "\n")
        #expect(lines.first == "sending 3 files to http://127.0.0.1:\(server.port)/")
        #expect(lines.last?.hasPrefix("done: 3 of 3 files accepted, ") == true)
        for file in files {
            let line = try #require(lines.first { $0.hasPrefix("\(file): ") })
            #expect(line.contains(": 200 OK, ") && line.contains(" B in "), "\(line)")
        }
    }

    @Test func `a missing file fails alone, and the first failure decides the exit status`() async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, ["a.txt", "b.txt"])
        let server = try LoopbackServer(otherwise: .respond(400, body: "no"))
        server.route("/ok", .respond(200))
        let missing = folder.path("missing.txt")
        let some = [files[0], missing, files[1]]
        let first = try await Tool.run(["post", server.url("/ok"), "-F", "f=@{}", "--each"] + some)
        #expect(first.exit == .status(3), "\(first.errorText)")
        #expect(first.errorText.contains("waybill: \(missing): fileNotFound"))
        #expect(first.errorText.contains("waybill: 2 of 3 files accepted, "))
        #expect(server.requests.count == 2)
        let second = try await Tool.run(["post", server.url(), "-F", "f=@{}", "-q", "--each", files[0], missing])
        #expect(second.exit == .status(1), "\(second.errorText)")
        #expect(second.errorText.contains("waybill: \(files[0]): rejected: The server responded with 400"))
        #expect(second.output.isEmpty)
    }

    @Test func `--json writes one object per file and the summary last`() async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, ["a.txt", "b.txt"]) + [folder.path("missing")]
        let server = try LoopbackServer(otherwise: .respond(201, body: "made"))
        let run = try await Tool.run(["post", server.url(), "-F", "f=@{}", "--json", "--each"] + files)
        #expect(run.exit == .status(3), "\(run.errorText)")
        let lines = try run.jsonLines()
        #expect(lines.first?["event"] as? String == "start" && lines.first?["files"] as? Int == 3)
        let told = lines.filter { $0["event"] as? String == "file" }
        #expect(Set(told.compactMap { $0["file"] as? String }) == Set(files) && told.count == 3)
        for object in told {
            let index = try #require(object["index"] as? Int)
            #expect(object["file"] as? String == files[index])
            #expect(object["exit"] as? Int == (index == 2 ? 3 : 0))
            #expect(object["body"] as? String == (index == 2 ? nil : "made"))
            #expect((object["sent"] as? Int ?? 0 > 0) == (index != 2))
        }
        let summary = try #require(lines.last)
        #expect(summary["event"] as? String == "summary" && summary["result"] as? String == "failed")
        let counts = ["files", "succeeded", "failed", "cancelled", "notStarted", "exit"].map { summary[$0] as? Int }
        #expect(counts == [3, 2, 1, 0, 0, 3])
        let sent = told.reduce(0) { $0 + ($1["sent"] as? Int ?? 0) }
        #expect(summary["acknowledged"] as? Int == sent)
    }

    @Test func `each response is written to a separate file`() async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, ["a.txt", "b.txt"])
        let server = try LoopbackServer(otherwise: .respond(200, body: "{\"ok\":1}"))
        let pattern = "{folder}/{name}.json"
        let run = try await Tool.run(["post", server.url(), "-F", "f=@{}", "-o", pattern, "--each"] + files)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try folder.names() == ["a.json", "a.txt", "b.json", "b.txt"])
        #expect(try folder.read("b.json") == Array("{\"ok\":1}".utf8))
    }

    @Test func `--parallel bounds the number of concurrent uploads`() async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, (0..<4).map { "\($0).txt" })
        let gate = Gate()
        let server = try LoopbackServer(otherwise: .respond(200).delayed(until: gate))
        let child = try Tool.start(["post", server.url(), "-F", "f=@{}", "--parallel", "2", "--each"] + files)
        try await server.waitUntil { $0.requests.count == 2 }
        gate.open()
        let run = try await child.finish()
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(server.requests.count == 4 && server.state.connections.count == 2)
    }

    @Test func `--fail-early stops at the first failure and cancels the others`() async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, (0..<40).map { "\($0).txt" })
        let server = try LoopbackServer(.respond(400), otherwise: .neverRespond)
        let run = try await Tool.run(
            ["post", server.url(), "-F", "f=@{}", "--parallel", "1", "--fail-early", "--json", "--each"] + files)
        #expect(run.exit == .status(1), "\(run.errorText)")
        let lines = try run.jsonLines()
        let summary = try #require(lines.last)
        #expect(summary["failed"] as? Int == 1 && summary["succeeded"] as? Int == 0)
        let counted = (summary["cancelled"] as? Int ?? 0) + (summary["notStarted"] as? Int ?? 0)
        #expect(counted == 39 && (summary["notStarted"] as? Int ?? 0) > 0)
        let cancelled = lines.filter { $0["result"] as? String == "cancelled" }
        #expect(cancelled.allSatisfy { $0["exit"] is NSNull }, "\(cancelled)")
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)]) func `a signal cancels all uploads, the summary is written`(
        _ signal: Int32, _ status: Int
    ) async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, (0..<30).map { "\($0).txt" })
        let server = try LoopbackServer(.respond(200), otherwise: .neverRespond)
        let child = try Tool.start(
            ["post", server.url(), "-F", "f=@{}", "--parallel", "2", "--json", "--each"] + files)
        try await server.waitUntil { $0.requests.count(where: \.isComplete) >= 3 }
        child.signal(signal)
        let run = try await child.finish()
        #expect(run.exit == .status(status), "\(run.errorText)")
        let lines = try run.jsonLines()
        let summary = try #require(lines.last)
        #expect(lines.count { $0["event"] as? String == "summary" } == 1)
        #expect(summary["event"] as? String == "summary" && summary["result"] as? String == "cancelled")
        #expect(summary["signal"] as? Int == Int(signal) && summary["succeeded"] as? Int == 1)
        let unknown = lines.filter { $0["event"] as? String == "file" && $0["outcome"] as? String == "unknown" }
        #expect(unknown.count == 2, "\(run.text)")
        #expect(run.errorText.contains("waybill: 1 of 30 files accepted, "))
    }

    @Test(arguments: [
        (["-F", "a=b", "--each", "x"], "Write {}"), (["-F", "f=@x;filename={}", "--each", "x"], "Write {}"),
        (["-F", "f=@{}"], "--each"), (["-F", "f=@x;filename={name}.jpg"], "--each"), (["-F", "f=<{}"], "--each"),
        (["-F", "f=@{}", "-F", "t=<{}", "--each", "x"], "not allowed after"),
        (["-F", "f=@{}", "--each", "-"], "--each-from -"),
        (["-F", "a=b", "--parallel", "2"], "--each"), (["-F", "a=b", "--fail-early"], "--each"),
        (["-F", "f=@{}", "--parallel", "0", "--each", "x"], "1 and 256"), (["-F", "f=@{}", "--each"], "--each"),
        (["-F", "f=@{}", "-o", "answer", "--each", "x", "y"], "{name}"),
        (["-F", "f=@{}", "-o", "/tmp/{name}.json", "--each", "a/x", "b/x"], "would both be written to"),
        (["-F", "f=@{}", "-o", "{folder}/{name}.txt", "--each", "a.txt"], "would overwrite"),
        (["-F", "f=@{}", "-o", "{folder}/{name}.txt", "--each", "a.jpg", "a.txt"], "would overwrite"),
        (["-F", "f=@{}", "--max-bytes", "10K", "--each", "x.png"], "no -F sends a JPEG"),
    ]) func `an invalid call sends nothing`(_ arguments: [String], _ hint: String) async throws {
        let server = try LoopbackServer()
        let run = try await Tool.run(["post", server.url()] + arguments)
        #expect(run.exit == .status(2), "\(run.errorText)")
        #expect(run.errorText.contains(hint) && run.output.isEmpty, "\(run.errorText)")
        #expect(server.state.connections.isEmpty)
    }

    @Test func `an output directory that does not exist fails before any request is sent`() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("a.txt", "a")
        let server = try LoopbackServer()
        let pattern = folder.path("missing/{name}.json")
        let run = try await Tool.run(["post", server.url(), "-F", "f=@{}", "-o", pattern, "--each", file])
        #expect(run.exit == .status(7), "\(run.errorText)")
        #expect(server.state.connections.isEmpty)
    }

    @Test func `a terminal shows one bar for all files and a line for each above it`() async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, ["a", "b", "c"])
        let gate = Gate()
        let server = try LoopbackServer(.respond(200), otherwise: .respond(200).delayed(until: gate))
        let terminal = try PseudoTerminal(columns: 100)
        let child = try terminal.run(["post", server.url(), "-F", "f=@{}", "--parallel", "1", "--each"] + files)
        try await terminal.waitUntil { $0.contains("1 of 3 files") }
        gate.open()
        #expect(try await child.finish().exit == .status(0))
        let text = try await terminal.waitUntil { $0.contains("done: 3 of 3 files accepted") && $0.hasSuffix("\r\n") }
        let bars = PseudoTerminal.bars(in: text, columns: 100).filter { $0.contains(" of 3 files  ") }
        #expect(bars.contains { $0.hasPrefix("1 of 3 files  ") && $0.contains(" % [") }, "\(bars)")
        #expect(bars.allSatisfy { TerminalText.columns(of: $0) < 100 })
        let screen = PseudoTerminal.screen(after: text, columns: 100)
        #expect(screen.count == 4, "\(screen)")
        #expect(screen.dropLast().allSatisfy { $0.contains(": 200 OK, ") })
    }

    @Test(arguments: [false, true]) func `a retry reports the file, the reason and the next attempt`(
        _ isJSON: Bool
    ) async throws {
        let folder = try TemporaryDirectory()
        let files = try files(folder, ["a.txt"])
        let server = try LoopbackServer(.respond(503, headers: [("Retry-After", "1")]), .respond(200))
        let run = try await Tool.run(
            ["post", server.url(), "-F", "f=@{}", "--retry", "2"] + (isJSON ? ["--json"] : []) + ["--each"] + files)
        #expect(run.exit == .status(0), "\(run.errorText)")
        if isJSON {
            let retry = try #require(run.jsonLines().first { $0["event"] as? String == "retry" })
            #expect(retry["file"] as? String == files[0] && retry["reason"] as? String == "503 Service Unavailable")
            #expect(retry["attempt"] as? Int == 2 && retry["attempts"] as? Int == 3)
        } else {
            let line = try #require(run.errorText.split(separator: "\n").first { $0.contains("retrying ") })
            #expect(line.hasPrefix("\(files[0]): retrying "))
            #expect(line.hasSuffix(": 503 Service Unavailable (attempt 2 of 3)"), "\(line)")
        }
    }
}
