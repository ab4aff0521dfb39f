import TestSupport
import Testing
import Waybill

/// Sends the same form with `curl -F` and with Waybill.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct CurlComparisonTests {
    @Test func `for ordinary names the bytes match curl except for the boundary`() async throws {
        let folder = try TemporaryDirectory()
        let front = try folder.write("front.jpg", (0..<5_000).map { UInt8(truncatingIfNeeded: $0) })
        let note = try folder.write("note.txt", "line\nline\r\n")
        let server = try LoopbackServer()
        let form: MultipartForm = [
            .text("TOKEN", "abc def"), .text("BUSINESSNO", "号码"), .file("FILE", path: front),
            .file("FILE", path: front, fileName: "身份证 正面.jpg", contentType: "image/pjpeg"), .file("note", path: note),
            .text("last", ""),
        ]
        _ = try await UploadSession().upload(form, to: server.url("/ours"))
        let curl = try await ChildProcess.run(
            "curl",
            [
                "-sS", "-F", "TOKEN=abc def", "-F", "BUSINESSNO=号码", "-F", "FILE=@\(front)",
                "-F", "FILE=@\(front);filename=身份证 正面.jpg;type=image/pjpeg", "-F", "note=@\(note)", "-F", "last=",
                server.url("/curl"),
            ])
        #expect(curl.exit == .status(0), "\(curl.errorText)")

        let ours = try #require(server.requests.first { $0.path == "/ours" })
        let theirs = try #require(server.requests.first { $0.path == "/curl" })
        #expect(try Received.normalizingBoundary(ours) == Received.normalizingBoundary(theirs))
        #expect(try Received.parts(of: ours) == Received.parts(of: theirs))
    }

    @Test func `hostile names are escaped as by curl`() async throws {
        let server = try LoopbackServer()
        let name = #"a"b\c;d%41"#
        let form: MultipartForm = [.data(name, [1], fileName: name, contentType: "image/png")]
        _ = try await UploadSession().upload(form, to: server.url("/ours"))
        let folder = try TemporaryDirectory()
        let file = try folder.write("x", [1])
        // In curl's -F, quotes and backslashes inside a quoted value are escaped with a backslash.
        let quoted = #""a\"b\\c;d%41""#
        let curl = try await ChildProcess.run(
            "curl", ["-sS", "-F", "\(name)=@\(file);filename=\(quoted);type=image/png", server.url("/curl")])
        #expect(curl.exit == .status(0), "\(curl.errorText)")
        let ours = try #require(server.requests.first { $0.path == "/ours" })
        let theirs = try #require(server.requests.first { $0.path == "/curl" })
        #expect(try Received.normalizingBoundary(ours) == Received.normalizingBoundary(theirs))
    }
}
