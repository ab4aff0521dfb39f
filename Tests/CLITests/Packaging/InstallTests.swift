import Foundation
import TestSupport
import Testing

@testable import WaybillCLI

/// `make install` and `make uninstall` with the command that was built with the tests.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct InstallTests {
    private func make(_ target: String, _ variables: String...) async throws -> ChildProcess.Finished {
        // Modes must not depend on the caller's umask.
        try await ChildProcess.run(
            "sh", ["-c", "umask 077; exec make \"$@\"", "sh", target, "WAYBILL_PROGRAM=\(Tool.path)"] + variables,
            environment: Tool.environment(), directory: ProjectRoot.path)
    }

    /// Returns the files below a directory and their modes.
    private func files(under root: String) async throws -> [String: String] {
        let run = try await ChildProcess.run("find", [root, "-type", "f", "-printf", "%P %m\n"])
        let lines = run.text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        return Dictionary(uniqueKeysWithValues: lines.map { ($0[0], $0[1]) })
    }

    @Test func `files are installed where programs look for them, readable by all users`() async throws {
        let stage = try TemporaryDirectory()
        let run = try await make("install", "PREFIX=/usr/local", "DESTDIR=\(stage.path)")
        #expect(run.exit == .status(0), "\(run.errorText)")
        let share = "usr/local/share"
        var expected = [
            "usr/local/bin/waybill": "755", "\(share)/man/man1/waybill.1": "644",
            "\(share)/bash-completion/completions/waybill": "644", "\(share)/zsh/site-functions/_waybill": "644",
            "\(share)/fish/vendor_completions.d/waybill.fish": "644",
        ]
        for name in ["LICENSE", "THIRD-PARTY-NOTICES", "CHANGELOG.md"] {
            expected["\(share)/doc/waybill/\(name)"] = "644"
        }
        for unit in ["waybill-outbox.service", "waybill-outbox-once.service", "waybill-outbox-once.timer"] {
            expected["\(share)/doc/waybill/systemd/\(unit)"] = "644"
        }
        #expect(try await files(under: stage.path) == expected)

        let version = try await ChildProcess.run("\(stage.path)/usr/local/bin/waybill", ["--version"])
        #expect(version.text.hasPrefix("waybill \(WaybillCommand.version)\n"))
        let page = try String(contentsOfFile: "\(stage.path)/\(share)/man/man1/waybill.1", encoding: .utf8)
        #expect(try await page == Tool.run(["manual"]).text)
        let places = ["bash-completion/completions/waybill", "zsh/site-functions/_waybill"]
        for (shell, place) in zip(["bash", "zsh"], places) {
            let script = try String(contentsOfFile: "\(stage.path)/\(share)/\(place)", encoding: .utf8)
            #expect(try await script == Tool.run(["--generate-completion-script", shell]).text)
        }
        // The guide to systemd takes the units from here.
        let guide = try String(contentsOfFile: ProjectRoot.file("Docs/systemd/README.md"), encoding: .utf8)
        #expect(guide.contains("/\(share)/doc/waybill/systemd/waybill-outbox.service "))
    }

    @Test func `units start the command at its installed path`() async throws {
        let stage = try TemporaryDirectory()
        let run = try await make("install", "PREFIX=/opt/waybill/", "DESTDIR=\(stage.path)")
        #expect(run.exit == .status(0), "\(run.errorText)")
        for name in ["waybill-outbox.service", "waybill-outbox-once.service"] {
            let path = "\(stage.path)/opt/waybill/share/doc/waybill/systemd/\(name)"
            let unit = try String(contentsOfFile: path, encoding: .utf8)
            #expect(unit.contains("\nExecStart=/opt/waybill/bin/waybill outbox run "))
            #expect(!unit.contains("/usr/local"))
        }
    }

    @Test func `uninstalling removes only what was installed`() async throws {
        let stage = try TemporaryDirectory()
        let variables = ["PREFIX=/usr", "DESTDIR=\(stage.path)"]
        #expect(try await make("install", variables[0], variables[1]).exit == .status(0))
        let other = "usr/share/man/man1/other.1"
        try Data("x".utf8).write(to: URL(filePath: "\(stage.path)/\(other)"))
        let run = try await make("uninstall", variables[0], variables[1])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try await files(under: stage.path).keys.sorted() == [other])
    }

    @Test func `a relative prefix is refused before anything is written`() async throws {
        let stage = try TemporaryDirectory()
        let run = try await make("install", "PREFIX=local", "DESTDIR=\(stage.path)")
        #expect(run.exit != .status(0))
        #expect(run.errorText.contains("PREFIX must be an absolute path; got \"local\"."), "\(run.errorText)")
        #expect(try stage.names().isEmpty)
    }

    @Test func `the notices contain the license of each linked package`() async throws {
        let run = try await ChildProcess.run(ProjectRoot.file("Scripts/notices"), environment: Tool.environment())
        #expect(run.exit == .status(0), "\(run.errorText)")
        let pins = try Data(contentsOf: URL(filePath: ProjectRoot.file("Package.resolved")))
        struct Resolved: Decodable {
            struct Pin: Decodable { var identity: String }
            var pins: [Pin]
        }
        let names = try JSONDecoder().decode(Resolved.self, from: pins).pins.map(\.identity)
        #expect(names.count > 4)
        for name in names { #expect(run.text.contains("\n\(name) "), "\(name)") }
        for text in [
            "Copyright (C) 2015-2025 Gwendal Roué", "Apache License", "UNICODE LICENSE V3", "The BoringSSL Authors",
            "Runtime Library Exception",
        ] { #expect(run.text.contains(text), "\(text)") }
    }
}
