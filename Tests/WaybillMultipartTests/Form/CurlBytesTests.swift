import TestSupport
import Foundation
import Testing
import WaybillMultipart

private let curl = "/usr/bin/curl"

@Suite(
    .timeLimit(.minutes(Slowness.factor)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: curl), "no curl here"))
struct CurlBytesTests {
    /// Returns the body that curl sends for these arguments, and its boundary.
    func sentByCurl(_ arguments: [String]) async throws -> (body: [UInt8], boundary: String) {
        let sink = try RawSink()
        let process = Process()
        process.executableURL = URL(filePath: curl)
        process.arguments =
            ["-q", "-sS", "--noproxy", "*", "-H", "Expect:"] + arguments + ["http://127.0.0.1:\(sink.port)/"]
        try process.run()
        let (head, body) = try await sink.request()
        process.waitUntilExit()
        let type = try #require(RawSink.value(of: "content-type", in: head))
        return (body, String(try #require(type.split(separator: "boundary=").last)))
    }

    @Test func `for ordinary names the bytes match curl`() async throws {
        let directory = try TemporaryDirectory()
        let card = try directory.file("front.jpg", pattern(50_000))
        let note = try directory.file("note.txt", Array("a\nb\r\n".utf8))
        let odd = try directory.file("odd.xyz", [])
        let (body, boundary) = try await sentByCurl([
            "-F", "TOKEN=abc", "-F", "DOCTYPE=身份证", "-F", "FILE=@\(card)", "-F", "FILE=@\(note)", "-F", "X=@\(odd)",
            "-F", "B=@\(card);type=image/x-card;filename=身份证正面.jpg", "-F", "C=@\(card);filename=\"a;b\\\"c%\"",
            "-F", "empty=",
        ])
        let form: MultipartForm = [
            .text("TOKEN", "abc"), .text("DOCTYPE", "身份证"), .file("FILE", path: card), .file("FILE", path: note),
            .file("X", path: odd), .file("B", path: card, fileName: "身份证正面.jpg", contentType: "image/x-card"),
            .file("C", path: card, fileName: "a;b\"c%"), .text("empty", ""),
        ]
        let ours = try await form.prepared(boundary: MultipartBoundary(boundary))
        #expect(String(decoding: try await allBytes(of: ours), as: UTF8.self) == String(decoding: body, as: UTF8.self))
        #expect(try await allBytes(of: ours) == body)
        #expect(ours.contentLength == Int64(body.count))
    }

    @Test func `the body of curl is parsed into the same parts`() async throws {
        let directory = try TemporaryDirectory()
        let card = try directory.file("front.jpg", pattern(50_000))
        let (body, boundary) = try await sentByCurl(["-F", "a=1", "-F", "f=@\(card);filename=\"身\\\"份;证\""])
        let record = ParserRecord(body, cutAt: [7, 40_000], boundary: boundary, limits: MultipartLimits())
        #expect(record.errorCode == nil)
        #expect(record.parts.map(\.head.name) == ["a", "f"])
        #expect(record.parts.map(\.head.fileName) == [nil, "身\"份;证"])
        #expect(record.parts.map(\.bytes) == [Array("1".utf8), pattern(50_000)])
    }
}
