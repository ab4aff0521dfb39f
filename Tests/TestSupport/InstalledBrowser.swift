internal import Glibc

/// The browser for tests of pages: any Chromium, with chromedriver.
package struct InstalledBrowser: Sendable {
    /// The browser found in `PATH` and in Debian's directory of programs.
    package static let here = InstalledBrowser(
        directories: variable("PATH").split(separator: ":").map(String.init) + ["/usr/bin"],
        isCI: variable("CI") == "true")

    /// The reason printed by a skipped test.
    package static let remedy: String = "Chromium or chromedriver is not installed. Run `make setup`."

    /// The path of the browser.
    package let program: String?
    private let driver: String?
    private let isCI: Bool

    /// Looks for both programs.
    ///
    /// - Parameters:
    ///   - directories: The directories to search.
    ///   - isCI: Whether a missing browser is a failure.
    package init(directories: [String], isCI: Bool) {
        func find(_ name: String) -> String? {
            directories.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
        }
        program = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].lazy.compactMap(find).first
        driver = find("chromedriver")
        self.isCI = isCI
    }

    /// Whether tests in a browser run. If `false` they are skipped; in CI they fail instead.
    package var isExpected: Bool { isCI || (program != nil && driver != nil) }

    private static func variable(_ name: String) -> String {
        unsafe getenv(name).map { unsafe String(cString: $0) } ?? ""
    }
}
