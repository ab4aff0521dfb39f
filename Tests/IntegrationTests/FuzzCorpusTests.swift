import Foundation
import TestSupport
import Testing
import Waybill

/// The kept inputs of the fuzzers, replayed without one. The first byte of a file is the fuzzer's choice of how the rest
/// is used; see `Fuzz/Sources`.
struct FuzzCorpusTests {
    @Test(arguments: try corpus("Form"))
    func `a kept form gives the same parts however it is cut`(name: String, input: [UInt8]) throws {
        let body = Array(input.dropFirst())
        let whole = parse(body, piece: max(1, body.count))
        for piece in [1, 2, 3, 7, Int(input.first ?? 0) % 37 + 1] {
            #expect(parse(body, piece: piece) == whole, "\(name) in pieces of \(piece)")
        }
    }

    @Test(arguments: try corpus("Image"))
    func `a kept picture fits its limit or is refused`(name: String, input: [UInt8]) async throws {
        let options = JPEGOptions(maxBytes: .bytes(4_000), maxPixels: 10_000, mode: .draft)
        do throws(JPEGError) {
            let result = try await JPEGRecompressor(options).recompress(Array(input.dropFirst()))
            #expect(result.bytes.count <= 4_000, "\(name)")
        } catch {
            #expect(!error.message.isEmpty, "\(name)")
        }
    }

    private static func corpus(_ name: String) throws -> [(String, [UInt8])] {
        let folder = ProjectRoot.file("Fuzz/Corpus/\(name)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        precondition(!names.isEmpty, "\(folder) is empty")
        return try names.map { ($0, try readFile("\(folder)/\($0)")) }
    }

    private func parse(_ body: [UInt8], piece: Int) -> Seen {
        var seen = Seen()
        do {
            var parser = MultipartParser(boundary: try MultipartBoundary("B"))
            for start in stride(from: 0, to: body.count, by: piece) {
                try parser.feed(body.span.extracting(start..<min(body.count, start + piece)), to: &seen)
            }
            try parser.finish()
        } catch {
            seen.error = (error as? BodyError)?.code
            #expect(seen.error != nil, "\(error)")
        }
        return seen
    }

    private struct Seen: MultipartHandler, Equatable {
        var heads: [MultipartPartHead] = []
        var data: [[UInt8]] = []
        var ended = 0
        var error: BodyError.Code?

        mutating func partBegan(_ head: MultipartPartHead) {
            heads.append(head)
            data.append([])
        }
        mutating func partData(_ bytes: Span<UInt8>) {
            for index in bytes.indices { data[data.count - 1].append(bytes[index]) }
        }
        mutating func partEnded() { ended += 1 }
    }
}
