import ArgumentParser
import TestSupport
import Testing

@testable import WaybillCLI

/// The manual page and the completion scripts.
struct ManualTests {
    @Test func `the page lists each command and the help of each option`() async throws {
        let page = try await Tool.run(["manual"])
        #expect(page.exit == .status(0) && page.errorText.isEmpty)
        #expect(page.text.hasPrefix(".TH \"WAYBILL\" 1"))
        var seen = 0
        for command in CommandTree(of: WaybillCommand.self).leaves {
            #expect(page.text.contains(".SS \(Roff.quoted("waybill \(command.path)"))\n"), "\(command.path)")
            for argument in command.arguments where argument.shouldDisplay && argument.kind != .positional {
                guard let name = argument.longNames.first, !["help", "version"].contains(name) else { continue }
                #expect(page.text.contains("\\fB\(Roff.escaped("--\(name)"))\\fR"))
                #expect(argument.abstract?.isEmpty == false, "\(command.path) --\(name) has no help")
                seen += 1
            }
        }
        #expect(seen > 60)
        for exit in Exit.allCases { #expect(page.text.contains(Roff.escaped(exit.meaning))) }
    }

    @Test func `lines of text are escaped so that roff does not take them for requests`() {
        #expect(Roff.text(".hidden -x \\n") == "\\&.hidden \\-x \\en")
        #expect(Roff.text("'quoted'") == "\\&'quoted'")
        #expect(Roff.paragraphs("one\n  two\n\nthree") == ["one", ".nf", "  two", ".fi", ".PP", "three"])
    }

    /// Validates the page where groff is installed, which few systems have by default.
    @Test(.enabled(if: Tool.has("groff"), "groff is not here, so nobody reads the page"))
    func `groff reads the page without a warning`() async throws {
        let page = try await Tool.run(["manual"])
        let read = try await ChildProcess("groff", ["-man", "-ww", "-z", "-Tutf8"], input: Array(page.text.utf8))
            .finish()
        #expect(read.exit == .status(0) && read.errorText.isEmpty, "\(read.errorText)")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `a completion script names the commands`(shell: String) async throws {
        let script = try await Tool.run(["--generate-completion-script", shell])
        #expect(script.exit == .status(0), "\(script.errorText)")
        for word in ["post", "put", "outbox", "max-bytes"] { #expect(script.text.contains(word)) }
        guard shell == "bash" else { return }
        let check = try await ChildProcess("bash", ["-n"], input: Array(script.text.utf8)).finish()
        #expect(check.exit == .status(0) && check.errorText.isEmpty, "\(check.errorText)")
    }
}
