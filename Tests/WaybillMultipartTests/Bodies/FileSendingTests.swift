import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

/// Files that the kernel sends between reads.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct FileSendingTests {
    let directory: TemporaryDirectory
    private static let front = pattern(900_000)
    private static let back = pattern(300_001, seed: 7)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func body(_ form: Bool = true, disk: DiskAccess = DiskAccess()) async throws -> any UploadBody {
        let front = try directory.file("front.jpg", Self.front)
        guard form else {
            var body = try FileBody(path: front)
            body.disk = disk
            return body
        }
        let back = try directory.file("back.jpg", Self.back)
        var body = try await MultipartForm([
            .text("TOKEN", .secret("t")), .file("FRONT", path: front), .file("BACK", path: back),
            .data("LAST", pattern(20_000, seed: 3)),
        ]).prepared()
        body.disk = disk
        return body
    }

    @Test(arguments: [true, false])
    func `any sequence of sends and reads yields the body`(isForm: Bool) async throws {
        let seed = UInt64.random(in: 1...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let body = try await body(isForm)
            let whole = try await SendingPull(body).rest(sendingUpTo: 0) { 65_536 }
            let pull = try SendingPull(body)
            let bytes = try await pull.rest(sendingUpTo: 300_000) { Int.random(in: 1...70_000, using: &random) }
            #expect(bytes == whole, "seed \(seed)")
            #expect(pull.sent > 0 || !Kernel.hasCachestat, "seed \(seed)")
        }
    }

    @Test func `a range of a file is sent from its start to its end`() async throws {
        let path = try directory.file("front.jpg", Self.front)
        let source = try SourceFile(inspecting: path, at: nil)
        let pull = try SendingPull(try FileBody(range: 100_000..<650_000, of: source))
        #expect(try await pull.rest(sendingUpTo: .max) { 1_000 } == Array(Self.front[100_000..<650_000]))
        #expect(pull.sent == 549_000 || !Kernel.hasCachestat)
    }

    @Test func `a full socket accepts no bytes, and nothing is lost`() async throws {
        guard Kernel.hasCachestat else { return }
        let pull = try SendingPull(try await body(false))
        _ = try await pull.read(room: 1_000)
        while let count = pull.sendOnce(upTo: 100_000), count > 0 {}
        #expect(pull.sendOnce(upTo: 100_000) == 0)
        pull.drain()
        #expect(try await pull.rest(sendingUpTo: 100_000) { 10_000 } == Self.front)
    }

    @Test func `uncached bytes are read, and later ones can be sent again`() async throws {
        let answers = Locked([ENODATA, ENOMEM])
        var disk = DiskAccess()
        disk.fault = { step in step == .send ? answers.withLock { $0.popLast() } : nil }
        let pull = try SendingPull(try await body(false, disk: disk))
        _ = try await pull.read(room: 1_000)
        for _ in 0..<2 {
            #expect(pull.sendOnce(upTo: 100_000) == nil)
            _ = try await pull.read(room: 1_000)
        }
        #expect(pull.sendOnce(upTo: 100_000) != nil || !Kernel.hasCachestat)
        pull.drain()
        #expect(try await pull.rest(sendingUpTo: 100_000) { 10_000 } == Self.front)
    }

    @Test func `an interrupted call sends nothing and is repeated`() async throws {
        let answers = Locked([EINTR])
        var disk = DiskAccess()
        disk.fault = { step in step == .send ? answers.withLock { $0.popLast() } : nil }
        let pull = try SendingPull(try await body(false, disk: disk))
        _ = try await pull.read(room: 1_000)
        #expect(pull.sendOnce(upTo: 100_000) == 0)
        #expect(try await pull.rest(sendingUpTo: 100_000) { 10_000 } == Self.front)
        #expect(pull.sent > 0 || !Kernel.hasCachestat)
    }

    @Test(arguments: [EINVAL, ENOSYS, EPERM, EPIPE, EOVERFLOW])
    func `a file that cannot be sent is read without another attempt`(number: Int32) async throws {
        let asked = Locked(0)
        var disk = DiskAccess()
        disk.fault = { step in
            guard step == .send else { return nil }
            asked.withLock { $0 += 1 }
            return number
        }
        let whole = try await SendingPull(try await body()).rest(sendingUpTo: 0) { 65_536 }
        let pull = try SendingPull(try await body(true, disk: disk))
        let bytes = try await pull.rest(sendingUpTo: 100_000) { 50_000 }
        #expect(Self.normalizingBoundary(bytes) == Self.normalizingBoundary(whole))
        #expect(asked.withLock { $0 } == 2, "once for each file")
        #expect(pull.sent == 0)
    }

    /// Returns the bytes without the boundary, which differs between forms.
    private static func normalizingBoundary(_ bytes: [UInt8]) -> [UInt8] {
        let line = bytes.prefix { $0 != UInt8(ascii: "\r") }
        var rest: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] == line[0], bytes[index...].starts(with: line) {
                index += line.count
            } else {
                rest.append(bytes[index])
                index += 1
            }
        }
        return rest
    }

    @Test func `nothing is sent before the file is open, through the pool, or after the end`() async throws {
        let pull = try SendingPull(try await body(false))
        #expect(pull.sendOnce(upTo: 10) == nil)
        _ = try await pull.rest(sendingUpTo: 0) { 65_536 }
        #expect(pull.sendOnce(upTo: 10) == nil)
        pull.close()
        #expect(pull.sendOnce(upTo: 10) == nil)

        var disk = DiskAccess()
        disk.allowsNonblocking = false
        let pooled = try SendingPull(try await body(false, disk: disk))
        _ = try await pooled.read(room: 1_000)
        #expect(pooled.sendOnce(upTo: 10) == nil)
        #expect(try await pooled.rest(sendingUpTo: 10) { 65_536 } == Self.front)
    }

    @Test(arguments: SourceChangeTests.Modification.allCases, [true, false])
    func `a file changed after being sent is detected before the last bytes`(
        harm: SourceChangeTests.Modification, isForm: Bool
    ) async throws {
        let path = try directory.file("front.jpg", SourceChangeTests.bytes)
        let body: any UploadBody =
            isForm ? try await MultipartForm([.file("f", path: path)]).prepared() : try FileBody(path: path)
        let pull = try SendingPull(body)
        let most = SourceChangeTests.size - 10_000
        // A busy kernel may have dropped pages from memory, even those that were just written. They are read.
        while pull.received.count < most {
            _ = try await pull.read(room: min(1_000, most - pull.received.count))
            while let count = pull.sendOnce(upTo: most - pull.received.count), count > 0 { pull.drain() }
        }
        #expect(pull.sent > 0 || !Kernel.hasCachestat)
        try harm.act(on: path, in: directory)
        let error = await #expect(throws: BodyError.self) { try await pull.rest(sendingUpTo: 0) { 100_000 } }
        #expect(error?.code == .sourceChanged && error?.cause as? SourceChange == harm.change)
        #expect(Int64(pull.received.count) < body.length!)
    }
}

