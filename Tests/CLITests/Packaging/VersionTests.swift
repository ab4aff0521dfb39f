import Foundation
import TestSupport
import Testing

@testable import WaybillCLI

/// The version is defined once, in `WaybillCommand.version`.
struct VersionTests {
    @Test func `the version is printed first, and the libraries in the second line`() async throws {
        let run = try await Tool.run(["--version"])
        #expect(run.exit == .status(0) && run.errorText.isEmpty)
        let lines = run.text.split(separator: "\n")
        try #require(lines.count == 2, "\(run.text)")
        #expect(lines[0] == "waybill \(WaybillCommand.version)")
        for library in ["libcurl", "libjpeg-turbo", "SQLite"] {
            #expect(lines[1].split(separator: " ").contains { $0.hasPrefix("\(library)/") }, "\(lines[1])")
        }
    }

    @Test func `the newest version of the changelog is the version`() throws {
        let text = try String(contentsOfFile: ProjectRoot.file("CHANGELOG.md"), encoding: .utf8)
        let newest = text.split(separator: "\n").compactMap { $0.firstMatch(of: /^## (\d+\.\d+\.\d+)(?:\s.*)?$/) }.first
        #expect(newest.map { String($0.1) } == WaybillCommand.version)
    }

    @Test func `requests name the version in User-Agent`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200))
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "-s"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(server.requests.first?.value(of: "User-Agent") == "waybill/\(WaybillCommand.version)")
    }
}
