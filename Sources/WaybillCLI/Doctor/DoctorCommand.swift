import ArgumentParser
import Waybill

/// `waybill doctor`: what is at hand, and whether it works.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Prints what uploads rest on, and posts a small form to itself.",
        discussion: """
            Nothing leaves the machine. Put the output into a bug report: passwords in proxies are left out.

            EXAMPLES:
              waybill doctor
              waybill doctor --json

            EXIT STATUS:
                0  all is well
                1  a check failed; its line says what to do
            """)

    @Flag(name: .customLong("json"), help: "One JSON object a line.")
    var json = false

    func run() async throws {
        var checks = Checks.versions + Checks.surroundings(Environment.value)
        checks.append(await SelfTest.run())
        let isWell = checks.allSatisfy { $0.verdict != .failed }
        if json {
            let output = JSONOutput(.standard)
            for check in checks { try output.write("check", check.members) }
            try output.write(
                "summary",
                [
                    JSONMember("result", .string(isWell ? "succeeded" : "failed")),
                    JSONMember("exit", .int(isWell ? 0 : 1)),
                ])
        } else {
            try StandardOutput.write(Array((checks.map(\.line).joined(separator: "\n") + "\n").utf8))
        }
        if !isWell { throw ExitCode(Exit.rejected.rawValue) }
    }
}

/// One thing that was looked at.
struct Check: Sendable, Hashable {
    enum Verdict: String, Sendable, Hashable {
        case ok
        case failed
        /// Told, not judged.
        case note
    }

    var verdict: Verdict
    var name: String
    /// What was found, and the remedy where something is wrong.
    var finding: String

    init(_ name: String, _ isFine: Bool, _ finding: String) {
        self.verdict = isFine ? .ok : .failed
        self.name = name
        self.finding = finding
    }

    init(note name: String, _ finding: String) {
        self.verdict = .note
        self.name = name
        self.finding = finding
    }

    var line: String {
        let mark = verdict.rawValue
        return mark + String(repeating: " ", count: 8 - mark.utf8.count) + "\(name): \(Redaction.escaped(finding))"
    }

    var members: [JSONMember] {
        [
            JSONMember("name", .string(name)), JSONMember("verdict", .string(verdict.rawValue)),
            JSONMember("finding", .string(finding)),
        ]
    }
}