/// Alternately reads a body and sends from it into a socket pair whose other end is drained.
private final class SendingPull {
    private let pull: BodyPull
    private let sending: Int32
    private let receiving: Int32
    private(set) var received: [UInt8] = []
    private(set) var sent = 0

    init(_ body: any UploadBody) throws {
        pull = try BodyPull(body)
        var ends: [Int32] = [0, 0]
        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0 else {
            throw SystemError.last
        }
        (sending, receiving) = (ends[0], ends[1])
    }

    deinit {
        Glibc.close(sending)
        Glibc.close(receiving)
    }

    func close() { pull.reader.close() }

    func sendOnce(upTo count: Int) -> Int? {
        let answer = (pull.reader as? any FileSendingReader)?.send(upTo: count, into: sending)
        sent += answer ?? 0
        return answer
    }

    func drain() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe recv(receiving, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            received += buffer[..<count]
        }
    }

    /// Reads the next bytes and returns their number, or `nil` at the end.
    func read(room: Int) async throws -> Int? {
        guard let bytes = try await pull.next(room: room) else { return nil }
        received += bytes
        return bytes.count
    }

    func rest(sendingUpTo count: Int, reading room: () -> Int) async throws -> [UInt8] {
        while try await read(room: room()) != nil {
            while count > 0, (sendOnce(upTo: count) ?? 0) > 0 { drain() }
        }
        return received
    }
}
