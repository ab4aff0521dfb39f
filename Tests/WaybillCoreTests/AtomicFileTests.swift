import CTestSupport
import Glibc
import TestSupport
import Testing
import WaybillCore

struct AtomicFileTests {
    @Test func `a file gets its name without hard links`() async throws {
        let folder = try TemporaryDirectory()
        try await withoutHardLinks { () throws(SystemError) in
            let file = try Self.file(at: folder.path("a"))
            try file.link(to: folder.path("a"))
        }
        #expect(try folder.read("a") == Array("whole".utf8))
        #expect(try folder.names() == ["a"])
    }

    @Test func `an existing name is kept without hard links`() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("a", "another file")
        let error = await #expect(throws: SystemError.self) {
            try await withoutHardLinks { () throws(SystemError) in
                let file = try Self.file(at: folder.path("a"))
                try file.link(to: folder.path("a"))
            }
        }
        #expect(error?.number == EEXIST)
        #expect(try folder.read("a") == Array("another file".utf8))
        #expect(try folder.names() == ["a"])
    }

    @Test func `an unsupported fsync fails, except for directories`() throws {
        var ends: [Int32] = [-1, -1]
        #expect(unsafe pipe(&ends) == 0)
        let (read, write) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
        let error = #expect(throws: SystemError.self) { try write.synchronize() }
        #expect(error?.number == EINVAL)
        try write.synchronizeDirectory()
        withExtendedLifetime(read) {}
    }

    private static func file(at path: String) throws(SystemError) -> AtomicFile {
        let file = try AtomicFile.make(for: path, isNamed: true)
        try file.append(Array("whole".utf8))
        return file
    }

    /// Runs work on a thread of its own, on which linkat(2) fails.
    private func withoutHardLinks(_ work: @escaping @Sendable () throws(SystemError) -> Void) async throws(SystemError)
    {
        try await BlockingThread.run { () throws(SystemError) in
            let code = cts_refuse_hard_links()
            guard code == 0 else { throw SystemError(-code) }
            try work()
        }
    }
}
