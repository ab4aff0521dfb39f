import TestSupport
import Glibc
import Testing
import WaybillCore

@testable import WaybillMultipart

/// Files that change after their length was promised and before the last byte was read.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct SourceChangeTests {
    static let size = 600_000
    static let bytes = pattern(size)

    enum Modification: CaseIterable {
        case shrink, shrinkToNothing, grow, rewrite, rewriteWithOldTime, replace, remove

        var change: SourceChange {
            switch self {
            case .shrink, .shrinkToNothing: .shrank
            case .grow: .grew
            case .rewrite, .rewriteWithOldTime: .modified
            case .replace: .replaced
            case .remove: .removed
            }
        }

        func act(on path: String, in directory: TemporaryDirectory) throws {
            switch self {
            case .shrink: try #require(unsafe truncate(path, off_t(size / 2)) == 0)
            case .shrinkToNothing: try #require(unsafe truncate(path, 0) == 0)
            case .grow: try directory.append([1], to: path)
            case .rewrite: try rewrite(path)
            case .rewriteWithOldTime:
                // Like `touch -r` and archivers: only the status change time (ctime) reveals the change.
                var before = stat()
                unsafe stat(path, &before)
                try rewrite(path)
                try #require(unsafe utimensat(AT_FDCWD, path, [before.st_atim, before.st_mtim], 0) == 0)
            case .replace:
                let other = try directory.file("other", SourceChangeTests.bytes)
                try #require(unsafe rename(other, path) == 0)
            case .remove: try #require(unsafe unlink(path) == 0)
            }
        }

        /// Rewrites the first bytes until the clock of the file system has advanced.
        private func rewrite(_ path: String) throws {
            var before = stat()
            unsafe stat(path, &before)
            var now = before
            while now.st_mtim.tv_sec == before.st_mtim.tv_sec, now.st_mtim.tv_nsec == before.st_mtim.tv_nsec {
                let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC)
                try #require(unsafe pwrite(descriptor, [1, 2, 3], 3, 0) == 3)
                close(descriptor)
                unsafe stat(path, &now)
            }
        }
    }

    @Test(arguments: Modification.allCases, [false, true])
    func `a file that changes while its form is read never gets its closing boundary`(
        harm: Modification, throughPool: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("front.jpg", Self.bytes)
        for room in [1_000, 65_536, 450_000, 599_999] {
            _ = try directory.file("front.jpg", Self.bytes)
            var body = try await MultipartForm([.text("t", "v"), .file("FILE", path: path), .text("u", "w")]).prepared()
            body.disk.allowsNonblocking = !throughPool
            let pull = try BodyPull(body)
            _ = try await pull.next(room: room)
            try harm.act(on: path, in: directory)
            let error = await #expect(throws: BodyError.self) { try await pull.rest(room: room) }
            #expect(error?.code == .sourceChanged)
            #expect(error.map { tells(harm, $0, throughPool) } == true, "\(error as Any)")
            #expect(error?.part == "FILE" && error?.path == path)
            #expect(!contains("--\(body.boundary)--", in: pull.received))
            #expect(throws: BodyError.self) { try pull.read(room: room) }
        }
    }

    @Test(arguments: Modification.allCases, [false, true])
    func `a raw file that changes while it is read never looks complete`(harm: Modification, throughPool: Bool)
        async throws
    {
        let directory = try TemporaryDirectory()
        let path = try directory.file("front.jpg", Self.bytes)
        for room in [1_000, 65_536, 599_999] {
            _ = try directory.file("front.jpg", Self.bytes)
            var body = try FileBody(path: path)
            body.disk.allowsNonblocking = !throughPool
            let pull = try BodyPull(body)
            _ = try await pull.next(room: room)
            try harm.act(on: path, in: directory)
            let error = await #expect(throws: BodyError.self) { try await pull.rest(room: room) }
            #expect(error?.code == .sourceChanged)
            #expect(error.map { tells(harm, $0, throughPool) } == true, "\(error as Any)")
            #expect(pull.received.count < Self.size)
        }
    }

    /// The pool may examine the file in the middle of the change, when the times are new but the size is not.
    private func tells(_ harm: Modification, _ error: BodyError, _ throughPool: Bool) -> Bool {
        let change = error.cause as? SourceChange
        return change == harm.change || throughPool && change == .modified
    }

    @Test(arguments: Modification.allCases)
    func `a file changed before it is opened returns no bytes`(harm: Modification) async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("front.jpg", Self.bytes)
        let body = try FileBody(path: path)
        try harm.act(on: path, in: directory)
        let pull = try BodyPull(body)
        let error = await #expect(throws: BodyError.self) { try await pull.rest(room: 65_536) }
        #expect(error?.cause as? SourceChange == harm.change)
        #expect(pull.received.isEmpty)
    }

    @Test func `a file replaced by a FIFO is reported without waiting for a writer`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("front.jpg", pattern(10))
        let body = try FileBody(path: path)
        unsafe unlink(path)
        try #require(unsafe mkfifo(path, 0o600) == 0)
        #expect(await BodyError.Code.thrown { _ = try await allBytes(of: body) } == .sourceChanged)
    }

    @Test(arguments: [false, true])
    func `a file that changes while a later file is read fails the form`(throughPool: Bool) async throws {
        let directory = try TemporaryDirectory()
        let first = try directory.file("first", pattern(100_000))
        let second = try directory.file("second", pattern(100_000))
        var body = try await MultipartForm([.file("A", path: first), .file("B", path: second)]).prepared()
        body.disk.allowsNonblocking = !throughPool
        let pull = try BodyPull(body)
        while pull.received.count < 150_000 { _ = try await pull.next(room: 10_000) }
        try directory.append([0], to: first)
        let error = await #expect(throws: BodyError.self) { try await pull.rest(room: 10_000) }
        #expect(error?.code == .sourceChanged && error?.part == "A" && error?.cause as? SourceChange == .grew)
        #expect(!contains("--\(body.boundary)--", in: pull.received))
    }
}

func contains(_ wanted: String, in bytes: [UInt8]) -> Bool {
    ByteSearch.find(Array(wanted.utf8), in: bytes) != nil
}
