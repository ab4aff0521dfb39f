import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct StreamPartTests {
    let boundary = try! MultipartBoundary("golden")
    let chunks = [pattern(1_000, seed: 1), [], pattern(1, seed: 2), pattern(70_000, seed: 3)]

    /// The expected beginning of a form with this part between two fields.
    let opening =
        Array("--golden\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n".utf8)
        + Array("--golden\r\nContent-Disposition: form-data; name=\"s\"; filename=\"s.bin\"\r\n".utf8)
        + Array("Content-Type: application/octet-stream\r\n\r\n".utf8)

    /// Returns the expected form.
    func expected(_ content: [UInt8]) -> [UInt8] {
        opening + content
            + Array("\r\n--golden\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n2\r\n--golden--\r\n".utf8)
    }

    func form(_ part: MultipartPart) -> MultipartForm { [.text("a", "1"), part, .text("b", "2")] }

    @Test(arguments: [1, 7, 4_096, 1_000_000])
    func `a stream of known length is sent live with an exact length`(room: Int) async throws {
        let content = chunks.flatMap(\.self)
        let stream = CountedStream(chunks: chunks)
        let part = MultipartPart.stream("s", stream, length: Int64(content.count), fileName: "s.bin")
        let body = try await form(part).prepared(boundary: boundary)
        #expect(stream.asked.value == 0, "nothing is read before it is sent")
        #expect(body.contentLength == Int64(expected(content).count))
        #expect(!body.isReplayable)
        #expect(body.parts.map(\.name) == ["a", "s", "b"])
        #expect(try await allBytes(of: body, room: room) == expected(content))
    }

    @Test func `array slices are accepted as chunks`() async throws {
        let stream = AsyncStream<ArraySlice<UInt8>> { continuation in
            continuation.yield([1, 2, 3, 4][1...2])
            continuation.finish()
        }
        let body = try await form(.stream("s", stream, length: 2, fileName: "s.bin")).prepared(boundary: boundary)
        #expect(try await allBytes(of: body) == expected([2, 3]))
    }

    @Test func `a stream from a factory can be sent again and is created on demand`() async throws {
        let made = CountedStream.Count()
        let chunks = chunks
        let part = MultipartPart.stream("s", length: 71_001, fileName: "s.bin") {
            made.add()
            return CountedStream(chunks: chunks)
        }
        let body = try await form(part).prepared(boundary: boundary)
        #expect(body.isReplayable && made.value == 0)
        for _ in 0..<2 { #expect(try await allBytes(of: body) == expected(chunks.flatMap(\.self))) }
        #expect(made.value == 2)
    }

    @Test func `a factory that throws fails the part with its cause`() async throws {
        struct NotToday: Error {}
        let part = MultipartPart.stream("s", length: 5, fileName: "s.bin") { () throws -> CountedStream in
            throw NotToday()
        }
        let error = try await failure(of: part)
        #expect(error.code == .streamFailed && error.cause is NotToday)
    }

    @Test func `a second reader of a one-shot stream is refused with the part's name`() async throws {
        let part = MultipartPart.stream("s", CountedStream(chunks: [[1]]), length: 1, fileName: "s.bin")
        let body = try await form(part).prepared(boundary: boundary)
        _ = try await allBytes(of: body)
        let error = #expect(throws: BodyError.self) { try body.makeReader {} }
        #expect(error?.code == .bodyNotReplayable && error?.part == "s" && error?.partIndex == 1)
    }

    @Test func `at most one chunk of a part's stream is requested ahead`() async throws {
        let stream = CountedStream(chunks: (0..<10).map { _ in pattern(100) })
        let body = try await MultipartForm([.stream("s", stream, length: 1_000)]).prepared(boundary: boundary)
        let pull = try BodyPull(body)
        var seen = 0
        while let bytes = try await pull.next(room: 50) {
            seen += bytes.count
            for _ in 0..<20 { await Task.yield() }
            #expect(stream.asked.value <= seen / 100 + 2)
        }
    }

    /// Returns the error of a form with this part, which must occur before more than these bytes of its content are
    /// read.
    ///
    /// How many of the preceding bytes are read depends on timing: a read returns nothing if the stream has already
    /// failed.
    func failure(of part: MultipartPart, after content: [UInt8] = []) async throws -> BodyError {
        let body = try await form(part).prepared(boundary: boundary)
        let pull = try BodyPull(body)
        let error = await #expect(throws: BodyError.self) { try await pull.rest(room: 1_000) }
        #expect((opening + content).starts(with: pull.received))
        #expect(error?.part == "s" && error?.partIndex == 1)
        #expect(error?.message.hasPrefix("Part 2 (\"s\"): ") == true)
        #expect(throws: BodyError.self, "a failed reader stays failed") { try pull.read(room: 10) }
        return try #require(error)
    }

    @Test func `a stream shorter than declared fails its part before the closing boundary`() async throws {
        let error = try await failure(
            of: .stream("s", CountedStream(chunks: [[1, 2]]), length: 3, fileName: "s.bin"), after: [1, 2])
        #expect(error.code == .tooFewBytes && error.message.contains("2 bytes, but 3 were declared"))
    }

    @Test(arguments: [[[1, 2], [3, 4]], [[1, 2, 3], [4]], [[1, 2, 3, 4]]] as [[[UInt8]]])
    func `a stream longer than declared fails its part before the closing boundary`(chunks: [[UInt8]]) async throws {
        let error = try await failure(
            of: .stream("s", CountedStream(chunks: chunks), length: 3, fileName: "s.bin"), after: [1, 2])
        #expect(error.code == .tooManyBytes)
    }

    @Test func `a stream that throws fails its part with its cause`() async throws {
        let stream = CountedStream(chunks: [[1, 2, 3]], failure: .init())
        let error = try await failure(of: .stream("s", stream, length: 3, fileName: "s.bin"))
        #expect(error.code == .streamFailed && error.cause is CountedStream.Failed)
    }

    @Test func `a negative length is refused when the form is prepared`() async throws {
        let form: MultipartForm = [.stream("s", CountedStream(chunks: []), length: -1)]
        #expect(await BodyError.Code.thrown { _ = try await form.prepared() } == .unknownLength)
    }

    @Test func `closing the reader cancels the stream`() async throws {
        let started = OneTimeEvent()
        let cancelled = OneTimeEvent()
        let never = OneTimeEvent()
        let stream = CountedStream(
            chunks: [[1], [2]],
            before: { number in
                guard number == 1 else { return }
                started.happen()
                await never.wait()
                if Task.isCancelled { cancelled.happen() }
            })
        let body = try await MultipartForm([.stream("s", stream, length: 2)]).prepared()
        let pull = try BodyPull(body)
        while pull.received.last != 1 { _ = try await pull.next(room: 100) }
        await started.wait()
        pull.reader.close()
        await cancelled.wait()
    }

    @Test func `chunked sends a stream of unknown length without a length`() async throws {
        var form = form(.stream("s", CountedStream(chunks: chunks), length: nil, fileName: "s.bin"))
        form.unknownLength = .chunked
        let body = try await form.prepared(boundary: boundary)
        #expect(body.contentLength == nil && body.length == nil && !body.isReplayable)
        #expect(body.parts.map(\.name) == ["a"], "where the others lie shows only when they are sent")
        #expect(try await allBytes(of: body) == expected(chunks.flatMap(\.self)))
        #expect(body.description.contains("unknown length"))
    }

    @Test func `fail refuses a stream of unknown length with its name`() async throws {
        var form = form(.stream("s", CountedStream(chunks: chunks), length: nil))
        form.unknownLength = .fail
        let error = await #expect(throws: BodyError.self) { try await form.prepared() }
        #expect(error?.code == .unknownLength && error?.part == "s")
    }
}
