import TestSupport
import Glibc
import Testing
import WaybillCore

@testable import WaybillMultipart

/// Ranges of a file as separate bodies.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct FileRangeTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let bytes = pattern(300_000)

    init() throws {
        directory = try TemporaryDirectory()
        path = try directory.file("film", bytes)
    }

    @Test(
        arguments: [false, true], [0..<0, 0..<1, 0..<300_000, 100_000..<200_000, 299_999..<300_000] as [Range<Int64>])
    func `a range returns its bytes and no others`(throughPool: Bool, range: Range<Int64>) async throws {
        let source = try SourceFile(inspecting: path, at: nil)
        var body = try FileBody(range: range, of: source)
        body.disk.allowsNonblocking = !throughPool
        #expect(body.length == range.upperBound - range.lowerBound)
        let expected = Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        for room in [1_000, 65_536, 400_000] {
            #expect(try await BodyPull(body).rest(room: room) == expected)
        }
    }

    @Test(arguments: [0..<300_001, -1..<5, 300_000..<300_002] as [Range<Int64>])
    func `a range beyond the file is refused`(range: Range<Int64>) throws {
        let source = try SourceFile(inspecting: path, at: nil)
        let error = try #require(throws: BodyError.self) { try FileBody(range: range, of: source) }
        #expect(error.code == .invalidRange)
    }

    @Test(arguments: [false, true])
    func `a file changed between two ranges is detected by the second`(throughPool: Bool) async throws {
        let source = try SourceFile(inspecting: path, at: nil)
        let first = try FileBody(range: 0..<100_000, of: source)
        #expect(try await BodyPull(first).rest(room: 65_536).count == 100_000)
        // The bytes of the second range are unchanged: only the metadata of the file reveals the change.
        try directory.append([1], to: path)
        var second = try FileBody(range: 100_000..<200_000, of: source)
        second.disk.allowsNonblocking = !throughPool
        let pull = try BodyPull(second)
        let error = try await #require(throws: BodyError.self) { _ = try await pull.rest(room: 65_536) }
        #expect(error.code == .sourceChanged)
        #expect(error.cause as? SourceChange == .grew)
    }

    @Test func `a file changed within a range never returns the last bytes of the range`() async throws {
        let source = try SourceFile(inspecting: path, at: nil)
        let pull = try BodyPull(FileBody(range: 100_000..<200_000, of: source))
        _ = try await pull.next(room: 1_000)
        try directory.append([1], to: path)
        let error = try await #require(throws: BodyError.self) { _ = try await pull.rest(room: 500_000) }
        #expect(error.code == .sourceChanged)
        #expect(pull.received.count < 100_000)
    }
}
