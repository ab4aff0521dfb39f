import Foundation

/// A real Chromium without a window, steered by WebDriver (W3C Recommendation of 2018) through chromedriver.
///
/// Requests go out through curl(1), so that nothing but the browser depends on what is tested here.
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

    /// Whether tests of the page run: where both programs are here, and in CI in any case, where they fail without them.
    static var isExpected: Bool {
        ProcessInfo.processInfo.environment["CI"] == "true" || (chromium != nil && find("chromedriver") != nil)
    }

    /// Opens an address in a browser of its own, and ends the browser afterwards.
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

    // MARK: Asking

    /// What a function body in JavaScript returns, with numbers, texts and lists as JSON has them.
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
            throw BrowserFailure(message: "\(expression) is no number")
        }
        return number.doubleValue
    }

    func isTrue(_ expression: String) async throws -> Bool { try await text("Boolean(\(expression))") == "true" }

    /// Waits until an expression is true, and says what the page shows when that never comes.
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
            throw BrowserFailure(message: "never: \(expression)\n\(error)\n\(shown)\n\(try await complaints())")
        }
    }

    /// What the page's console has been told: refused scripts, errors, missing files.
    func complaints() async throws -> [String] {
        let entries = try await call("POST", "/se/log", ["type": "browser"]) as? [[String: Any]] ?? []
        return entries.compactMap { $0["message"] as? String }
    }

    // MARK: Doing

    /// Types into the element that a selector finds; into a file input, paths.
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

    /// Presses keys, one after the other, wherever the focus is.
    func press(_ keys: Key...) async throws {
        let actions = keys.flatMap { key in
            [["type": "keyDown", "value": key.rawValue], ["type": "keyUp", "value": key.rawValue]]
        }
        try await call("POST", "/actions", ["actions": [["type": "key", "id": "keys", "actions": actions]]])
    }

    /// Lets files fall onto the element that a selector finds, as from a file manager.
    func drop(_ paths: [String], on selector: String) async throws {
        let place = "document.querySelector('\(selector)').getBoundingClientRect()"
        let x = try await number("\(place).x + \(place).width / 2")
        let y = try await number("\(place).y + \(place).height / 2")
        let data: [String: Any] = ["items": [Any](), "files": paths, "dragOperationsMask": 1]
        for step in ["dragEnter", "dragOver", "drop"] {
            try await devtools("Input.dispatchDragEvent", ["type": step, "x": x, "y": y, "data": data])
        }
    }

    /// Lets requests leave at so many bytes a second and no faster.
    func limitUploads(to bytesPerSecond: Int) async throws {
        let conditions: [String: Any] = [
            "offline": false, "latency": 0, "download_throughput": -1, "upload_throughput": bytesPerSecond,
        ]
        try await call("POST", "/chromium/network_conditions", ["network_conditions": conditions])
    }

    /// Makes the page believe that the user likes light or dark pages, or none that move.
    func prefer(_ preferences: [String: String]) async throws {
        let features = preferences.map { ["name": $0.key, "value": $0.value] }
        try await devtools("Emulation.setEmulatedMedia", ["features": features])
    }

    /// Gives the window another size.
    func resize(width: Int, height: Int) async throws {
        try await devtools(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    /// The window as a PNG file.
    func screenshot() async throws -> Data {
        let value = try await call("GET", "/screenshot")
        guard let text = value as? String, let bytes = Data(base64Encoded: text) else {
            throw BrowserFailure(message: "no screenshot")
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
        let answer = try JSONSerialization.jsonObject(with: output) as? [String: Any]
        let value = answer?["value"] ?? NSNull()
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
                // The sandbox needs rights that a container or root does not have; the only page is one of ours.
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1240,900",
                "--no-proxy-server", "--lang=en-GB", "--user-data-dir=\(profile)",
            ]
            let wanted: [String: Any] = [
                "goog:chromeOptions": ["args": switches, "binary": chromium ?? ""],
                "goog:loggingPrefs": ["browser": "ALL"], "timeouts": ["script": 60_000],
            ]
            let answer = try await call("POST", "\(root)/session", ["capabilities": ["alwaysMatch": wanted]])
            guard let session = (answer as? [String: Any])?["sessionId"] as? String else {
                throw BrowserFailure(message: "no session: \(answer)")
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

    /// The port that chromedriver says it has taken; what it says afterwards is read and thrown away.
    private static func port(of output: FileHandle) async throws -> Int {
        let port: Int? = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var said = ""
                var isTold = false
                while case let more = output.availableData, !more.isEmpty {
                    said += String(decoding: more, as: UTF8.self)
                    if !isTold, let match = said.firstMatch(of: /successfully on port ([0-9]+)/) {
                        isTold = true
                        continuation.resume(returning: Int(match.1))
                    }
                }
                if !isTold { continuation.resume(returning: nil) }
            }
        }
        guard let port else { throw BrowserFailure(message: "chromedriver did not start") }
        return port
    }

    private static var chromium: String? {
        ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].lazy.compactMap(find).first
    }

    private static func find(_ program: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/bin"]
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// A browser that did not do what it was asked for.
struct BrowserFailure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
