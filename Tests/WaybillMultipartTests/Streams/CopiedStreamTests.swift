import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct CopiedStreamTests {
    let directory: TemporaryDirectory
    let chunks = (0..<20).map { pattern(1_000 + $0, seed: UInt64($0 + 1)) }
    var bytes: [UInt8] { chunks.flatMap(\.self) }

    init() throws {
        directory = try TemporaryDirectory()
    }

    func body(_ stream: CountedStream, length: Int64?) async throws -> MultipartBody {
        var form: MultipartForm = [
            .text("a", "1"), .stream("s", stream, length: length, replay: .fromCopy), .text("b", "2"),
        ]
        form.temporaryDirectory = directory.path
        form.unknownLength = .chunked
        return try await form.prepared(boundary: MultipartBoundary("golden"))
    }

    func whole() async throws -> [UInt8] {
        let form: MultipartForm = [.text("a", "1"), .data("s", bytes), .text("b", "2")]
        return try await allBytes(of: form.prepared(boundary: MultipartBoundary("golden")))
    }

    @Test(arguments: [true, false], [0, 1, 150, 999, 5_000, 12_345, 20_190])
    func `an attempt aborted anywhere is repeated, and each chunk is pulled once`(
        hasLength: Bool, cut: Int
    ) async throws {
        let stream = CountedStream(chunks: chunks)
        let body = try await body(stream, length: hasLength ? Int64(bytes.count) : nil)
        #expect(body.isReplayable)
        let expected = try await whole()
        for cut in [cut, cut / 2, cut + 700] {
            let pull = try BodyPull(body)
            while pull.received.count < cut, try await pull.next(room: 64) != nil {}
            #expect(Array(expected.prefix(pull.received.count)) == pull.received)
            pull.reader.close()
        }
        #expect(try await allBytes(of: body, room: 333) == expected)
        #expect(try await allBytes(of: body) == expected, "and once more, all of it from the copy")
        #expect(stream.asked.value == chunks.count + 1)
    }

    @Test func `a raw body can be copied, and its last bytes wait for the end of the stream`() async throws {
        let gate = OneTimeEvent()
        let stream = CountedStream(
            chunks: [[1, 2], [3]],
            before: { number in
                if number == 2 { await gate.wait() }
            })
        let body = SequenceBody(stream, length: 3, replay: .fromCopy)
        #expect(body.isReplayable)
        let first = try BodyPull(body)
        #expect(try await first.next(room: 10) == [1, 2])
        first.reader.close()
        let second = try BodyPull(body)
        async let rest = second.rest(room: 10)
        gate.happen()
        #expect(try await rest == [1, 2, 3])
    }

    @Test func `a failing stream fails every attempt at the same position`() async throws {
        let body = try await body(CountedStream(chunks: chunks, failure: .init()), length: nil)
        for _ in 0..<2 {
            let pull = try BodyPull(body)
            let error = await #expect(throws: BodyError.self) { try await pull.rest(room: 999) }
            #expect(error?.code == .streamFailed && error?.part == "s")
            #expect(!String(decoding: pull.received.suffix(40), as: UTF8.self).contains("golden--"))
        }
    }

    @Test func `more bytes than declared also fail the repeated attempt`() async throws {
        let body = try await body(CountedStream(chunks: chunks), length: 5_000)
        for _ in 0..<2 {
            let pull = try BodyPull(body)
            #expect(await BodyError.Code.thrown { _ = try await pull.rest(room: 999) } == .tooManyBytes)
        }
    }

    @Test func `a later reader takes over the stream, and the earlier one fails`() async throws {
        let body = try await body(CountedStream(chunks: chunks), length: nil)
        let first = try BodyPull(body)
        while first.received.count < 3_000 { _ = try await first.next(room: 100) }
        #expect(try await allBytes(of: body) == whole())
        #expect(await BodyError.Code.thrown { _ = try await first.rest(room: 100) } == .streamFailed)
    }

    @Test func `the copy is removed and the stream cancelled together with the body`() async throws {
        let reached = OneTimeEvent()
        let cancelled = OneTimeEvent()
        let never = OneTimeEvent()
        do {
            let stream = CountedStream(
                chunks: chunks,
                before: { number in
                    guard number == 3 else { return }
                    reached.happen()
                    await never.wait()
                    if Task.isCancelled { cancelled.happen() }
                })
            let body = try await body(stream, length: nil)
            let pull = try BodyPull(body)
            // Three chunks have 3,003 bytes; taking the last of them requests the fourth.
            while pull.received.count < 3_003 { _ = try await pull.next(room: 100) }
            await reached.wait()
            #expect(openDescriptors(under: directory.path) == 1)
            pull.reader.close()
        }
        await cancelled.wait()
        #expect(try directory.list() == [])
    }

    @Test func `a copy that cannot be written fails the part`() async throws {
        var form: MultipartForm = [.stream("s", CountedStream(chunks: chunks), length: 20_190, replay: .fromCopy)]
        form.temporaryDirectory = directory.path + "/none"
        let body = try await form.prepared()
        let pull = try BodyPull(body)
        let error = await #expect(throws: BodyError.self) { try await pull.rest(room: 100) }
        #expect(error?.code == .writeFailed && error?.part == "s")
    }
}
