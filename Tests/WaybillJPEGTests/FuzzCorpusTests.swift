import Foundation
import TestSupport
import Testing
import WaybillCore
import WaybillJPEG

/// Replays the stored corpus of the image fuzzer. The first byte of a file selects the options; see
/// `Fuzz/Sources/FuzzImage`.
struct FuzzCorpusTests {
    @Test(arguments: try corpus("image"))
    func `a corpus image fits its limit or is refused`(name: String, input: [UInt8]) async throws {
        let limit = 4_000
        let options = JPEGOptions(maxBytes: .bytes(Int64(limit)), maxPixels: 10_000, mode: .draft)
        do throws(JPEGError) {
            let result = try await JPEGRecompressor(options).recompress(Array(input.dropFirst()))
            #expect(result.bytes.count <= limit, "\(name)")
        } catch {
            #expect(!error.message.isEmpty, "\(name)")
        }
    }

    @Test(arguments: try corpus("markers"))
    func `a corpus header is parsed or refused`(name: String, input: [UInt8]) {
        do throws(JPEGError) {
            let header = try JPEGHeader(parsing: input)
            #expect((0...input.count).contains(header.scanOffset) && (1...8).contains(header.orientation), "\(name)")
        } catch {
            #expect(!error.message.isEmpty, "\(name)")
        }
    }

    private static func corpus(_ kind: String) throws -> [(String, [UInt8])] {
        let folder = ProjectRoot.file("Fuzz/Corpus/\(kind)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        precondition(!names.isEmpty, "\(folder) is empty")
        return try names.map { ($0, try readFile("\(folder)/\($0)")) }
    }
}
