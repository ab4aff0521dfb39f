import TestSupport
import Testing

@Suite(.timeLimit(.minutes(Slowness.factor))) struct DoctorTests {
    @Test func `doctor reports a healthy machine and redacts proxy passwords`() async throws {
        let run = try await Tool.run(
            ["doctor"], environment: ["https_proxy": "http://user:passw0rd@proxy.invalid:8080"])
        #expect(run.exit == .status(0), "\(run.text)")
        for name in ["libcurl", "TLS", "libjpeg-turbo", "open files", "temporary directory", "certificates"] {
            #expect(run.text.contains("\(name): "))
        }
        #expect(run.text.contains("ok      self-test: a form of 3 parts"))
        #expect(run.text.contains("https_proxy: http://<redacted>@proxy.invalid:8080"))
        #expect(!run.text.contains("passw0rd"))
    }

    @Test func `an unusable temporary directory is a failure, also with --json`() async throws {
        let run = try await Tool.run(["doctor", "--json"], environment: ["TMPDIR": "/nonexistent"])
        #expect(run.exit == .status(1))
        let lines = try run.jsonLines()
        let failed = lines.filter { $0["verdict"] as? String == "failed" }
        #expect(failed.map { $0["name"] as? String } == ["temporary directory"])
        #expect(lines.last?["exit"] as? Int == 1)
    }

    @Test func `versions and help are written to standard output`() async throws {
        let version = try await Tool.run(["--version"])
        #expect(version.exit == .status(0))
        #expect(version.text.hasPrefix("waybill "))
        for command in ["post", "shrink", "doctor"] {
            let help = try await Tool.run([command, "--help"])
            #expect(help.exit == .status(0))
            #expect(help.text.contains("EXAMPLES:") && help.text.contains("EXIT STATUS:"))
            #expect(help.errorText.isEmpty)
        }
    }
}
