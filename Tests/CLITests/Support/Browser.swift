import Foundation
import TestSupport

/// A headless Chromium, controlled by WebDriver (W3C Recommendation of 2018) through chromedriver.
///
/// `make setup` installs both. Without them a suite that needs them is skipped (``InstalledBrowser``), except in CI.
final class Browser: Sendable {
    private let driver: HelperProcess
    private let session: String

    private init(driver: HelperProcess, session: String) {
        self.driver = driver
        self.session = session
    }

    /// Opens a file in a new browser and closes the browser afterwards.
    static func open<Value>(_ path: String, _ body: (Browser) async throws -> Value) async throws -> Value {
        let driver = try await HelperProcess.start("chromedriver") { port, _ in ["--port=\(port)"] }
        let switches = [
            // The sandbox needs privileges that a container or root does not have. The only page is one of the tests.
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1000,900",
            "--user-data-dir=\(driver.folder.path("profile"))",
        ]
        let wanted: [String: Any] = [
            "goog:chromeOptions": ["args": switches, "binary": try binary()],
            "goog:loggingPrefs": ["browser": "ALL"],
        ]
        let answer = try await call(driver.port, "POST", "", ["capabilities": ["alwaysMatch": wanted]])
        guard let session = (answer as? [String: Any])?["sessionId"] as? String else {
            throw BrowserFailure(message: "no session: \(answer)\n\(driver.output)")
        }
        let browser = Browser(driver: driver, session: session)
        do {
            try await browser.call("POST", "/url", ["url": URL(filePath: path).absoluteString])
            let value = try await body(browser)
            try await browser.call("DELETE", "")
            return value
        } catch {
            _ = try? await browser.call("DELETE", "")
            throw error
        }
    }

    /// Returns the result of a JavaScript function body, with numbers, strings and arrays as in JSON.
    func value(_ script: String) async throws -> Any {
        try await call("POST", "/execute/sync", ["script": script, "args": [Any]()])
    }

    func text(_ script: String) async throws -> String {
        let value = try await value(script)
        guard let text = value as? String else { throw BrowserFailure(message: "\(script): \(value)") }
        return text
    }

    func number(_ script: String) async throws -> Double {
        let value = try await value(script)
        guard let number = value as? NSNumber else { throw BrowserFailure(message: "\(script): \(value)") }
        return number.doubleValue
    }

    func isTrue(_ script: String) async throws -> Bool { try await number("return (\(script)) ? 1 : 0") == 1 }

    /// Key codes of WebDriver, section 17.4.2.
    enum Key: String {
        case tab = "\u{E004}"
        case enter = "\u{E007}"
        case end = "\u{E010}"
        case right = "\u{E014}"
    }

    /// Presses keys in order, in the focused element.
    func press(_ keys: Key...) async throws {
        let actions = keys.flatMap { key in
            [["type": "keyDown", "value": key.rawValue], ["type": "keyUp", "value": key.rawValue]]
        }
        try await call("POST", "/actions", ["actions": [["type": "key", "id": "keys", "actions": actions]]])
    }

    /// Clicks at a position in the window.
    func click(x: Double, y: Double) async throws {
        let actions: [[String: Any]] = [
            ["type": "pointerMove", "duration": 0, "x": Int(x), "y": Int(y)],
            ["type": "pointerDown", "button": 0], ["type": "pointerUp", "button": 0],
        ]
        try await call("POST", "/actions", ["actions": [["type": "pointer", "id": "mouse", "actions": actions]]])
    }

    /// Sets the preferred color scheme that the page sees, `light` or `dark`.
    func prefer(_ scheme: String) async throws {
        let feature = ["name": "prefers-color-scheme", "value": scheme]
        let parameters: [String: Any] = ["cmd": "Emulation.setEmulatedMedia", "params": ["features": [feature]]]
        try await call("POST", "/goog/cdp/execute", parameters)
    }

    /// Returns the messages of the page's console: refused scripts, errors, missing files.
    func complaints() async throws -> [String] {
        let entries = try await call("POST", "/se/log", ["type": "browser"]) as? [[String: Any]] ?? []
        return entries.compactMap { $0["message"] as? String }
    }

    @discardableResult
    private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> Any {
        try await Self.call(driver.port, method, "/\(session)\(path)", body)
    }

    private static func call(_ port: Int, _ method: String, _ path: String, _ body: [String: Any]?) async throws -> Any
    {
        var arguments = ["-q", "-sS", "--noproxy", "*", "-X", method, "http://127.0.0.1:\(port)/session\(path)"]
        var input = Data()
        if let body {
            input = try JSONSerialization.data(withJSONObject: body)
            arguments += ["-H", "Content-Type: application/json; charset=utf-8", "--data-binary", "@-"]
        }
        let run = try await ChildProcess.run("curl", arguments, input: Array(input))
        let answer = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
        let value = answer?["value"] ?? NSNull()
        if let error = (value as? [String: Any])?["error"] {
            throw BrowserFailure(message: "\(method) \(path): \(error): \((value as? [String: Any])?["message"] ?? "")")
        }
        return value
    }

    private static func binary() throws -> String {
        guard let program = InstalledBrowser.here.program else {
            throw BrowserFailure(message: InstalledBrowser.remedy)
        }
        return program
    }
}

/// A failure to control the browser.
struct BrowserFailure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
