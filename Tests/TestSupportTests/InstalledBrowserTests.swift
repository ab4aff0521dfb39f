import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1 * Slowness.factor))) struct InstalledBrowserTests {
    private static func browser(_ programs: [String], isCI: Bool = false) throws -> InstalledBrowser {
        let folder = try TestSupport.TemporaryDirectory()
        for program in programs {
            let path = try folder.write(program, "")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        return InstalledBrowser(directories: ["/nonexistent", folder.path], isCI: isCI)
    }

    @Test(arguments: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
    func `any Chromium with its driver enables the page tests`(_ name: String) throws {
        let browser = try Self.browser([name, "chromedriver"])
        #expect(browser.isExpected)
        #expect(browser.program?.hasSuffix("/\(name)") == true)
    }

    @Test(arguments: [[], ["chromium"], ["chromedriver"]])
    func `without one of the two programs the page tests are skipped`(_ programs: [String]) throws {
        #expect(try !Self.browser(programs).isExpected)
    }

    @Test func `in CI the page tests run without a browser and fail`() throws {
        let browser = try Self.browser([], isCI: true)
        #expect(browser.isExpected)
        #expect(browser.program == nil)
    }
}
