import ArgumentParser
import TestSupport
import Testing

@testable import WaybillCLI

/// Options from a file and from the environment.
struct SettingsTests {
    private func merged(
        _ words: String..., file: String? = nil, environment: [String: String] = [:]
    ) throws -> [String] {
        let settings = Settings(
            tree: CommandTree(of: WaybillCommand.self), environment: { environment[$0] },
            file: try file.map { try SettingsFile($0, path: "config") })
        return try settings.merged(words)
    }

    @Test func `a global setting applies to each command that has the option`() throws {
        let file = "# ours\n\nretry = 3\n"
        #expect(try merged("post", "http://a/", file: file) == ["post", "--retry=3", "http://a/"])
        #expect(try merged("doctor", file: file) == ["doctor"])
        #expect(try merged("--version", file: file) == ["--version"])
        #expect(try merged("outbox", "ls", "--json", file: file) == ["outbox", "ls", "--json"])
    }

    @Test func `the command line overrides the environment, then sections, then global settings`()
        throws
    {
        let file = "retry = 1\n[post]\nretry = 2\n"
        #expect(try merged("post", "u", file: file) == ["post", "--retry=2", "u"])
        #expect(try merged("put", "f", file: file) == ["put", "--retry=1", "f"])
        #expect(try merged("post", "u", file: file, environment: ["WAYBILL_RETRY": "3"]) == ["post", "--retry=3", "u"])
        for own in [["--retry", "4"], ["--retry=4"]] {
            let words = ["post"] + own + ["u"]
            let settings = Settings(
                tree: CommandTree(of: WaybillCommand.self), environment: { $0 == "WAYBILL_RETRY" ? "3" : nil },
                file: try SettingsFile(file, path: "c"))
            let merged = try settings.merged(words)
            #expect(merged == words)
        }
    }

    @Test func `a short option on the command line overrides the setting of its long name`() throws {
        for letter in [["-X", "PUT"], ["-XPUT"]] {
            let words = ["post"] + letter + ["u"]
            let settings = Settings(
                tree: CommandTree(of: WaybillCommand.self), environment: { _ in nil },
                file: try SettingsFile("request = PATCH", path: "c"))
            #expect(try settings.merged(words) == words)
        }
    }

    @Test func `flags are true or false, and repeatable options accumulate`() throws {
        #expect(try merged("post", "u", file: "insecure = true\n") == ["post", "--insecure", "u"])
        #expect(try merged("post", "u", file: "insecure = off\n") == ["post", "u"])
        #expect(
            try merged("post", "-H", "C: 3", "u", file: "header = A: 1\n[post]\nheader = \"B: 2 \"\n")
                == ["post", "--header=A: 1", "--header=B: 2 ", "-H", "C: 3", "u"])
    }

    @Test(arguments: [
        ("retry 3", "config, line 1: The \"=\" is missing. Write \"name = value\", or \"name = true\" for a flag."),
        ("\n[post\n", "config, line 2: The \"]\" is missing."),
        ("[pst]\nretry = 1", "config, line 2: There is no command \"pst\". Did you mean \"post\"?"),
        ("retries = 3", "config, line 1: No command has an option --retries."),
        ("[doctor]\nretry = 3", "config, line 2: waybill doctor has no option --retry."),
        ("insecure = perhaps", "config, line 1: insecure is a flag. Set it to true or false."),
    ])
    func `a syntax error is reported with its line`(file: String, message: String) {
        let error = #expect(throws: CommandFailure.self) { try merged("post", "u", file: file) }
        #expect(error?.message == message && error?.exit == .usage)
    }

    @Test func `WAYBILL_CONFIG names the settings file, and an empty value disables it`() async throws {
        let folder = try TemporaryDirectory()
        let server = try LoopbackServer(otherwise: .respond(200, body: "ok"))
        let home = folder.path("home")
        let own = try folder.write("settings", "[post]\nrequest = PUT\nheader = X-Branch: 0042\nform = LATE=2\n")
        let call = ["post", server.url("/u"), "-F", "A=1"]
        let first = try await Tool.run(call, environment: ["WAYBILL_CONFIG": own, "HOME": home])
        #expect(first.exit == .status(0), "\(first.errorText)")
        let second = try await Tool.run(call, environment: ["WAYBILL_CONFIG": "", "HOME": home])
        #expect(second.exit == .status(0), "\(second.errorText)")
        let missing = try await Tool.run(call, environment: ["WAYBILL_CONFIG": folder.path("none")])
        #expect(missing.exit == .status(3))
        let requests = server.requests
        try #require(requests.count == 2)
        #expect(requests[0].method == "PUT" && requests[0].value(of: "X-Branch") == "0042")
        #expect(
            requests[0].bodyWithoutBoundary.contains("LATE") && requests[0].bodyWithoutBoundary.contains("name=\"A\""))
        #expect(requests[1].method == "POST" && requests[1].value(of: "X-Branch") == nil)
    }
}
