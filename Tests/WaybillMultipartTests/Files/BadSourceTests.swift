import TestSupport
import Glibc
import Testing
import WaybillCore
import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct BadSourceTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Returns the error for a path as a part and as a whole body. Both must be the same.
    func error(of path: String) async throws -> BodyError {
        let asPart = await #expect(throws: BodyError.self) {
            try await MultipartForm([.text("t", "v"), .file("FILE", path: path)]).prepared()
        }
        let asBody = #expect(throws: BodyError.self) { try FileBody(path: path) }
        let error = try #require(asPart)
        #expect(error.code == asBody?.code)
        #expect(error.part == "FILE" && error.partIndex == 1 && error.path == path)
        #expect(error.message.hasPrefix("Part 2 (\"FILE\"): "))
        return error
    }

    @Test func `a missing file is not found`() async throws {
        #expect(try await error(of: directory.path + "/none.jpg").code == .fileNotFound)
        let file = try directory.file("file", [1])
        #expect(try await error(of: file + "/below").code == .fileNotFound)
        #expect(try await error(of: "").code == .fileNotFound)
        #expect(try await error(of: directory.path + "\0/a.jpg").code == .fileNotFound)
    }

    @Test func `a directory is not a regular file`() async throws {
        #expect(try await error(of: directory.path).code == .notARegularFile)
    }

    @Test func `a FIFO is not a regular file and is not waited for`() async throws {
        let path = directory.path + "/fifo"
        try #require(unsafe mkfifo(path, 0o600) == 0)
        let error = try await error(of: path)
        #expect(error.code == .notARegularFile && error.message.contains("FIFO"))
    }

    @Test(arguments: ["/dev/null", "/dev/zero"])
    func `a device is not a regular file`(path: String) async throws {
        let error = try await error(of: path)
        #expect(error.code == .notARegularFile && error.message.contains("device"))
    }

    @Test func `a socket is not a regular file`() async throws {
        let path = directory.path + "/socket"
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        #expect(try await error(of: path).code == .notARegularFile)
    }

    @Test func `an unreadable file is not readable`() async throws {
        var path = try directory.file("locked", [1])
        unsafe chmod(path, 0)
        if geteuid() == 0 {
            // Root can read everything except the kernel's write-only files.
            let switches = ["/proc/sys/vm/compact_memory", "/proc/sys/net/ipv4/route/flush"]
            path = try #require(switches.first { unsafe access($0, F_OK) == 0 }, "no file here that root can't read")
        }
        let error = try await error(of: path)
        #expect(error.code == .fileNotReadable)
        #expect(error.message.contains("permission"))
    }

    @Test func `a file that hides its length is refused`() async throws {
        let error = try await error(of: "/proc/self/status")
        #expect(error.code == .notARegularFile && error.message.contains("/proc"))
    }

    @Test func `a path through a link is accepted if it ends at a file`() async throws {
        let target = try directory.file("target", pattern(1_000))
        try #require(unsafe symlink(target, directory.path + "/link") == 0)
        let body = try FileBody(path: directory.path + "/link")
        #expect(try await allBytes(of: body) == pattern(1_000))
    }
}
