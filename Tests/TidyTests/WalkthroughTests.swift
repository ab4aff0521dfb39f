import Foundation
import TestSupport
import Testing

/// Follows the pages for the first upload, the README example and the tutorial. Commands and listings are read from
/// the pages.
///
/// Each page starts in an empty directory at the same path; `.build` is kept between pages and between runs.
/// Differences from a reader's terminal:
///
/// - The address of the backend in the listings becomes the variable `WALK_URL`: each test server chooses its port.
/// - A ``LoopbackServer`` replaces the sample `Receiver`, and a small photo replaces that of `IDCardFlow`: building
///   the samples takes minutes. `Scripts/sample-commands` runs the same programs with the real ones.
/// - `traits: []` becomes `traits: ["Outbox"]`, so that Waybill is built once. `PackageResolutionTests` resolves `[]`.
/// - `sleep` waits until the server has received part of the form. `stdbuf` makes programs write line by line, as on
///   a terminal.
@Suite(.timeLimit(.minutes(20 * Slowness.factor))) struct WalkthroughTests {
    @Test func `the first upload, the README and the tutorial do what their pages show`() async throws {
        let pages = "Sources/Waybill/Waybill.docc"
        let first = Walkthrough(markdown: try Reader.text("\(pages)/FirstUpload.md"))
        #expect(first.steps.count > 8)
        let reader = try Reader(answering: first)
        for step in first.steps {
            try await reader.follow(step)
            // `Scripts/sample-commands` posts with it to the real `Receiver`.
            if case .type("swift run kiosk\n", _) = step { try reader.keepProgram(as: "first-upload") }
        }
        try reader.checkForms(1)

        let listing = try #require(try Reader.text("README.md").firstMatch(of: /```swift\n((?s:.*?))```/)).1
        try await reader.follow(.write(path: "Sources/kiosk/main.swift", text: String(listing)))
        try await reader.follow(.type(script: "swift run kiosk\n", output: "…\nsucceeded …\n200 OK …\n"))
        try reader.keepProgram(as: "readme")
        try reader.checkForms(2)

        let tutorial = try Walkthrough(tutorial: Reader.text("\(pages)/Tutorials/Kiosk.tutorial")) {
            try Reader.text("\(pages)/Tutorials/Code/\($0)")
        }
        #expect(tutorial.steps.count > 12)
        try reader.beginAgain()
        for step in tutorial.steps { try await reader.follow(step) }
        #expect(try ClientPackage.resolved(in: reader.package) == ["grdb.swift", "swift-http-types", "swift-log"])
        let requests = reader.server.requests.dropFirst(2)
        #expect(requests.map(\.isComplete) == [true, true, true, false, true])
        let (killed, whole) = (try #require(requests.dropLast().last), try #require(requests.last))
        #expect(whole.body.starts(with: killed.body.prefix(2_000)))
    }

    @Test func `steps are parsed from a page`() {
        let page = """
            Type:
            ```sh
            a
            ```
            It prints:
            ```text
            b
            ```
            Replace the content of `C.swift`:
            ```text
            c
            ```
            Or:
            ```text
            d
            ```
            """
        #expect(
            Walkthrough(markdown: page).steps == [
                .type(script: "a\n", output: "b\n"), .write(path: "C.swift", text: "c\n"),
            ])
        let tutorial = Walkthrough(
            tutorial: #"@Code(name: "Terminal 1", file: "x.sh") @Code(name: "a.swift", file: "y")"#
        ) {
            $0 == "y" ? "z" : "$ a\nb\n$ c\n"
        }
        #expect(tutorial.steps == [.type(script: "a\nc\n", output: "b\n"), .write(path: "a.swift", text: "z")])
    }

    @Test func `output that differs from the page is detected`() throws {
        #expect(try Walkthrough.matches("a (1)\nx\ny\nb 2 c\n", shown: "a (1)\n…\nb … c\n"))
        #expect(try Walkthrough.matches("a\nb\n", shown: "a\n…\nb\n"))
        #expect(try !Walkthrough.matches("a\nb\nc\n", shown: "a\nb\n"))
        #expect(try !Walkthrough.matches("a (2)\n", shown: "a (1)\n"))
        #expect(try !Walkthrough.matches("", shown: "a\n"))
        #expect(try Walkthrough.matches(#"{"bytes":7,"a":1}"# + "\n", shown: #"{"bytes":70,"a":1}"# + "\n"))
        #expect(try !Walkthrough.matches(#"{"bytes":7,"a":1}"# + "\n", shown: #"{"bytes":7,"a":2}"# + "\n"))
    }
}

/// Follows a page in a directory that contains only the checkout.
private final class Reader {
    private static let address = "\"http://127.0.0.1:8080/upload\""
    let server: LoopbackServer
    let package: String
    private let folder = ProjectRoot.file(".build/clients/walk")
    private let closed: ClosedPort
    private let tools: TemporaryDirectory
    private var directory: String
    private var kept: String { "\(folder)/kept-build" }

