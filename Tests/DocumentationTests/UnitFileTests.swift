import ArgumentParser
import Foundation
import Testing

@testable import WaybillCLI

/// The unit files to copy: systemd accepts them, and the command parses their command lines.
@Suite(.timeLimit(.minutes(10))) struct UnitFileTests {
    @Test func `every setting exists in systemd`() throws {
        let units = try Self.units()
        #expect(
            units.map(\.name) == [
                "waybill-outbox-once.service", "waybill-outbox-once.timer", "waybill-outbox.service",
            ])
        for unit in units { #expect(UnitFile(unit.text).findings == [], "\(unit.name)") }
        let dropIns = Samples.blocks("ini", in: try Self.text("README.md"))
        #expect(dropIns.count == 2)
        for block in dropIns { #expect(UnitFile(block.text).findings == [], "README.md:\(block.line)") }
    }

    @Test func `an unknown or invalid setting is reported`() {
        let unit = UnitFile("[Service]\nRestart=allways\nProtectHomes=yes\nExecStart=waybill\n stray\nUMask=0077\n")
        #expect(unit.findings.count == 4)
        #expect(UnitFile("[Timer]\nOnBootSec=soon\n").findings.count == 1)
        #expect(UnitFile("[Service]\n# a comment\nRestartSec=5\nExecStart=-/bin/true\nExecStart=\n").findings == [])
    }

    @Test func `the command parses what the units start`() throws {
        var started: [String] = []
        for unit in try Self.units() { started += UnitFile(unit.text).values("ExecStart") }
        for block in Samples.blocks("ini", in: try Self.text("README.md")) {
            started += UnitFile(block.text).values("ExecStart").filter { !$0.isEmpty }
        }
        #expect(started.count == 4)
        for line in started {
            let words = CommandLines.words(line)
            #expect(words[0] == "/usr/local/bin/waybill")
            #expect(throws: Never.self, "\(line)") { try WaybillCommand.parseAsRoot(Array(words.dropFirst())) }
        }
        #expect(started.count { $0.contains("--until-idle") } == 1)
    }

    @Test func `the service always restarts and stops cleanly`() throws {
        let unit = UnitFile(try Self.text("waybill-outbox.service"))
        #expect(unit.values("Restart") == ["always"])
        #expect(unit.values("KillSignal") == ["SIGTERM"])
        #expect(unit.values("StateDirectoryMode") == ["0700"])
        let directory = try #require(unit.values("StateDirectory").first)
        for name in ["waybill-outbox.service", "waybill-outbox-once.service"] {
            let start = UnitFile(try Self.text(name)).values("ExecStart")
            #expect(start.allSatisfy { $0.contains("--outbox %S/\(directory)/") }, "\(name)")
        }
    }

    @Test func `systemd-analyze accepts the units`() async throws {
        let verify = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        guard let verify else {
            print("systemd-analyze is not installed: the units were only compared with the table")
            return
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "units-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for unit in try Self.units() {
            // systemd-analyze requires the started program, which is not installed.
            let text = unit.text.replacing("/usr/local/bin/waybill", with: "/bin/true")
            try text.write(toFile: "\(folder)/\(unit.name)", atomically: false, encoding: .utf8)
        }
        let paths = try Self.units().map { "\(folder)/\($0.name)" }
        let (_, output) = try await Self.run(verify, ["verify", "--man=no"] + paths)
        // Without a running systemd it reports that, but must not report these files.
        let messages = output.split(separator: "\n").filter { $0.contains("waybill-outbox") }
        #expect(messages.isEmpty, "\(output)")

        try "[Service]\nExecStart=/bin/true\nProtectHomes=yes\n".write(
            toFile: "\(folder)/wrong.service", atomically: false, encoding: .utf8)
        let (_, wrong) = try await Self.run(verify, ["verify", "--man=no", "\(folder)/wrong.service"])
        #expect(wrong.contains("ProtectHomes"), "\(wrong)")
    }

    // MARK: Help

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Docs/systemd")

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }

    private static func units() throws -> [(name: String, text: String)] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            .filter { $0.hasSuffix(".service") || $0.hasSuffix(".timer") }.map { ($0, try text($0)) }
    }

    private static func run(_ program: String, _ arguments: [String]) async throws -> (Int32, String) {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let output = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
                process.waitUntilExit()
                continuation.resume(returning: (process.terminationStatus, String(decoding: output, as: UTF8.self)))
            }
        }
    }
}
