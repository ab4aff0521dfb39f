import Foundation

/// A headless Chromium, controlled by WebDriver (W3C Recommendation of 2018) through chromedriver.
///
/// WebDriver requests are sent with curl(1), independently of the tested code.
final class Browser: Sendable {
    private let driver: Process
    private let root: String
    private let session: String
    private let profile: String

    private init(driver: Process, root: String, session: String, profile: String) {
        self.driver = driver
        self.root = root
        self.session = session
        self.profile = profile
    }

    /// Whether tests of the page run: if both programs are installed, and always in CI, where missing programs fail
    /// them.
    static var isExpected: Bool {
        ProcessInfo.processInfo.environment["CI"] == "true" || (chromium != nil && find("chromedriver") != nil)
    }

    /// Opens a URL in a new browser, and ends the browser afterwards.
    static func open<Value>(_ url: String, _ body: (Browser) async throws -> Value) async throws -> Value {
        let browser = try await start()
        defer { browser.end() }
        do {
            try await browser.call("POST", "/url", ["url": url])
            let value = try await body(browser)
            _ = try? await browser.call("DELETE", "")
            return value
        } catch {
            _ = try? await browser.call("DELETE", "")
            throw error
        }
    }

    // MARK: Queries

    /// Runs a JavaScript function body and returns its value as a JSON object.
    @discardableResult
    func value(_ script: String, _ arguments: [Any] = []) async throws -> Any {
        try await call("POST", "/execute/sync", ["script": script, "args": arguments])
    }

    func text(_ expression: String) async throws -> String {
        let value = try await value("return String(\(expression))")
        return value as? String ?? ""
    }

    func texts(_ list: String) async throws -> [String] {
        try await value("return \(list).map(String)") as? [String] ?? []
    }

    func number(_ expression: String) async throws -> Double {
        guard let number = try await value("return Number(\(expression))") as? NSNumber else {
            throw BrowserFailure(message: "\(expression) is not a number.")
        }
        return number.doubleValue
    }

    func isTrue(_ expression: String) async throws -> Bool { try await text("Boolean(\(expression))") == "true" }

    /// Waits until an expression is true. The error of a timeout contains the text of the page.
    func until(_ expression: String) async throws {
        let script = """
            const [expression, done] = [() => \(expression), arguments[arguments.length - 1]];
            const look = () => { let is = false; try { is = Boolean(expression()); } catch {} is ? done(true) : setTimeout(look, 20); };
            look();
            """
        do {
            try await call("POST", "/execute/async", ["script": script, "args": [Any]()])
        } catch {
            let shown = try await text("document.body.innerText")
            throw BrowserFailure(
                message: "Timeout waiting for: \(expression)\n\(error)\n\(shown)\n\(try await consoleMessages())")
        }
    }

    /// Returns the messages of the page's console: blocked scripts, errors, missing files.
    func consoleMessages() async throws -> [String] {
        let entries = try await call("POST", "/se/log", ["type": "browser"]) as? [[String: Any]] ?? []
        return entries.compactMap { $0["message"] as? String }
    }

    // MARK: Actions

    /// Types text into an element, or paths into a file input.
    func type(_ text: String, into selector: String) async throws {
        try await call("POST", "/element/\(try await element(selector))/value", ["text": text])
    }

    func click(_ selector: String) async throws {
        try await call("POST", "/element/\(try await element(selector))/click", [:])
    }

    /// Keys of WebDriver, section 17.4.2.
    enum Key: String {
        case tab = "\u{E004}"
        case enter = "\u{E007}"
        case right = "\u{E014}"
        case space = " "
    }

    /// Presses keys in sequence at the focused element.
    func press(_ keys: Key...) async throws {
        let actions = keys.flatMap { key in
            [["type": "keyDown", "value": key.rawValue], ["type": "keyUp", "value": key.rawValue]]
        }
        try await call("POST", "/actions", ["actions": [["type": "key", "id": "keys", "actions": actions]]])
    }

    /// Drops files on an element, as from a file manager.
    func drop(_ paths: [String], on selector: String) async throws {
        let rectangle = "document.querySelector('\(selector)').getBoundingClientRect()"
        let x = try await number("\(rectangle).x + \(rectangle).width / 2")
        let y = try await number("\(rectangle).y + \(rectangle).height / 2")
        let data: [String: Any] = ["items": [Any](), "files": paths, "dragOperationsMask": 1]
        for step in ["dragEnter", "dragOver", "drop"] {
            try await devtools("Input.dispatchDragEvent", ["type": step, "x": x, "y": y, "data": data])
        }
    }

