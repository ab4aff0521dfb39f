import TestSupport
import Glibc
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct SpillTests {
    let directory: TemporaryDirectory
    let chunks = [pattern(1_000, seed: 1), pattern(1, seed: 2), pattern(70_000, seed: 3), []]

    init() throws {
        directory = try TemporaryDirectory()
    }

    func form(_ stream: CountedStream, threshold: Int64) -> MultipartForm {
        var form: MultipartForm = [.text("a", "1"), .stream("s", stream, length: nil, fileName: "s.bin")]
        form.unknownLength = .spill(threshold: .bytes(threshold))
        form.temporaryDirectory = directory.path
        return form
    }

    func held(_ body: MultipartBody) -> FileDescriptor? {
        body.segments.segments.lazy.compactMap { segment -> FileDescriptor? in
            if case .file(let slice) = segment { slice.source.openDescriptor } else { nil }
        }.first
    }

    @Test(arguments: [0, 1_000, 1_001, 71_000, 71_001, 1 << 20])
    func `a stream of unknown length is read in advance to determine its length`(threshold: Int64) async throws {
        let body = try await form(CountedStream(chunks: chunks), threshold: threshold).prepared()
        #expect(body.isReplayable)
        #expect((held(body) != nil) == (threshold < 71_001), "in memory up to the threshold, in a file above it")
        var parser = try MultipartParser(contentType: body.contentType ?? "")
        for room in [1_000, 65_536] {
            let bytes = try await allBytes(of: body, room: room)
            #expect(Int64(bytes.count) == body.contentLength)
            let range = body.parts[1].range
            #expect(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]) == chunks.flatMap(\.self))
        }
        var through = body
        through.disk.allowsNonblocking = false
        let bytes = try await allBytes(of: through)
        #expect(Int64(bytes.count) == body.contentLength)
        var nobody = NullHandler()
        try parser.feed(bytes.span, to: &nobody)
        try parser.finish()
    }

    struct NullHandler: MultipartHandler {
        mutating func partBegan(_ head: MultipartPartHead) {}
        mutating func partData(_ bytes: Span<UInt8>) {}
        mutating func partEnded() {}
    }

    @Test func `the spill file has no name, is private, and is removed with the body`() async throws {
        do {
            let body = try await form(CountedStream(chunks: chunks), threshold: 0).prepared()
            let file = facts(of: try #require(held(body)).raw)
            #expect(file.links == 0 && file.mode == 0o600 && file.size == 71_001)
            #expect(openDescriptors(under: directory.path) == 1)
            #expect(try directory.list() == [])
        }
        #expect(await descriptorsClose(under: directory.path))
    }

    @Test func `cancelling the task ends reading and removes the file`() async throws {
        let reached = OneTimeEvent()
        let never = OneTimeEvent()
        let stream = CountedStream(
            chunks: chunks,
            before: { number in
                guard number == 3 else { return }
                reached.happen()
                await never.wait()
            })
        let form = form(stream, threshold: 0)
        let task = Task { await BodyError.Code.thrown { _ = try await form.prepared() } }
        await reached.wait()
        #expect(openDescriptors(under: directory.path) == 1)
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await descriptorsClose(under: directory.path))
        #expect(try directory.list() == [])
    }

    @Test func `a stream that throws while being read in advance names its part and leaves no file`() async throws {
        let form = form(CountedStream(chunks: chunks, failure: .init()), threshold: 0)
        let error = await #expect(throws: BodyError.self) { try await form.prepared() }
        #expect(error?.code == .streamFailed && error?.part == "s" && error?.cause is CountedStream.Failed)
        #expect(error?.message.contains("71001 bytes") == true)
        #expect(await descriptorsClose(under: directory.path))
    }

    @Test func `a full disk is a typed error that names part and remedy and stops the stream`() async throws {
        // Every write to this device fails with ENOSPC.
        let spill = StreamSpill(threshold: 10, at: PartLocation(index: 1, name: "s")) { () throws(BodyError) in
            let full = FileDescriptor(owning: unsafe open("/dev/full", O_RDWR | O_CLOEXEC))
            return SpillFile(full, at: PartLocation(index: 1, name: "s"))
        }
        let stream = CountedStream(chunks: [pattern(8), pattern(8), pattern(8)])
        let pump = try StreamOrigin(stream).pump(at: nil)
        let error = await #expect(throws: BodyError.self) { try await spill.read(pump) }
        #expect(error?.code == .diskFull && error?.part == "s")
        #expect(error?.message.contains("temporaryDirectory") == true)
        #expect((error?.cause as? SystemError)?.number == ENOSPC)
        #expect(stream.asked.value == 2)
    }

    @Test func `a directory that cannot be written is a typed error`() async throws {
        var form = form(CountedStream(chunks: chunks), threshold: 0)
        form.temporaryDirectory = directory.path + "/none"
        let error = await #expect(throws: BodyError.self) { try await form.prepared() }
        #expect(error?.code == .writeFailed && error?.part == "s" && error?.path == directory.path + "/none")
    }

    @Test func `preparing a form with a one-shot stream again fails with the part`() async throws {
        let form = form(CountedStream(chunks: chunks), threshold: 1 << 20)
        _ = try await form.prepared()
        let error = await #expect(throws: BodyError.self) { try await form.prepared() }
        #expect(error?.code == .bodyNotReplayable && error?.part == "s")
    }

    @Test func `the boundary is searched in content kept in memory`() async throws {
        let form = form(CountedStream(chunks: [Array("xxgol".utf8), Array("denxx".utf8)]), threshold: 1 << 20)
        let boundary = try MultipartBoundary("golden")
        #expect(await BodyError.Code.thrown { _ = try await form.prepared(boundary: boundary) } == .boundaryInContent)
    }
}
