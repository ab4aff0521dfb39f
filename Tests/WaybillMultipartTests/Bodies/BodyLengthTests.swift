import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite struct BodyLengthTests {
    @Test func `random forms have the promised length at every buffer size and through the pool`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("BodyLengthTests seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let directory = try TemporaryDirectory()
        for round in 0..<12 {
            let form = try randomForm(round, directory, &generator)
            var body = try await form.prepared()
            let bytes = try await allBytes(of: body)
            #expect(Int64(bytes.count) == body.contentLength, "seed \(seed)")
            for room in [bytes.count < 3_000 ? 1 : 5, 7, 65_536] {
                #expect(try await allBytes(of: body, room: room) == bytes, "seed \(seed), room \(room)")
            }
            body.disk.allowsNonblocking = false
            for room in [7, 1_000_000] {
                #expect(try await allBytes(of: body, room: room) == bytes, "seed \(seed), pool, room \(room)")
            }
            let length = try #require(body.contentLength)
            #expect(body.parts.allSatisfy { $0.range.upperBound <= length })
        }
    }

    private func randomForm(
        _ round: Int, _ directory: TemporaryDirectory, _ generator: inout SeededGenerator
    ) throws -> MultipartForm {
        var form = MultipartForm()
        for index in 0..<Int.random(in: 0...6, using: &generator) {
            let name = ["a", "身份证", "q\"\n;x", "🙂"].randomElement(using: &generator)!
            let size = [0, 1, 2, 100, 4_095, 4_096, 4_097, 9_000].randomElement(using: &generator)!
            let bytes = generator.bytes(size)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: form.append(.text(name, String(repeating: "x\n", count: size / 2)))
            case 1: form.append(.data(name, bytes, fileName: "f\(index).bin"))
            default: form.append(.file(name, path: try directory.file("\(round)-\(index)", bytes)))
            }
        }
        return form
    }

    @Test func `every reader of a body returns the same bytes`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a.jpg", pattern(150_000))
        let body = try await MultipartForm([.text("t", "v"), .file("f", path: path)]).prepared()
        let first = try await allBytes(of: body)
        #expect(try await allBytes(of: body) == first)
        async let left = allBytes(of: body, room: 1_000)
        async let right = allBytes(of: body, room: 70_000)
        #expect(try await left == first)
        #expect(try await right == first)
    }

    @Test func `header, a small file and the closing line are returned by one read`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a.jpg", pattern(10_000))
        let body = try await MultipartForm([.text("t", "v"), .file("f", path: path)]).prepared()
        let pull = try BodyPull(body)
        let first = try await pull.next(room: 65_536)
        // A read that waits for the disk is split into more reads with the same bytes.
        if pull.waits == 0 { #expect(first.map { Int64($0.count) } == body.contentLength) }
        #expect(Int64(try await pull.rest(room: 65_536).count) == body.contentLength)
    }

    @Test func `data and file bodies return their bytes and know their type`() async throws {
        let directory = try TemporaryDirectory()
        let bytes = pattern(100_000)
        let path = try directory.file("scan.pdf", bytes)
        let file = try FileBody(path: path)
        #expect(file.length == 100_000 && file.contentType == "application/pdf" && file.isReplayable)
        let data = DataBody(bytes, contentType: "x/y")
        #expect(data.length == 100_000 && data.contentType == "x/y" && data.parts.isEmpty)
        for room in [1_000, 65_536, 1_000_000] {
            #expect(try await allBytes(of: file, room: room) == bytes)
            #expect(try await allBytes(of: data, room: room) == bytes)
        }
        #expect(try await allBytes(of: DataBody([])) == [])
        #expect(try await allBytes(of: FileBody(path: try directory.file("empty", []))) == [])
        #expect(throws: BodyError.self) { try FileBody(path: path, contentType: "a\r\nb") }
    }
}

/// Lengths near the limit of Int64. None of these streams is ever read.
extension BodyLengthTests {
    private func stream(_ length: Int64) -> MultipartPart {
        .stream("s", AsyncStream<[UInt8]> { $0.finish() }, length: length, fileName: "s.bin")
    }

    /// Returns a file as found on file systems that support such lengths. Only the length is used.
    private func file(_ size: Int64) -> ReadyContent {
        .file(FileSlice(SourceFile(descriptor: FileDescriptor(owning: -1), size: size, at: nil)))
    }

    @Test(arguments: [[.max], [.max / 2 + 1, .max / 2 + 1], [.max - 120], [0, .max, .max]] as [[Int64]])
    func `a form longer than Int64 can represent is refused when prepared and when checked`(
        lengths: [Int64]
    ) async throws {
        let form = MultipartForm(lengths.map(stream))
        #expect(await BodyError.Code.thrown { _ = try await form.prepared() } == .formTooLarge)
        guard lengths.count > 1 else { return }
        let limits = FormLimits(maxParts: 10)
        #expect(await BodyError.Code.thrown { try await form.check(against: limits) } == .formTooLarge)
    }

    @Test func `a length that Int64 can just represent is exact`() async throws {
        let boundary = try MultipartBoundary("golden")
        let around = try #require(try await MultipartForm([stream(0)]).prepared(boundary: boundary).contentLength)
        let body = try await MultipartForm([stream(.max - around)]).prepared(boundary: boundary)
        #expect(body.contentLength == .max)
        #expect(body.preview().contains("<\(Int64.max - around) bytes>"))
        let code = await BodyError.Code.thrown {
            _ = try await MultipartForm([stream(.max - around + 1)]).prepared(boundary: boundary)
        }
        #expect(code == .formTooLarge)
    }

    @Test func `two sparse files whose sum exceeds Int64 are refused`() throws {
        var builder = BodyBuilder(boundary: try MultipartBoundary("golden"), compatibility: .standard)
        try builder.append(
            .text("a", ""), contentType: nil, content: file(.max - 4_096), at: PartLocation(index: 0, name: "a"))
        let error = #expect(throws: BodyError.self) {
            try builder.append(
                .text("b", ""), contentType: nil, content: file(.max - 4_096), at: PartLocation(index: 1, name: "b"))
        }
        #expect(error?.code == .formTooLarge)
    }
}