    /// Limits the upload rate of the browser.
    func limitUploads(to bytesPerSecond: Int) async throws {
        let conditions: [String: Any] = [
            "offline": false, "latency": 0, "download_throughput": -1, "upload_throughput": bytesPerSecond,
        ]
        try await call("POST", "/chromium/network_conditions", ["network_conditions": conditions])
    }

    /// Emulates user preferences, such as a color scheme or reduced motion.
    func prefer(_ preferences: [String: String]) async throws {
        let features = preferences.map { ["name": $0.key, "value": $0.value] }
        try await devtools("Emulation.setEmulatedMedia", ["features": features])
    }

    /// Resizes the window.
    func resize(width: Int, height: Int) async throws {
        try await devtools(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    /// Returns the window as a PNG file.
    func screenshot() async throws -> Data {
        let value = try await call("GET", "/screenshot")
        guard let text = value as? String, let bytes = Data(base64Encoded: text) else {
            throw BrowserFailure(message: "There is no screenshot.")
        }
        return bytes
    }

    @discardableResult
    private func devtools(_ command: String, _ parameters: [String: Any]) async throws -> Any {
        try await call("POST", "/goog/cdp/execute", ["cmd": command, "params": parameters])
    }

    private func element(_ selector: String) async throws -> String {
        let found = try await call("POST", "/element", ["using": "css selector", "value": selector])
        return (found as? [String: Any])?.values.first as? String ?? ""
    }

    // MARK: The driver

    @discardableResult
    private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> Any {
        try await Self.call(method, "\(root)/session/\(session)\(path)", body)
    }

    private static func call(_ method: String, _ url: String, _ body: [String: Any]?) async throws -> Any {
        var arguments = ["-q", "-s", "--noproxy", "*", "-X", method]
        if let body {
            let text = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
            arguments += ["-H", "Content-Type: application/json; charset=utf-8", "--data-raw", text]
        }
        let output = try await run("curl", arguments + [url]).output
        let response = try JSONSerialization.jsonObject(with: output) as? [String: Any]
        let value = response?["value"] ?? NSNull()
        if let error = (value as? [String: Any])?["error"] {
            throw BrowserFailure(message: "\(method) \(url): \(error): \((value as? [String: Any])?["message"] ?? "")")
        }
        return value
    }

    private static func start() async throws -> Browser {
        let driver = Process()
        driver.executableURL = URL(fileURLWithPath: find("chromedriver") ?? "chromedriver")
        driver.arguments = ["--port=0"]
        let pipe = Pipe()
        driver.standardOutput = pipe
        driver.standardError = FileHandle.nullDevice
        try driver.run()
        let profile = "\(FileManager.default.temporaryDirectory.path)/browser-\(UUID().uuidString)"
        do {
            let root = "http://127.0.0.1:\(try await port(of: pipe.fileHandleForReading))"
            let switches = [
                // The sandbox needs privileges that a container does not have. Only the tested page is loaded.
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1240,900",
                "--no-proxy-server", "--lang=en-GB", "--user-data-dir=\(profile)",
            ]
            let wanted: [String: Any] = [
                "goog:chromeOptions": ["args": switches, "binary": chromium ?? ""],
                "goog:loggingPrefs": ["browser": "ALL"], "timeouts": ["script": 60_000],
            ]
            let response = try await call("POST", "\(root)/session", ["capabilities": ["alwaysMatch": wanted]])
            guard let session = (response as? [String: Any])?["sessionId"] as? String else {
                throw BrowserFailure(message: "There is no session: \(response)")
            }
            return Browser(driver: driver, root: root, session: session, profile: profile)
        } catch {
            end(driver)
            throw error
        }
    }

    private func end() {
        Self.end(driver)
        try? FileManager.default.removeItem(atPath: profile)
    }

    private static func end(_ driver: Process) {
        kill(driver)
        driver.waitUntilExit()
    }

    /// Reads the port from the output of chromedriver. Further output is discarded.
    private static func port(of output: FileHandle) async throws -> Int {
        let port: Int? = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var text = ""
                var hasResumed = false
                while case let more = output.availableData, !more.isEmpty {
                    text += String(decoding: more, as: UTF8.self)
                    if !hasResumed, let match = text.firstMatch(of: /successfully on port ([0-9]+)/) {
                        hasResumed = true
                        continuation.resume(returning: Int(match.1))
                    }
                }
                if !hasResumed { continuation.resume(returning: nil) }
            }
        }
        guard let port else { throw BrowserFailure(message: "chromedriver did not start.") }
        return port
    }

    private static var chromium: String? {
        ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].lazy.compactMap(find).first
    }

    private static func find(_ program: String) -> String? {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/bin"]
        return directories.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// A failed browser command.
struct BrowserFailure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
