import Foundation
import TestSupport
import Testing

/// What a package fetches that depends on this one.
@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct LeanPackageTests {
    @Test(arguments: [
        ("Waybill", "[]", ["swift-http-types", "swift-log"]),
        ("WaybillStores", "[\"Stores\"]", ["swift-asn1", "swift-crypto", "swift-http-types", "swift-log"]),
        ("WaybillOutbox", "[\"Outbox\"]", ["grdb.swift", "swift-http-types", "swift-log"]),
    ])
    func `a package fetches what the products it uses need, and no more`(
        _ product: String, _ traits: String, _ expected: [String]
    ) async throws {
        let folder = try TemporaryDirectory()
        let guest = try GuestPackage(
            at: folder.path("guest"), manifest: GuestPackage.manifest(product: product, traits: traits))
        #expect(try await guest.resolved() == expected)
    }

    @Test func `the manifest of the tutorial is one`() async throws {
        let file = ProjectRoot.file("Sources/Waybill/Waybill.docc/Tutorials/Code/Package.swift")
        let shown = try String(contentsOfFile: file, encoding: .utf8)
        let manifest = shown.replacing(
            #".package(url: "<where you got this>/waybill", branch: "main", "#,
            with: #".package(name: "waybill", path: "\#(ProjectRoot.path)", "#)
        #expect(manifest != shown)
        let folder = try TemporaryDirectory()
        let guest = try GuestPackage(at: folder.path("Kiosk"), manifest: manifest)
        #expect(try await guest.resolved() == ["grdb.swift", "swift-http-types", "swift-log"])
    }
}

/// What the first screen of README.md promises, done by a stranger: a new package, the lines as they stand, a file posted.
@Suite(.timeLimit(.minutes(15 * Slowness.factor))) struct FirstMinuteTests {
    @Test func `the lines of the README build in a new package and post a photo`() async throws {
        // Where it stays from run to run: what has not changed is not built again.
        let guest = try GuestPackage(
            at: ProjectRoot.file(".build/guests/readme"),
            manifest: GuestPackage.manifest(product: "Waybill", traits: "[]"), main: try Self.program())
        let fetched = try await guest.resolved()
        #expect(fetched == ["swift-http-types", "swift-log"])
        for package in ["grdb.swift", "swift-crypto", "swift-argument-parser"] { #expect(!fetched.contains(package)) }

        let program = try await guest.built()
        let server = try LoopbackServer(otherwise: .respond(200, body: "stored"))
        let folder = try TemporaryDirectory()
        try folder.write("front.jpg", Self.photo())
        // For `Scripts/sample-commands`, which has the program post it to the sample Receiver.
        try Data(Self.photo()).write(to: URL(filePath: "\(guest.path)/front.jpg"))
        let run = try await ChildProcess.run(program, [server.url("/upload")], directory: folder.path)
        #expect(run.exit == .status(0), "\(run.errorText)")
        // A server that answers at once may leave no time for a phase in between to be shown; the end always is.
        #expect(run.text.contains("succeeded"))

        let request = try #require(server.requests.first)
        let body = String(decoding: request.body, as: UTF8.self)
        #expect(server.requests.count == 1 && request.isComplete)
        #expect(body.contains("name=\"TOKEN\"\r\n\r\nspecimen-token\r\n"))
        #expect(body.contains("name=\"FILE\"; filename=\"IDFrontImage.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"))
        #expect(request.body.count <= 102_400 + 1_024)
        #expect(!run.text.contains("specimen-token"))
    }

    /// The first block of Swift in README.md. What it takes for granted comes before, and the address is that of a server here.
    private static func program() throws -> String {
        let readme = try String(contentsOfFile: ProjectRoot.file("README.md"), encoding: .utf8)
        let block = try #require(readme.firstMatch(of: /```swift\n((?s:.*?))```/)).1
        let address = "\"https://backend.example/upload\""
        #expect(block.contains("import Waybill\n"))
        #expect(block.contains(address))
        return "let token = \"specimen-token\"\n" + block.replacing(address, with: "CommandLine.arguments[1]")
    }

    private static func photo() -> [UInt8] {
        let grey = TinyJPEG.Component(identifier: 1) { x, y in (x * 7 + y * 11) % 256 }
        return TinyJPEG(width: 160, height: 120, components: [grey]).encoded()
    }
}
