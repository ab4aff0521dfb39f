import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

/// Ranges of bodies, as resumable uploads send them.
@Suite struct RangeTests {
    private let directory: TestSupport.TemporaryDirectory

    init() throws {
        directory = try TestSupport.TemporaryDirectory()
    }

    private var form: MultipartForm {
        get throws {
            let first = try directory.write("a.bin", Array(0..<40))
            let second = try directory.write("b.bin", Array(100..<103))
            return [
                .text("t", "x"), .file("f", path: first), .data("d", Array(repeating: 9, count: 5)),
                .file("g", path: second),
            ]
        }
    }

    /// Checks every range of a body against the bytes of the whole.
    private func check(_ body: any UploadBody, step: Int = 1) async throws {
        let length = try #require(body.length)
        let whole = try await allBytes(of: RangeBody(body, range: 0..<length))
        #expect(whole.count == Int(length))
        for lower in stride(from: 0, through: whole.count, by: step) {
            for upper in stride(from: lower, through: whole.count, by: step) {
                let part = RangeBody(body, range: Int64(lower)..<Int64(upper))
                let bytes = try await allBytes(of: part, room: 1 + (lower + upper) % 9)
                guard bytes == Array(whole[lower..<upper]) else {
                    Issue.record("\(lower)..<\(upper)")
                    return
                }
            }
        }
    }

    @Test func `every range of a form equals that of its bytes`() async throws {
        try await check(form.prepared(boundary: MultipartBoundary("boundary-of-a-test")), step: 3)
    }

    @Test func `every range of a file equals that of its bytes`() async throws {
        try await check(FileBody(path: directory.write("a.bin", Array(0..<60))))
    }

    @Test func `every range of bytes equals that of the whole`() async throws {
        try await check(DataBody(Array(0..<60)))
    }

    @Test func `every range of a copied stream equals that of its bytes`() async throws {
        let chunks = AsyncStream<[UInt8]> { continuation in
            for start in stride(from: UInt8(0), to: 60, by: 7) { continuation.yield(Array(start..<min(start + 7, 60))) }
            continuation.finish()
        }
        try await check(SequenceBody(chunks, length: 60, replay: .fromCopy))
    }

    @Test func `every range of a custom body equals that of its bytes`() async throws {
        try await check(PlainBody(bytes: DataBody(Array(0..<60))))
    }

    @Test func `a range before the end is not sent if its file has changed`() async throws {
        let path = try directory.write("a.bin", Array(0..<60))
        let body = try FileBody(path: path)
        _ = try directory.write("a.bin", Array(1..<61))
        await #expect(throws: BodyError.self) { try await allBytes(of: RangeBody(body, range: 0..<10)) }
    }

    @Test func `the last range of a form is not sent if an earlier file has changed`() async throws {
        let body = try await form.prepared()
        _ = try directory.write("a.bin", Array(1..<41))
        let length = try #require(body.length)
        await #expect(throws: BodyError.self) {
            try await allBytes(of: RangeBody(body, range: length - 2..<length))
        }
    }

    @Test func `the boundary of a form can be replaced without another change`() async throws {
        let form = try form
        let (one, other) = (try await form.prepared(), try await form.prepared())
        #expect(one.fingerprint == other.fingerprint)
        let changed = try #require(one.replacingBoundary(with: other.boundary.description))
        #expect(changed.contentType == other.contentType)
        let bytes = try await allBytes(of: changed)
        #expect(try await bytes == allBytes(of: other))
        #expect(one.replacingBoundary(with: "short") == nil)
    }

    @Test func `another field, file or order is another fingerprint`() async throws {
        let path = try directory.write("a.bin", [1])
        let forms: [MultipartForm] = [
            [.text("a", "1")], [.text("a", "2")], [.text("b", "1")], [.text("a", "1"), .text("a", "2")],
            [.text("a", "2"), .text("a", "1")], [.file("a", path: path)], [.data("a", [1], fileName: "a.bin")],
        ]
        var fingerprints: Set<BodyFingerprint> = []
        for form in forms {
            let body = try await form.prepared()
            fingerprints.insert(try #require(body.fingerprint))
        }
        #expect(fingerprints.count == forms.count)
    }
}

/// A body without an own implementation of ranges.
private struct PlainBody: UploadBody {
    let bytes: DataBody
    var length: Int64? { bytes.length }
    var isReplayable: Bool { true }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader { try bytes.makeReader(wake: wake) }
}
