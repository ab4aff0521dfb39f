internal import Glibc

/// The browser that opens pages in tests: any Chromium, with chromedriver.
package struct InstalledBrowser: Sendable {
    /// What is found in `PATH` and where Debian keeps programs.
    package static let here = InstalledBrowser(
        directories: variable("PATH").split(separator: ":").map(String.init) + ["/usr/bin"],
        isCI: variable("CI") == "true")

    /// The reason that a skipped test prints.
    package static let remedy: String = "Chromium or chromedriver is not installed; `make setup` does that"

    /// The path of the browser.
    package let program: String?
    private let driver: String?
    private let isCI: Bool

    /// Looks for both programs.
    ///
    /// - Parameters:
    ///   - directories: Where they may be.
    ///   - isCI: Whether a missing browser is a failure.
    package init(directories: [String], isCI: Bool) {
        func find(_ name: String) -> String? {
            directories.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
        }
        program = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].lazy.compactMap(find).first
        driver = find("chromedriver")
        self.isCI = isCI
    }

    /// Whether tests in a browser run. Where it is `false` they are skipped; in CI they fail instead.
    package var isExpected: Bool { isCI || (program != nil && driver != nil) }

    private static func variable(_ name: String) -> String {
        unsafe getenv(name).map { unsafe String(cString: $0) } ?? ""
    }
}
