import TestSupport
import Testing
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `Bodies with a checksum` {
    private let bytes: [UInt8] = {
        var random = SeededGenerator(seed: 5)
        return random.bytes(200_000)
    }()

    @Test func `the checksum is that of the bytes read, in each attempt`() async throws {
        let directory = try TemporaryDirectory()
        let body = ChecksummedBody(try FileBody(path: directory.write("file", bytes)))
        #expect(body.whole == nil)
        for _ in 0..<2 {
            #expect(try await collect(body) == bytes)
            let whole = try #require(body.whole)
            #expect(whole.checksum == CRC(.ecma, of: bytes).value)
            #expect(whole.count == 200_000)
        }
    }

    @Test func `an unfinished read has no checksum`() async throws {
        let body = ChecksummedBody(DataBody(bytes), .crc32)
        _ = try await collect(body)
        #expect(body.whole?.checksum == UInt64(CRC(.zlib, of: bytes).value))
        let reader = try body.makeReader {}
        #expect(body.whole == nil)
        var room = [UInt8](repeating: 0, count: 10)
        let answer = try unsafe room.withUnsafeMutableBytes { buffer in
            var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            return try reader.read(into: &output)
        }
        #expect(answer == .bytes(10))
        #expect(body.whole == nil)
        reader.close()
    }

    @Test(arguments: [0..<0, 0..<1, 0..<200_000, 65_530..<65_540, 199_999..<200_000, 1..<131_073] as [Range<Int64>])
    func `the checksum of a range covers only its bytes`(_ range: Range<Int64>) async throws {
        let body = ChecksummedBody(DataBody(bytes), of: range)
        _ = try await collect(body)
        #expect(body.whole?.checksum == CRC(.ecma, of: bytes[Int(range.lowerBound)..<Int(range.upperBound)]).value)
        #expect(body.whole?.count == 200_000)
        #expect(body.rangeLength == range.upperBound - range.lowerBound)
    }

    @Test func `an empty body has a checksum without reading`() {
        let body = ChecksummedBody(DataBody([]))
        #expect(body.whole?.checksum == 0)
        #expect(body.whole?.count == 0)
    }

    @Test func `length, replayability and content type are those of the wrapped body`() async throws {
        let chunks = AsyncStream<[UInt8]> { $0.finish() }
        let body = ChecksummedBody(SequenceBody(chunks, length: nil, contentType: "audio/ogg"))
        #expect(body.length == nil)
        #expect(!body.isReplayable)
        #expect(body.contentType == "audio/ogg")
    }

    private func collect(_ body: some UploadBody) async throws -> [UInt8] {
        var all: [UInt8] = []
        try await body.read { all += $0 }
        return all
    }
}

@Suite struct `Progress over a whole object` {
    @Test func `the count never decreases and never exceeds the object`() {
        var random = SeededGenerator()
        for _ in 0..<300 {
            var counter = ByteCounter()
            counter.total = 1_000
            var last: Int64 = 0
            let ids = (0..<4).map { UploadID(rawValue: $0) }
            for _ in 0..<60 {
                let id = ids.randomElement(using: &random)!
                switch Int.random(in: 0...4, using: &random) {
                case 0: counter.end(id, keeping: nil)
                case 1: counter.end(id, keeping: .random(in: 0...250, using: &random))
                case 2: counter.forget()
                default: counter.move(id, bytes: .random(in: 0...250, using: &random), rate: 1)
                }
                #expect(counter.acknowledged >= last, "seed \(random.seed)")
                #expect(counter.acknowledged <= 1_000)
                last = counter.acknowledged
            }
        }
    }
}
