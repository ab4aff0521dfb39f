import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct FormParseTests {
    let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    static let type = "multipart/form-data; boundary=B"

    private func part(_ parameters: String, _ content: String, type: String? = nil) -> String {
        let type = type.map { "\r\nContent-Type: \($0)" } ?? ""
        return "--B\r\nContent-Disposition: form-data; \(parameters)\(type)\r\n\r\n\(content)\r\n"
    }

    private var form: String {
        part("name=\"字段\"", "值") + part("name=f; filename=\"../身份证.jpg\"", "bytes", type: "image/jpeg")
            + part("name=f; filename=\"身份证.jpg\"", "more") + "--B--\r\n"
    }

    @Test func `each part is an object, and the form is the last one`() async throws {
        let path = try folder.write("form.bin", form)
        for (arguments, input) in [([path], ""), ([], form), (["-"], form)] {
            let run = try await Tool.run(
                ["form", "parse", "--content-type", Self.type] + arguments, input: Array(input.utf8))
            #expect(run.exit == .status(0), "\(run.errorText)")
            let lines = try run.jsonLines()
            #expect(lines.map { $0["event"] as? String } == ["part", "part", "part", "form"])
            #expect(lines[0]["name"] as? String == "字段" && lines[0]["value"] as? String == "值")
            #expect(lines[0]["fileName"] is NSNull && lines[0]["bytes"] as? Int == 3)
            #expect(lines[1]["fileName"] as? String == "../身份证.jpg" && lines[1]["bytes"] as? Int == 5)
            #expect(lines[1]["contentType"] as? String == "image/jpeg" && lines[1]["path"] == nil)
            #expect(lines[3]["parts"] as? Int == 3 && lines[3]["bytes"] as? Int == 12)
        }
    }

    @Test func `files are extracted under safe names`() async throws {
        let target = folder.path("parts")
        let run = try await Tool.run(
            ["form", "parse", "--content-type", Self.type, "--extract", target], input: Array(form.utf8))
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try folder.names() == ["parts"])
        #expect(try readFile("\(target)/身份证.jpg") == Array("bytes".utf8))
        #expect(try readFile("\(target)/身份证-2.jpg") == Array("more".utf8))
        let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        #expect(try run.jsonLines()[2]["path"] as? String == "\(target)/身份证-2.jpg")
    }

    @Test(.enabled(if: !Tool.isThreadSanitized, "under the sanitizer, a traced program takes too long"))
    func `content is synced before a file is named, and the name before it is printed`() async throws {
        let (target, log) = (folder.path("parts"), folder.path("calls"))
        let path = try folder.write("form.bin", form)
        let run = try await ChildProcess.run(
            "strace",
            [
                "-f", "-o", log, "-e", "trace=fsync,linkat", "-e", "signal=none", Tool.path, "form", "parse",
                "--content-type", Self.type, "--extract", target, path,
            ])
        guard !run.errorText.contains("ptrace") else {
            print("the calls were not looked at: \(run.errorText)")
            return
        }
        #expect(run.exit == .status(0), "\(run.errorText)")
        let calls = String(decoding: try readFile(log), as: UTF8.self).split(separator: "\n").compactMap { line in
            ["fsync", "linkat"].first { line.contains("\($0)(") }
        }
        // For each of the two files: content, hidden name, final name, directory. The name of the second is already
        // taken at first.
        #expect(calls == ["fsync", "linkat", "linkat", "fsync", "fsync", "linkat", "linkat", "linkat", "fsync"])
    }

    @Test func `form parse reads what form build writes`() async throws {
        let path = try folder.write("in.bin", "bytes")
        let built = try await Tool.run(
            ["form", "build", "--boundary", "B", "-F", "a\\=1", "-F", "f=@\(path);filename=x\\"])
        let run = try await Tool.run(["form", "parse", "--content-type", Self.type], input: built.output)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let lines = try run.jsonLines()
        #expect(lines[0]["name"] as? String == "a\\" && lines[1]["fileName"] as? String == "x\\")
    }

    @Test func `malformed and oversized input exits with 3 and a reason`() async throws {
        func run(_ arguments: [String], _ body: String) async throws -> ChildProcess.Finished {
            try await Tool.run(["form", "parse", "--content-type", Self.type] + arguments, input: Array(body.utf8))
        }
        let cut = try await run([], String(form.dropLast(4)))
        #expect(cut.exit == .status(3) && cut.errorText.contains("truncatedBody"), "\(cut.errorText)")
        #expect(try cut.jsonLines().contains { $0["event"] as? String == "form" } == false)
        for (option, value, code) in [
            ("--max-parts", "2", "tooManyParts"), ("--max-field", "2", "fieldTooLarge"),
            ("--max-total", "100", "bodyTooLarge"),
        ] {
            let refused = try await run([option, value], form)
            #expect(refused.exit == .status(3) && refused.errorText.contains(code), "\(refused.errorText)")
        }
        let none = try await run(["/no/such/file"], "")
        #expect(none.exit == .status(3) && none.output.isEmpty)
        let wrong = try await Tool.run(["form", "parse", "--content-type", "text/plain"])
        #expect(wrong.exit == .status(2) && wrong.errorText.contains("multipart/form-data"))
    }

    @Test(.enabled(if: !Tool.isThreadSanitized, "the sanitizer's own memory is a file, which the limit cuts"))
    func `a full disk leaves no file`() async throws {
        let target = folder.path("parts")
        let path = try folder.write(
            "form.bin", part("name=f; filename=x", String(repeating: "x", count: 400_000)) + "--B--\r\n")
        let run = try await ChildProcess.run(
            "bash",
            [
                "-c",
                "trap '' XFSZ; ulimit -f 100; exec \"$0\" form parse --content-type \"$1\" --extract \"$2\" \"$3\"",
                Tool.path, Self.type, target, path,
            ], environment: Tool.environment())
        #expect(run.exit == .status(7) && run.errorText.contains("diskFull"), "\(run.errorText)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [])
    }

    @Test(arguments: [9, 15, 2])
    func `a process killed or stopped while extracting leaves no file`(signal: Int32) async throws {
        let target = folder.path("parts")
        let begin =
            part("name=a", "1") + "--B\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n"
            + String(repeating: "x", count: 300_000)
        let path = try folder.write("begin.bin", begin)
        // The pipe stays open after the beginning of the form, so the program waits for the rest.
        let process = try ChildProcess(
            "bash",
            [
                "-c",
                "mkfifo \"$3\"; (cat \"$4\"; exec sleep 60) >\"$3\" & feeder=$!; "
                    + "env --default-signal=INT,TERM \"$0\" form parse --content-type \"$1\" --extract \"$2\" - <\"$3\" & tool=$!; "
                    + "echo $tool >&2; wait $tool; echo end $?; kill $feeder",
                Tool.path, Self.type, target, folder.path("fifo"), path,
            ], environment: Tool.environment())
        let progress = try await process.waitUntil { $0.text.contains("\"name\":\"a\"") && $0.errorText.contains("\n") }
        let tool = try #require(Int32(progress.errorText.prefix { $0.isNumber }))
        // Much of the file is written, and the rest never arrives.
        while Self.bytesOfUnfinishedFiles(of: tool, in: target) < 200_000 {
            try await Task.sleep(for: .milliseconds(5))
        }
        kill(tool, signal)
        let ended = try await process.waitUntil { $0.text.contains("end ") }
        #expect(ended.text.contains("end \(128 + signal)"), "\(ended.text)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [])
        _ = try await process.finish()
    }

    /// Returns the number of bytes that a process has written to its open files in a directory, named or not.
    private static func bytesOfUnfinishedFiles(of process: Int32, in folder: String) -> Int {
        let place = "/proc/\(process)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
        return names.reduce(0) { sum, name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/\(name)")
            var status = stat()
            guard target?.hasPrefix(folder + "/") == true, unsafe stat("\(place)/\(name)", &status) == 0 else {
                return sum
            }
            return sum + Int(status.st_size)
        }
    }
}
