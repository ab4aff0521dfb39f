import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import WaybillCLI

/// Completes file names in a real bash on a terminal.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct CompletionTests {
    /// The line that is typed, where `\t` is the tab key, and the arguments that the command receives.
    @Test(arguments: [
        ("post http://x -F 'FILE=@pho\t", ["post", "http://x", "-F", "FILE=@photo one.jpg"]),
        ("post http://x -F FILE=@pho\t", ["post", "http://x", "-F", "FILE=@photo one.jpg"]),
        ("post http://x -F FILE=@photo\\ o\t", ["post", "http://x", "-F", "FILE=@photo one.jpg"]),
        ("post http://x -F \"FILE=@pho\t", ["post", "http://x", "-F", "FILE=@photo one.jpg"]),
        ("post http://x -F 'A=@x' -F 'B=@pho\t", ["post", "http://x", "-F", "A=@x", "-F", "B=@photo one.jpg"]),
        ("post http://x -F FILE=@card\t\t", ["post", "http://x", "-F", "FILE=@cards/inner.jpg"]),
        ("post http://x -F 'FILE=@bad\t", ["post", "http://x", "-F", "FILE=@bad$(touch made);`touch made`.jpg"]),
        ("post http://x -F FILE=@bad\t", ["post", "http://x", "-F", "FILE=@bad$(touch made);`touch made`.jpg"]),
        ("post http://x -F 'TOKEN=<pho\t", ["post", "http://x", "-F", "TOKEN=<photo one.jpg"]),
        ("post http://x -FFILE=@pho\t", ["post", "http://x", "-FFILE=@photo one.jpg"]),
        ("post http://x -H @pho\t", ["post", "http://x", "-H", "@photo one.jpg"]),
        ("post http://x -o pho\t", ["post", "http://x", "-o", "photo one.jpg"]),
        ("post http://x --cacert pho\t", ["post", "http://x", "--cacert", "photo one.jpg"]),
        ("shrink pho\t", ["shrink", "photo one.jpg"]),
        ("shrink pho\t --report pho\t", ["shrink", "photo one.jpg", "--report", "photo one.jpg"]),
        ("put pho\t bad\t", ["put", "photo one.jpg", "bad$(touch made);`touch made`.jpg"]),
        ("outbox ls --outbox car\t", ["outbox", "ls", "--outbox", "cards/"]),
        ("po\t http://x", ["post", "http://x"]),
    ])
    func `bash completes file names wherever the command takes a file`(line: String, words: [String]) async throws {
        let folder = try TemporaryDirectory()
        for name in ["photo one.jpg", "bad$(touch made);`touch made`.jpg"] { try folder.write(name, "x") }
        let inner = folder.path + "/cards"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        try Data("x".utf8).write(to: URL(filePath: inner + "/inner.jpg"))
        let setup = try TemporaryDirectory()
        let script = try setup.write("waybill.bash", try await Tool.run(["--generate-completion-script", "bash"]).text)
        // A function that prints its arguments replaces the command.
        let start = try setup.write("bashrc", "source '\(script)'\nwaybill() { printf '<%s>' \"$@\"; printf '\\n'; }\n")

        let run = try await ChildProcess.run(
            "script", ["-qec", "bash --noprofile --rcfile '\(start)' -i", "/dev/null"],
            environment: Tool.environment(["TERM": "dumb"]), input: Array("waybill \(line)\nexit\n".utf8),
            directory: folder.path)
        let printed = words.map { "<\($0)>" }.joined()
        #expect(run.text.contains(printed), "\(run.text)")
        #expect(!(try folder.names().contains("made")), "a file name was run as a command")
    }

    @Test func `every option and argument that takes a file completes file names`() throws {
        var found = 0
        func look(_ command: [String: Any], _ path: String) {
            for argument in command["arguments"] as? [[String: Any]] ?? [] {
                guard let value = argument["valueName"] as? String, !value.contains("@"),
                    value.firstMatch(of: /\b(?:file|folder|directory|path|page|input)\b/) != nil
                else { continue }
                let kind = argument["completionKind"] as? [String: Any]
                #expect(kind?["file"] != nil || kind?["directory"] != nil, "\(path): \(value)")
                found += 1
            }
            for child in command["subcommands"] as? [[String: Any]] ?? [] {
                look(child, "\(path) \(child["commandName"] as? String ?? "?")")
            }
        }
        let document = try JSONSerialization.jsonObject(with: Data(WaybillCommand._dumpHelp().utf8))
        look(try #require((document as? [String: Any])?["command"] as? [String: Any]), "waybill")
        #expect(found > 15)
    }

    @Test(.enabled(if: Tool.has("fish"), "fish is not installed"))
    func `fish completes the path in a word`() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("photo one.jpg", "x")
        let script = try folder.write("w.fish", try await Tool.run(["--generate-completion-script", "fish"]).text)
        for word in ["FILE=@pho", "'FILE=@pho", "'TOKEN=<pho"] {
            let run = try await ChildProcess.run(
                "fish", ["-c", "source '\(script)'; complete -C \"waybill post http://x -F \(word)\""],
                directory: folder.path)
            #expect(run.text.contains("=@photo one.jpg") || run.text.contains("=<photo one.jpg"), "\(run.errorText)")
        }
    }

    @Test(arguments: [("zsh", "-n"), ("fish", "--no-execute")])
    func `a completion script has no syntax error`(shell: String, option: String) async throws {
        let text = try await Tool.run(["--generate-completion-script", shell]).text
        // The script contains the completion of paths within words.
        #expect(text.contains("Completes the path in NAME=@PATH"))
        guard Tool.has(shell) else {
            print("\(shell) is not installed: its completion script was not parsed")
            return
        }
        let folder = try TemporaryDirectory()
        let check = try await ChildProcess.run(shell, [option, try folder.write("script", text)])
        #expect(check.exit == .status(0) && check.errorText.isEmpty, "\(check.errorText)")
    }
}