    /// Creates a reader.
    ///
    /// - Parameter page: The page that contains the response of the server.
    /// - Throws: An error of the file system or the server.
    init(answering page: Walkthrough) throws {
        let responses = page.steps.compactMap { step -> Substring? in
            guard case .type(_, let output?) = step else { return nil }
            return output.firstMatch(of: /(?m)^200 OK (.*)$/)?.1
        }
        server = try LoopbackServer(otherwise: .respond(200, body: String(try #require(responses.first))))
        closed = try ClosedPort()
        package = "\(folder)/kiosk"
        directory = folder
        tools = try TemporaryDirectory()
        try tools.write("sleep", "#!/bin/sh\nread -r line <'\(tools.path("arrived"))'\n")
        guard unsafe chmod(tools.path("sleep"), 0o755) == 0, unsafe mkfifo(tools.path("arrived"), 0o600) == 0 else {
            throw ClientPackage.Failed(description: "no stand-in for sleep")
        }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try? FileManager.default.removeItem(atPath: "\(folder)/waybill")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder)/waybill", withDestinationPath: ProjectRoot.path)
        try beginAgain()
    }

    static func text(_ path: String) throws -> String {
        try String(contentsOfFile: ProjectRoot.file(path), encoding: .utf8)
    }

    /// Removes the package but keeps its build directory.
    func beginAgain() throws {
        let files = FileManager.default
        if files.fileExists(atPath: "\(package)/.build") {
            try? files.removeItem(atPath: kept)
            try files.moveItem(atPath: "\(package)/.build", toPath: kept)
        }
        try? files.removeItem(atPath: package)
        directory = folder
    }

    func follow(_ step: Walkthrough.Step) async throws {
        switch step {
        case .write(let path, let text):
            var text = text.replacing("traits: []", with: "traits: [\"Outbox\"]")
            for address in [Self.address, "\"https://backend.example/upload\""] {
                text = text.replacing(address, with: "String(cString: getenv(\"WALK_URL\"))")
            }
            #expect(FileManager.default.fileExists(atPath: "\(package)/\(path)"), "\(path) is to be replaced")
            try Data(text.utf8).write(to: URL(filePath: "\(package)/\(path)"))
        case .type(let script, _) where script.contains("Samples -c release Receiver"):
            break
        case .type(let script, _) where script.contains("Samples -c release IDCardFlow --photos ."):
            try Data(Self.photo()).write(to: URL(filePath: "\(package)/front.jpg"))
        case .type(let script, let output):
            try await type(script, output)
        }
    }

    private func type(_ script: String, _ shown: String?) async throws {
        let place = tools.path("place")
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = "\(tools.path):\(environment["PATH"] ?? "")"
        // Before showing a refused connection, the page asks the reader to stop the backend.
        let isStopped = shown?.contains("cannotConnect") ?? false
        environment["WALK_URL"] = isStopped ? closed.url("/upload") : server.url("/upload")
        let isKilled = script.contains("kill -9")
        if isKilled { server.script(.stall(afterBodyBytes: 2_000)) }
        let count = server.requests.count
        let shell = try ChildProcess(
            "stdbuf", ["-oL", "bash", "-c", "trap 'pwd >\"\(place)\"' EXIT\n\(script)"], environment: environment,
            directory: directory)
        if isKilled {
            try await server.waitUntil { $0.requests.dropFirst(count).first.map { $0.bodyBytesRead >= 2_000 } ?? false }
            _ = try await ChildProcess.run("sh", ["-c", "echo >'\(tools.path("arrived"))'"])
        }
        let run = try await shell.finish()
        #expect(run.exit == .status(0), "\(script)\(run.text)\(run.errorText)")
        if let shown {
            let printed = "\(script)printed:\n\(run.text)\(run.errorText)shown:\n\(shown)"
            #expect(try Walkthrough.matches(run.text, shown: shown), "\(printed)")
        }
        #expect(!run.text.contains("specimen-token"))
        directory = try String(contentsOfFile: place, encoding: .utf8).trimmingCharacters(in: .newlines)
        let files = FileManager.default
        if directory == package, files.fileExists(atPath: kept), !files.fileExists(atPath: "\(package)/.build") {
            try files.moveItem(atPath: kept, toPath: "\(package)/.build")
        }
    }

    func keepProgram(as name: String) throws {
        let copy = "\(folder)/\(name)"
        try? FileManager.default.removeItem(atPath: copy)
        try FileManager.default.copyItem(atPath: "\(package)/.build/debug/kiosk", toPath: copy)
    }

    /// Expects the given number of complete forms, each with the token and a photo below the limit.
    func checkForms(_ count: Int) throws {
        #expect(server.requests.count == count)
        for request in server.requests {
            let body = String(decoding: request.body, as: UTF8.self)
            #expect(request.isComplete && request.body.count <= 102_400 + 1_024)
            #expect(body.contains("name=\"TOKEN\"\r\n\r\nspecimen-token\r\n"))
            #expect(body.contains("name=\"FILE\"; filename=\"IDFrontImage.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"))
        }
    }

    /// Returns a color photo of stripes of a few kilobytes.
    private static func photo() -> [UInt8] {
        let components = (0..<3).map { index in
            TinyJPEG.Component(identifier: UInt8(index + 1)) { x, y in (x * (7 + index) + y * (11 - index) * x) % 256 }
        }
        return TinyJPEG(width: 160, height: 120, components: components).encoded()
    }
}
