internal import CTestSupport
internal import Glibc

/// A temporary directory (0700), removed with the value.
///
/// ```swift
/// let directory = try TemporaryDirectory()
/// let path = try directory.write("card.jpg", bytes)
/// ```
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// Creates a directory in `TMPDIR`, or else in `/tmp`.
    package convenience init() throws {
        try self.init(in: unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp")
    }

    /// Creates a directory for sparse files. Reading a hole on a disk's file system fills the page cache; on
    /// `/dev/shm` it does not.
    package static func forSparseFiles() throws -> TemporaryDirectory {
        try unsafe access("/dev/shm", W_OK) == 0 ? TemporaryDirectory(in: "/dev/shm") : TemporaryDirectory()
    }

    private init(in base: String) throws {
        var template = Array("\(base)/waybill-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemCallFailure(call: "mkdtemp", code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        unsafe cts_remove_tree(path)
    }

    /// Returns the path of a name in the directory.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = path(name)
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemCallFailure(call: "open", code: errno) }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress!, $0.count) }
            guard count > 0 else { throw SystemCallFailure(call: "write", code: errno) }
            rest = rest.dropFirst(count)
        }
        return path
    }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }

    /// Creates a sparse file of zeros, which uses no disk space whatever its size.
    package func writeSparse(_ name: String, size: Int) throws -> String {
        let path = try write(name, [])
        guard unsafe truncate(path, size) == 0 else { throw SystemCallFailure(call: "truncate", code: errno) }
        return path
    }

    /// Overwrites bytes of a file in the directory.
    package func overwrite(_ name: String, at offset: Int, _ bytes: [UInt8]) throws {
        let file = unsafe open(path(name), O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw SystemCallFailure(call: "open", code: errno) }
        defer { close(file) }
        guard unsafe pwrite(file, bytes, bytes.count, off_t(offset)) == bytes.count else {
            throw SystemCallFailure(call: "pwrite", code: errno)
        }
    }

    /// Returns the contents of a file in the directory.
    package func read(_ name: String) throws -> [UInt8] { try readFile(path(name)) }

    /// Returns the names in the directory, sorted.
    package func names() throws -> [String] {
        guard let directory = unsafe opendir(path) else { throw SystemCallFailure(call: "opendir", code: errno) }
        defer { unsafe _ = closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

/// Returns the contents of a file.
package func readFile(_ path: String) throws -> [UInt8] {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw SystemCallFailure(call: "open \(path)", code: errno) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(file, $0.baseAddress!, $0.count) }
        guard count >= 0 else { throw SystemCallFailure(call: "read \(path)", code: errno) }
        if count == 0 { return bytes }
        bytes += buffer[..<count]
    }
}
