import TestSupport
import Glibc
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ChunksTests {
    let directory: TemporaryDirectory
    let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = try directory.file("a.jpg", pattern(150_000))
    }

    func body() async throws -> MultipartBody {
        try await MultipartForm([.text("t", "v"), .file("f", path: path)]).prepared()
    }

    @Test(arguments: [false, true])
    func `chunks are the bytes of the body, each loop from the start`(throughPool: Bool) async throws {
        var body = try await body()
        body.disk.allowsNonblocking = !throughPool
        let expected = try await allBytes(of: body)
        for _ in 0..<2 {
            var bytes: [UInt8] = []
            for try await chunk in body.chunks {
                #expect((1...65_536).contains(chunk.count))
                bytes += chunk
            }
            #expect(bytes == expected)
        }
    }

    @Test func `leaving the loop closes the file`() async throws {
        let body = try await body()
        for try await chunk in body.chunks {
            #expect(openDescriptors(on: path) == 1)
            #expect(!chunk.isEmpty)
            break
        }
        while openDescriptors(on: path) > 0, !Task.isCancelled { await Task.yield() }
        #expect(openDescriptors(on: path) == 0)
    }

    @Test func `a cancelled task throws a cancellation and closes the file`() async throws {
        let body = try await body()
        let task = Task {
            var iterator = body.chunks.makeAsyncIterator()
            _ = try await iterator.next()
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            _ = try await iterator.next()
        }
        #expect(await BodyError.Code.thrown { try await task.value } == .cancelled)
    }

    @Test func `a body is written to a new file readable only by its owner`() async throws {
        let body = try await body()
        let target = directory.path + "/form"
        try await body.write(to: target)
        #expect(try contents(of: target) == (try await allBytes(of: body)))
        var status = stat()
        try #require(unsafe stat(target, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(openDescriptors(on: target) == 0)
    }

    @Test func `an existing file is not overwritten`() async throws {
        let body = try await body()
        let there = try directory.file("there", [1, 2, 3])
        #expect(await BodyError.Code.thrown { try await body.write(to: there) } == .fileExists)
        #expect(try contents(of: there) == [1, 2, 3])
        let link = directory.path + "/link"
        try #require(unsafe symlink(directory.path + "/nowhere", link) == 0)
        #expect(await BodyError.Code.thrown { try await body.write(to: link) } == .fileExists)
        #expect(await BodyError.Code.thrown { try await body.write(to: directory.path + "/no/where") } == .writeFailed)
    }

    @Test func `a failed or cancelled write leaves no file`() async throws {
        let body = try await body()
        try directory.append([1], to: path)
        let target = directory.path + "/form"
        #expect(await BodyError.Code.thrown { try await body.write(to: target) } == .sourceChanged)
        let fresh = try await self.body()
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await fresh.write(to: target)
        }
        #expect(await BodyError.Code.thrown { try await task.value } == .cancelled)
        #expect(try directory.list() == ["a.jpg"])
    }
}

extension ChunksTests {
    @Test(arguments: [1, 1_000, 65_536, 100_000, 1_000_000])
    func `chunks have exactly the given size except for the last`(size: Int) async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a.bin", pattern(size == 1 ? 300 : 150_000))
        let stream = CountedStream(chunks: (0..<50).map { pattern($0 * 7 % 50) })
        let body = try await MultipartForm([
            .text("t", "v"), .file("f", path: path),
            .stream("s", length: nil) { CountedStream(chunks: stream.chunks) },
        ]).prepared()
        let expected = try await allBytes(of: body)
        var sizes: [Int] = []
        var bytes: [UInt8] = []
        for try await chunk in body.chunks(ofSize: size) {
            sizes.append(chunk.count)
            bytes += chunk
        }
        #expect(bytes == expected)
        #expect(sizes.dropLast().allSatisfy { $0 == size } && (1...size).contains(sizes.last ?? 0))
    }

    @Test func `a chunk of maximum size is the whole body`() async throws {
        let body = try await body()
        let expected = try await allBytes(of: body)
        var chunks: [[UInt8]] = []
        for try await chunk in body.chunks(ofSize: .max) { chunks.append(chunk) }
        #expect(chunks == [expected])
    }
}
