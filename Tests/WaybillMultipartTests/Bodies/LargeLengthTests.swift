import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

/// Lengths around the limits of 32 bits. The files are sparse, so they use no space. Reading all of one takes seconds on an
/// idle machine, and minutes on one whose memory and disk are busy.
@Suite(.timeLimit(.minutes(10 * Slowness.factor)))
struct LargeLengthTests {
    private static let fourGibibytes = 4 << 30

    @Test(arguments: [2 << 30, 4 << 30, 8 << 30, 1 << 40], [-1, 0, 1])
    func `a length beyond 32 bits is exact`(size: Int, more: Int) async throws {
        let folder = try TestSupport.TemporaryDirectory.forSparseFiles()
        let path = try folder.writeSparse("large.bin", size: size + more)
        let body = try await MultipartForm([.file("F", path: path), .text("T", "v")])
            .prepared(boundary: MultipartBoundary("golden"))
        let around =
            "--golden\r\nContent-Disposition: form-data; name=\"F\"; filename=\"large.bin\"\r\n"
            + "Content-Type: application/octet-stream\r\n\r\n"
            + "\r\n--golden\r\nContent-Disposition: form-data; name=\"T\"\r\n\r\nv\r\n--golden--\r\n"
        #expect(body.contentLength == Int64(size + more + around.utf8.count))
        #expect(body.parts[0].range.count == size + more)
        #expect(try FileBody(path: path).length == Int64(size + more))
    }

    /// Reads every byte. The bytes are counted, and compared where they are known: at both ends and at the marks.
    @Test func `a form of more than 4 GiB has the promised length`() async throws {
        let folder = try TestSupport.TemporaryDirectory.forSparseFiles()
        let mark = Array("here".utf8)
        let path = try folder.writeSparse("large.bin", size: Self.fourGibibytes + 5)
        try folder.overwrite("large.bin", at: Self.fourGibibytes - 2, mark)
        let small = try folder.write("small.bin", mark)
        let body = try await MultipartForm([.text("T", "v"), .file("F", path: path), .file("G", path: small)])
            .prepared(boundary: MultipartBoundary("golden"))
        let length = try #require(body.length)
        let seen = try await ByteCounter.count(
            body,
            keeping: [
                0..<20, body.parts[1].range.upperBound - 7..<body.parts[1].range.upperBound, body.parts[2].range,
                length - 12..<length,
            ])
        #expect(seen.count == length)
        #expect(seen.kept[0] == Array("--golden\r\nContent-Di".utf8))
        #expect(seen.kept[1] == mark + [0, 0, 0])
        #expect(seen.kept[2] == mark)
        #expect(seen.kept[3] == Array("--golden--\r\n".utf8))
    }

    @Test func `forms at the limit of 32 bits have the promised length`() async throws {
        var random = TestSupport.SeededGenerator()
        let folder = try TestSupport.TemporaryDirectory()
        // The same file many times: its pages stay in memory, close to the processor.
        let size = 16 << 20
        let path = try folder.writeSparse("piece.bin", size: size)
        for total in [Self.fourGibibytes - 1, Self.fourGibibytes, Self.fourGibibytes + 1] {
            var form = MultipartForm((0..<255).map { .file("F\($0)", path: path) })
            form.append(.text("T", ""))
            let before = try #require(try await form.prepared(boundary: MultipartBoundary("golden")).length)
            let last = try folder.writeSparse("last-\(total).bin", size: total - Int(before) - Self.lastHeader)
            form.parts.insert(.file("L", path: last, fileName: "l"), at: .random(in: 0...255, using: &random))
            let body = try await form.prepared(boundary: MultipartBoundary("golden"))
            #expect(body.contentLength == Int64(total))
            #expect(try await ByteCounter.count(body, keeping: []).count == Int64(total), "seed \(random.seed)")
        }
    }

    private static let lastHeader =
        ("--golden\r\nContent-Disposition: form-data; name=\"L\"; filename=\"l\"\r\n"
        + "Content-Type: application/octet-stream\r\n\r\n\r\n").utf8.count

    @Test(.timeLimit(.minutes(Slowness.factor)))
    func `random forms have the promised length`() async throws {
        var random = TestSupport.SeededGenerator()
        let folder = try TestSupport.TemporaryDirectory()
        for round in 0..<60 {
            let form = try RandomForm.make(round, in: folder, &random)
            let body = try await form.prepared()
            let room = [1, 13, 4_096, 65_536, 1 << 20].randomElement(using: &random)!
            let length = try #require(body.length)
            let seen = try await ByteCounter.count(body, keeping: [], room: length > 50_000 ? 65_536 : room)
            #expect(seen.count == length, "seed \(random.seed), round \(round)")
        }
    }
}

/// Forms of random parts whose files have any size and no data.
private enum RandomForm {
    static func make(
        _ round: Int, in folder: TestSupport.TemporaryDirectory, _ random: inout TestSupport.SeededGenerator
    ) throws -> MultipartForm {
        var form = MultipartForm()
        for index in 0..<Int.random(in: 0...8, using: &random) {
            let name = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                ["a", "\"", "\r", "\n", "\\", "身", "🙂", "e\u{301}", "%22", ";", " "].randomElement(using: &random)!
            }.joined()
            let size = Int.random(in: 0...(1 << Int.random(in: 0...20, using: &random)), using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: form.append(.text(name, String(repeating: "\n", count: size % 5_000)))
            case 1: form.append(.data(name, [UInt8](repeating: 13, count: size % 5_000), fileName: name))
            case 2: form.append(.json(name, [name: size]))
            default:
                let path = try folder.writeSparse("\(round)-\(index)", size: size)
                form.append(.file(name, path: path, fileName: index.isMultiple(of: 2) ? name : nil))
            }
        }
        return form
    }
}

/// Reads a body in large pieces and keeps only the requested ranges.
private enum ByteCounter {
    struct CountedBytes {
        var count: Int64 = 0
        var kept: [[UInt8]]
    }

    static func count(_ body: some UploadBody, keeping ranges: [Range<Int64>], room: Int = 4 << 20) async throws
        -> CountedBytes
    {
        let signal = WakeSignal()
        let reader = try body.makeReader { signal.wake() }
        defer { reader.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 16)
        defer { unsafe buffer.deallocate() }
        var seen = CountedBytes(kept: ranges.map { _ in [] })
        while true {
            var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            let answer = try reader.read(into: &output)
            let count = unsafe output.finalize(for: buffer)
            switch answer {
            case .end: return seen
            case .later: await signal.wait()
            case .bytes(let said):
                #expect(said == count)
                let piece = seen.count..<seen.count + Int64(count)
                for (index, range) in ranges.enumerated() where range.overlaps(piece) {
                    let part = range.clamped(to: piece)
                    let start = Int(part.lowerBound - piece.lowerBound)
                    unsafe seen.kept[index] += buffer[start..<start + part.count]
                }
                seen.count += Int64(count)
            }
        }
    }
}
