import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct SequenceBodyTests {
    /// A stream that counts the requests for chunks.
    struct Counted: AsyncSequence, Sendable {
        let chunks: [[UInt8]]
        var failure: Failed?
        let asked = Counter()

        struct Failed: Error {}

        final class Counter: Sendable {
            let count = Locked(0)
            let wasCancelled = Locked(false)
        }

        func makeAsyncIterator() -> Iterator { Iterator(rest: chunks[...], failure: failure, asked: asked) }

        struct Iterator: AsyncIteratorProtocol {
            var rest: ArraySlice<[UInt8]>
            let failure: Failed?
            let asked: Counter

            mutating func next() async throws -> [UInt8]? {
                asked.count.withLock { $0 += 1 }
                if let chunk = rest.popFirst() { return chunk }
                if let failure { throw failure }
                return nil
            }
        }
    }

    static let chunks: [[UInt8]] = [pattern(1_000, seed: 1), [], pattern(1, seed: 2), pattern(70_000, seed: 3)]
    static let bytes = chunks.flatMap(\.self)

    @Test(arguments: [1, 7, 65_536, 1_000_000], [true, false])
    func `a stream arrives complete at every buffer size`(room: Int, hasLength: Bool) async throws {
        let body = SequenceBody(Counted(chunks: Self.chunks), length: hasLength ? Int64(Self.bytes.count) : nil)
        #expect(body.length == (hasLength ? Int64(Self.bytes.count) : nil))
        #expect(!body.isReplayable)
        #expect(try await allBytes(of: body, room: room) == Self.bytes)
    }

    @Test func `an empty stream is an empty body`() async throws {
        #expect(try await allBytes(of: SequenceBody(Counted(chunks: []), length: 0)) == [])
        #expect(try await allBytes(of: SequenceBody(Counted(chunks: [[]]), length: nil)) == [])
    }

    @Test func `a stream is read once`() async throws {
        let body = SequenceBody(Counted(chunks: Self.chunks), length: nil)
        _ = try await allBytes(of: body)
        #expect(await BodyError.Code.thrown { _ = try body.makeReader {} } == .bodyNotReplayable)
    }

    @Test func `at most one chunk of a stream is requested ahead`() async throws {
        let stream = Counted(chunks: (0..<10).map { _ in pattern(100) })
        let pull = try BodyPull(SequenceBody(stream, length: nil))
        for taken in 1...10 {
            var count = 0
            while count < 100 { count += try await pull.next(room: 50)?.count ?? 100 }
            for _ in 0..<50 { await Task.yield() }
            #expect(stream.asked.count.withLock { $0 } <= taken + 1)
        }
    }

    @Test func `an error of the stream is propagated with its cause`() async throws {
        let body = SequenceBody(Counted(chunks: [[1, 2, 3]], failure: .init()), length: 3)
        let pull = try BodyPull(body)
        let error = await #expect(throws: BodyError.self) { try await pull.rest(room: 10) }
        #expect(error?.code == .streamFailed)
        #expect(error?.cause is Counted.Failed)
        #expect(pull.received.isEmpty, "the chunk that seems to complete the body waits for the stream's end")
    }

    @Test func `fewer or more bytes than declared are errors, and the body never looks complete`() async throws {
        let short = try BodyPull(SequenceBody(Counted(chunks: [[1], [2]]), length: 3))
        #expect(await BodyError.Code.thrown { _ = try await short.rest(room: 10) } == .tooFewBytes)
        for chunks in [[[1], [2, 3, 4]], [[1, 2, 3], [4]]] as [[[UInt8]]] {
            let long = try BodyPull(SequenceBody(Counted(chunks: chunks), length: 3))
            #expect(await BodyError.Code.thrown { _ = try await long.rest(room: 10) } == .tooManyBytes)
            #expect(long.received.count < 3)
        }
    }

    @Test func `closing the reader cancels the task that pulls the stream`() async throws {
        let (ended, signal) = AsyncStream<Void>.makeStream()
        let (started, running) = AsyncStream<Void>.makeStream()
        // A stream that returns nothing until its task is cancelled.
        let endless = AsyncStream<[UInt8]>(unfolding: {
            running.yield()
            await withTaskCancellationHandler {
                let (never, keep) = AsyncStream<Void>.makeStream()
                for await _ in never {}
                withExtendedLifetime(keep) {}
            } onCancel: {
                signal.finish()
            }
            return nil
        })
        let reader = try SequenceBody(endless, length: nil).makeReader {}
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 10, alignment: 1)
        defer { unsafe room.deallocate() }
        var output = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        #expect(try reader.read(into: &output) == .later)
        _ = unsafe output.finalize(for: room)
        for await _ in started { break }
        reader.close()
        for await _ in ended {}
    }
}
