import Glibc
import TestSupport
import Testing

/// The tutorial ends with a promise; here it is kept, by the very program that it shows.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct TutorialTests {
    private let program = "\(ProjectRoot.products)/TutorialProgram"

    @Test func `the card of the tutorial arrives though the program is killed half way`() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("front.jpg", Self.photo())
        let server = try LoopbackServer(.stall(afterBodyBytes: 2_000), otherwise: .respond(200, body: "stored"))

        let first = try ChildProcess(program, [server.url("/upload"), "front.jpg"], directory: folder.path)
        try await server.waitUntil { $0.requests.first.map { $0.bodyBytesRead >= 2_000 } ?? false }
        first.signal(SIGKILL)
        #expect(try await first.finish().exit == .signal(Int(SIGKILL)))

        let second = try await ChildProcess.run(program, [], directory: folder.path)
        #expect(second.exit == .status(0), "\(second.errorText)")
        #expect(second.text == "item 1 delivered: stored\n")
        // Acknowledged is acknowledged: a third run has nothing to say.
        #expect(try await ChildProcess.run(program, [], directory: folder.path).text == "")

        let requests = server.requests
        #expect(requests.count == 2)
        #expect(requests.map(\.isComplete) == [false, true])
        let whole = try #require(requests.last)
        #expect(whole.body.starts(with: requests[0].body.prefix(2_000)))
        #expect(String(decoding: whole.body, as: UTF8.self).contains("specimen-token"))
    }

    /// A colourful photograph of stripes, a few kilobytes.
    private static func photo() -> [UInt8] {
        let components = (0..<3).map { index in
            TinyJPEG.Component(identifier: UInt8(index + 1)) { x, y in (x * (7 + index) + y * (11 - index) * x) % 256 }
        }
        return TinyJPEG(width: 160, height: 120, components: components).encoded()
    }
}
