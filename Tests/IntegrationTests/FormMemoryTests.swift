import Glibc
import TestSupport
import Testing
import Waybill

/// The size of a part does not affect memory use, whatever its source.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct FormMemoryTests {
    static let size: Int64 = 96 << 20

    /// A sequence of zero bytes in chunks of 64 KiB.
    struct Zeros: AsyncSequence, Sendable {
        let count: Int64

        func makeAsyncIterator() -> Iterator { Iterator(left: count) }

        struct Iterator: AsyncIteratorProtocol {
            var left: Int64

            mutating func next() async -> [UInt8]? {
                guard left > 0 else { return nil }
                defer { left -= Swift.min(left, 65_536) }
                return [UInt8](repeating: 0, count: Int(Swift.min(left, 65_536)))
            }
        }
    }

    /// Returns a part of each kind of source with this size.
    static func parts(_ size: Int64, in folder: TemporaryDirectory) throws -> [(String, MultipartPart)] {
        let path = try folder.writeSparse("zeros-\(size)", size: Int(size))
        return [
            ("file", .file("f", path: path)), ("slice", .file("f", path: path, range: 1..<size - 1)),
            ("stream", .stream("f", Zeros(count: size), length: size)),
            ("stream made anew", .stream("f", length: size) { Zeros(count: size) }),
            ("stream with a copy", .stream("f", Zeros(count: size), length: size, replay: .fromCopy)),
            ("stream of unknown length", .stream("f", Zeros(count: size), length: nil)),
        ]
    }

    static func run(_ part: MultipartPart) async throws -> Int64 {
        let body = try await MultipartForm([part]).prepared()
        var count: Int64 = 0
        for try await chunk in body.chunks { count += Int64(chunk.count) }
        return count
    }

    @Test func `a part of 96 MiB uses less than 4 MB more memory than one of 2 MiB`() async throws {
        guard IsolatedProcess.isIsolated else { return try await IsolatedProcess.run("FormMemoryTests") }
        let folder = try TemporaryDirectory()
        for (_, part) in try Self.parts(2 << 20, in: folder) { _ = try await Self.run(part) }
        for (kind, part) in try Self.parts(Self.size, in: folder) {
            let before = try Self.peak()
            #expect(try await Self.run(part) >= Self.size - 2)
            let after = try Self.peak()
            print("ProcessResources: \(kind): \(after - before) KiB")
            #expect(after - before < Self.bound, "\(kind)")
        }
    }

    // In KiB. Sanitizers, whose options only `make` sets, keep up to 256 MiB of freed memory for a while.
    private static let bound =
        unsafe getenv("TSAN_OPTIONS") != nil || getenv("LSAN_OPTIONS") != nil ? 600_000 : 4_000

    /// Returns the peak resident memory in KiB.
    static func peak() throws -> Int {
        let status = String(decoding: try readFile("/proc/self/status"), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.filter(\.isNumber)))
    }
}
