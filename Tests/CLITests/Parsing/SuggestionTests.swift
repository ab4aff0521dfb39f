import Foundation
import TestSupport
import Testing

@testable import WaybillCLI

/// Suggestions for unknown names.
struct SuggestionTests {
    @Test(arguments: [
        ("psot", "post"), ("pots", "post"), ("POST", "post"), ("shrnik", "shrink"), ("docter", "doctor"),
        ("shr", "shrink"),
        ("outbx", "outbox"),
    ])
    func `a typo suggests the command`(_ word: String, _ name: String) {
        let commands = ["post", "put", "outbox", "form", "shrink", "doctor"]
        #expect(Suggestion.nearest(to: word, among: commands) == name)
    }

    @Test(arguments: ["xyz", "p", "", "upload", String(repeating: "post", count: 1_000)])
    func `an unrelated word suggests nothing`(_ word: String) {
        #expect(Suggestion.nearest(to: word, among: ["post", "put", "outbox"]) == nil)
    }

    @Test(arguments: [
        (["psot"], "waybill has no command \"psot\". Did you mean \"post\"? Its commands are post, put, "),
        (["outbox", "rnu"], "waybill outbox has no command \"rnu\". Did you mean \"run\"? Its commands are run, ls, "),
        (["upload"], "waybill has no command \"upload\". Its commands are post, put, outbox, form, shrink, doctor"),
        (["post", "u", "--max-byte", "3"], "Did you mean '--max-bytes'?"),
        (["shrink", "--qualty", "3", "a.jpg"], "Did you mean '--quality'?"),
    ])
    func `an unknown command or option suggests the nearest one`(_ words: [String], _ message: String) async throws {
        let run = try await Tool.run(words)
        #expect(run.exit == .status(2))
        #expect(run.errorText.contains(message), "\(run.errorText)")
    }

    @Test(arguments: [
        ("[pots]\nretry = 1", "config, line 2: There is no command \"pots\". Did you mean \"post\"?"),
        ("[outbox rnu]\nretry = 1", "config, line 2: There is no command \"outbox rnu\". Did you mean \"run\"?"),
        ("max-byte = 1", "config, line 1: No command has an option --max-byte. Did you mean \"max-bytes\"?"),
        ("[put]\nregoin = x", "config, line 2: waybill put has no option --regoin. Did you mean \"region\"?"),
    ])
    func `a typo in the settings file suggests the nearest name`(_ file: String, _ message: String) async throws {
        let folder = try TemporaryDirectory()
        let config = try folder.write("config", file)
        let run = try await Tool.run(["doctor", "--json"], environment: ["WAYBILL_CONFIG": config])
        #expect(run.exit == .status(2))
        #expect(run.errorText == "waybill: \(config)\(message.dropFirst("config".count))\n")
    }
}

/// Environment variables that have no effect.
struct VariableCheckTests {
    private func warning(_ names: String...) throws -> String? {
        VariableCheck(tree: CommandTree(of: WaybillCommand.self)).warning(about: names)
    }

    @Test func `an unknown variable is reported with the nearest known one`() throws {
        #expect(
            try warning("PATH", "WAYBILL_RETYR", "WAYBILL_XYZZY")
                == "warning: environment variables without effect: WAYBILL_RETYR (did you mean WAYBILL_RETRY?), WAYBILL_XYZZY"
        )
    }

    @Test func `a variable for a per-call option is reported with the option`() throws {
        #expect(
            try warning("WAYBILL_QUEUE", "WAYBILL_HEADER")
                == "warning: environment variables without effect: WAYBILL_HEADER (pass --header on the command line), "
                + "WAYBILL_QUEUE (pass --queue on the command line)")
    }

    @Test func `settings, credentials and the project's own variables are known`() throws {
        #expect(
            try warning(
                "WAYBILL_CONFIG", "WAYBILL_OUTBOX", "WAYBILL_OUTBOX_FILES", "WAYBILL_RETRY", "WAYBILL_CONNECT_TIMEOUT",
                "WAYBILL_REGION",
                "WAYBILL_CREDENTIAL_BACKEND", "WAYBILLS", "HOME") == nil)
        for name in VariableCheck.projectVariables { #expect(try warning(name) == nil) }
    }

    @Test func `the list of the project's variables is complete`() throws {
        let root = URL(fileURLWithPath: ProjectRoot.path)
        let read = /(?:environment\["|getenv\("|ENV\["|environ\.get\("|\$\{?|\benv )(WAYBILL_[A-Z_]*[A-Z])/
        var found: Set<String> = []
        for place in ["Makefile", "Package.swift", "Scripts", "Tests"] {
            let url = root.appending(path: place)
            let inside =
                FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
                ?? []
            for file in [url] + inside {
                guard let text = try? String(contentsOf: file, encoding: .utf8) else { continue }
                for match in text.matches(of: read) { found.insert(String(match.1)) }
            }
        }
        let settings = ["WAYBILL_CONFIG", "WAYBILL_OUTBOX"]
        #expect(found.subtracting(settings).subtracting(VariableCheck.projectVariables).isEmpty, "\(found)")
        #expect(found.contains("WAYBILL_CI"))
    }

    @Test func `the warning is a single line, and -q suppresses it`() async throws {
        let arguments = ["post", "http://127.0.0.1:1/", "-F", "a=1", "--dry-run"]
        let environment = ["WAYBILL_RETYR": "3"]
        let run = try await Tool.run(arguments, environment: environment)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let line = "warning: environment variables without effect: WAYBILL_RETYR (did you mean WAYBILL_RETRY?)"
        #expect(run.errorText.split(separator: "\n").count { $0 == line } == 1, "\(run.errorText)")
        let silent = try await Tool.run(arguments + ["-q"], environment: environment)
        #expect(silent.errorText.isEmpty, "\(silent.errorText)")
    }
}
