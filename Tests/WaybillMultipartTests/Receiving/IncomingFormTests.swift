import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct IncomingFormTests {
    static let type = "multipart/form-data; boundary=B"

    static func part(_ name: String, _ content: [UInt8], fileName: String? = nil) -> [UInt8] {
        let file = fileName.map { "; filename=\"\($0)\"" } ?? ""
        return Array("--B\r\nContent-Disposition: form-data; name=\"\(name)\"\(file)\r\n\r\n".utf8) + content
            + Array("\r\n".utf8)
    }

    static let end = Array("--B--\r\n".utf8)

    @Test(arguments: [1, 7, 1_000, 1_000_000])
    func `parts arrive in order with all their bytes, whatever the pieces`(piece: Int) async throws {
        let large = pattern(piece == 1 ? 2_000 : 200_000)
        let body = Self.part("a", [1]) + Self.part("f", large, fileName: "x") + Self.part("b", []) + Self.end
        let form = try IncomingForm(Pieces(body, of: piece), contentType: Self.type)
        var read: [(String, [UInt8])] = []
        for try await part in form {
            var content: [UInt8] = []
            for try await chunk in part.chunks {
                #expect(!chunk.isEmpty && chunk.count <= 32 * 1_024)
                content += chunk
            }
            read.append((part.name, content))
        }
        #expect(read.map(\.0) == ["a", "f", "b"])
        #expect(read.map(\.1) == [[1], large, []])
    }

    @Test func `the body is read on demand, not ahead`() async throws {
        let body = Self.part("f", pattern(1_000_000), fileName: "x") + Self.end
        let pieces = Pieces(body, of: 10_000)
        let form = try IncomingForm(pieces, contentType: Self.type)
        #expect(pieces.given == 0)
        var iterator = form.makeAsyncIterator()
        let part = try #require(try await iterator.next())
        #expect(pieces.given == 1)
        var chunks = part.chunks.makeAsyncIterator()
        var count = 0
        for _ in 0..<20 {
            count += try await chunks.next()?.count ?? 0
            #expect(pieces.given * 10_000 <= count + 20_000)
        }
    }

    @Test func `unread parts are skipped, as is the rest of a partly read one`() async throws {
        let body =
            Self.part("a", pattern(100_000), fileName: "x") + Self.part("b", pattern(100_000), fileName: "y")
            + Self.part("c", [3]) + Self.end
        let form = try IncomingForm(Pieces(body, of: 999), contentType: Self.type)
        var names: [String] = []
        for try await part in form {
            names.append(part.name)
            if part.name == "b" { for try await _ in part.chunks { break } }
            if part.name == "c" { #expect(try await part.bytes() == [3]) }
        }
        #expect(names == ["a", "b", "c"])
    }

    @Test func `skipped content counts towards every limit`() async throws {
        let large = [UInt8](repeating: 120, count: 2_000)
        var limits = MultipartLimits()
        limits.fieldBytes = .bytes(1_999)
        #expect(await code(of: Self.part("a", large) + Self.end, limits) == "fieldTooLarge")
        #expect(await code(of: Self.part("a", large, fileName: "x") + Self.end, limits) == nil)
        limits = MultipartLimits()
        limits.total = .bytes(2_050)
        #expect(await code(of: Self.part("a", large) + Self.end, limits) == "bodyTooLarge")
        limits = MultipartLimits()
        limits.parts = 1
        #expect(await code(of: Self.part("a", []) + Self.part("b", []) + Self.end, limits) == "tooManyParts")
        #expect(await code(of: Self.part("a", large), MultipartLimits()) == "truncatedBody")
    }

    private func code(of body: [UInt8], _ limits: MultipartLimits) async -> String? {
        do {
            for try await _ in try IncomingForm(Pieces(body, of: 700), contentType: Self.type, limits: limits) {}
            return nil
        } catch {
            return error.code.description
        }
    }

    @Test func `an error follows everything before it, and repeats`() async throws {
        let body = Self.part("a", [1]) + Array("--B\r\nno header\r\n\r\n".utf8)
        let form = try IncomingForm(Pieces(body, of: 100_000), contentType: Self.type)
        var iterator = form.makeAsyncIterator()
        let part = try #require(try await iterator.next())
        #expect(try await part.text() == "\u{1}")
        for _ in 0..<2 {
            let error = await #expect(throws: BodyError.self) { _ = try await iterator.next() }
            #expect(error?.code == .malformedHeader)
        }
    }

    @Test func `a failing body and a part already passed are errors`() async throws {
        struct Broken: Error {}
        let broken = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield(Self.part("a", [1, 2, 3], fileName: "x").dropLast(2))
            continuation.finish(throwing: Broken())
        }
        var iterator = try IncomingForm(broken, contentType: Self.type).makeAsyncIterator()
        let part = try #require(try await iterator.next())
        let error = await #expect(throws: BodyError.self) { _ = try await part.bytes() }
        #expect(error?.code == .streamFailed && error?.cause is Broken)

        let body = Self.part("a", [1]) + Self.part("b", [2]) + Self.end
        iterator = try IncomingForm(Pieces(body, of: 10), contentType: Self.type).makeAsyncIterator()
        let first = try #require(try await iterator.next())
        _ = try await iterator.next()
        let passed = await #expect(throws: BodyError.self) { _ = try await first.bytes() }
        #expect(passed?.code == .partPassed && passed?.part == "a")
    }

    @Test func `a field larger than requested is refused, one of exactly that size is not`() async throws {
        let body = Self.part("a", [1, 2, 3]) + Self.part("b", [1, 2, 3]) + Self.end
        var iterator = try IncomingForm(Pieces(body, of: 10), contentType: Self.type).makeAsyncIterator()
        #expect(try await iterator.next()?.bytes(atMost: .bytes(3)) == [1, 2, 3])
        let error = await #expect(throws: BodyError.self) {
            _ = try await iterator.next()?.bytes(atMost: .bytes(2))
        }
        #expect(error?.code == .fieldTooLarge)
    }

    @Test func `cancelling ends reading`() async throws {
        let endless = AsyncStream<[UInt8]> { continuation in
            continuation.yield(Self.part("a", [1], fileName: "x").dropLast(2))
        }
        let form = try IncomingForm(endless, contentType: Self.type)
        let task = Task { for try await part in form { for try await _ in part.chunks {} } }
        task.cancel()
        let error = await #expect(throws: BodyError.self) { try await task.value }
        // A stream ends when its reader is cancelled. Both errors are an end without a form.
        #expect(error?.code == .cancelled || error?.code == .truncatedBody)
    }

    @Test func `an invalid content type is refused immediately`() {
        #expect(throws: BodyError.self) { _ = try IncomingForm(Pieces([], of: 1), contentType: "text/plain") }
    }

    @Test func `a part can be forwarded as a part of another form`() async throws {
        let content = pattern(300_000)
        let body = Self.part("a", [1]) + Self.part("f", content, fileName: "x.bin") + Self.end
        var forwarded: [UInt8] = []
        for try await part in try IncomingForm(Pieces(body, of: 8_000), contentType: Self.type)
        where part.fileName != nil {
            var form: MultipartForm = [
                .stream("FILE", part.chunks, length: nil, fileName: part.fileName)
            ]
            form.unknownLength = .chunked
            let sent = try await form.prepared(boundary: MultipartBoundary("B"))
            for try await chunk in sent.chunks { forwarded += chunk }
        }
        let record = ParserRecord(forwarded, cutAt: [], boundary: "B", limits: .init())
        #expect(record.parts.map(\.bytes) == [content] && record.parts.first?.head.fileName == "x.bin")
    }

    @Test(arguments: [1, 100, 100_000])
    func `a handler is called for a whole body`(piece: Int) async throws {
        let body = Self.part("a", [1]) + Self.part("f", pattern(3_000), fileName: "x") + Self.end
        var record = ParserRecord([], cutAt: [], boundary: "B", limits: .init())
        try await MultipartParser.read(Pieces(body, of: piece), contentType: Self.type, to: &record)
        #expect(record.parts.map(\.bytes) == [[1], pattern(3_000)])
        await #expect(throws: BodyError.self) {
            try await MultipartParser.read(Pieces(body.dropLast(9), of: piece), contentType: Self.type, to: &record)
        }
    }
}

/// A body in pieces of constant size that counts the pieces it returned.
struct Pieces: AsyncSequence, Sendable {
    private let body: [UInt8]
    private let size: Int
    private let count = Counter()

    private final class Counter: Sendable {
        let value = Locked(0)
    }

    init(_ body: some Sequence<UInt8>, of size: Int) {
        self.body = Array(body)
        self.size = size
    }

    var given: Int { count.value.withLock { $0 } }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }

    struct Iterator: AsyncIteratorProtocol {
        let pieces: Pieces
        private var position = 0

        init(pieces: Pieces) { self.pieces = pieces }

        mutating func next() async -> ArraySlice<UInt8>? {
            guard position < pieces.body.count else { return nil }
            let end = Swift.min(pieces.body.count, position + pieces.size)
            defer { position = end }
            pieces.count.value.withLock { $0 += 1 }
            return pieces.body[position..<end]
        }
    }
}
