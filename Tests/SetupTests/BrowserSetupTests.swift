import TestSupport
import Testing

/// The browser, the only part of the setup that an archive may lack.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct BrowserSetupTests {
    private static let withoutBrowser = SimulatedMachine.buildPackages + SimulatedMachine.testPackages
    private static let readers = ["node", "go", "php"]

    @Test func `Debian's browser and its driver are installed for the tests`() async throws {
        let run = try await SimulatedMachine(installed: Self.withoutBrowser, programs: Self.readers).run()
        #expect(run.requested == ["chromium", "chromium-driver"])
    }

    @Test(arguments: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
    func `a browser from another source is accepted`(_ browser: String) async throws {
        let run = try await SimulatedMachine(
            installed: Self.withoutBrowser, programs: Self.readers + [browser, "chromedriver"]
        ).run()
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(!run.called("apt-get"))
    }

    @Test func `a browser without its driver is not accepted`() async throws {
        let run = try await SimulatedMachine(installed: Self.withoutBrowser, programs: Self.readers + ["google-chrome"])
            .run()
        #expect(run.requested == ["chromium", "chromium-driver"])
    }

    @Test func `without a browser in the archive, one line reports the skipped tests`() async throws {
        let run = try await SimulatedMachine(
            mirror: Self.withoutBrowser, lists: nil, programs: Self.readers
        ).run()
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.called("apt-get install") && !run.requested.contains { $0.hasPrefix("chromium") })
        let lines = run.text.split(separator: "\n").filter { $0.contains("browser") }
        #expect(
            lines == [
                "setup: the archive has no chromium chromium-driver: the tests of pages in a browser will be skipped."
            ])
    }

    @Test func `without a browser in the archive, the next run uses neither network nor sudo`() async throws {
        let run = try await SimulatedMachine(
            installed: Self.withoutBrowser, lists: Self.withoutBrowser, programs: Self.readers, isRoot: false
        ).run()
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(!run.called("sudo") && !run.called("apt-get update"))
        #expect(run.text.contains("will be skipped.\n"))
    }

    @Test func `in CI a missing browser is an error`() async throws {
        let run = try await SimulatedMachine(
            installed: Self.withoutBrowser, lists: Self.withoutBrowser, programs: Self.readers,
            environment: ["CI": "true"]
        ).run()
        #expect(run.exit == .status(1))
        #expect(run.errorText.contains("(CI=true: the tests of pages must not be skipped.)"))
    }
}
