import Glibc

/// A directory for a test, removed with the object.
@safe final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/waybill-multipart-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Failure(what: "mkdtemp", number: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in (try? list()) ?? [] { unsafe unlink("\(path)/\(name)") }
        unsafe rmdir(path)
    }

    struct Failure: Error {
        let what: String
        let number: Int32
    }

    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let file = "\(path)/\(name)"
        try write(bytes, to: file, flags: O_WRONLY | O_CREAT | O_TRUNC)
        return file
    }

    /// Creates a sparse file of the given size.
    func sparse(_ name: String, _ size: Int) throws -> String {
        let path = try file(name, [])
        guard unsafe truncate(path, off_t(size)) == 0 else { throw Failure(what: "truncate \(path)", number: errno) }
        return path
    }

    func append(_ bytes: [UInt8], to file: String) throws {
        try write(bytes, to: file, flags: O_WRONLY | O_APPEND)
    }

    func list() throws -> [String] {
        guard let directory = unsafe opendir(path) else { throw Failure(what: "opendir", number: errno) }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private func write(_ bytes: [UInt8], to file: String, flags: Int32) throws {
        let descriptor = unsafe open(file, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(what: "open \(file)", number: errno) }
        defer { close(descriptor) }
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure(what: "write \(file)", number: errno)
        }
    }
}

func contents(of path: String) throws -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw TemporaryDirectory.Failure(what: "open \(path)", number: errno) }
    defer { close(descriptor) }
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = unsafe read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return result }
        result += buffer[..<count]
    }
}

/// Returns how many descriptors of this process are open on a path.
func openDescriptors(on path: String) -> Int { openDescriptors(onAnyOf: [path]) }

/// Returns how many descriptors of this process are open on any of the paths.
func openDescriptors(onAnyOf paths: Set<String>) -> Int {
    openPaths().count { path in
        let deleted = " (deleted)"
        return paths.contains(path) || path.hasSuffix(deleted) && paths.contains(String(path.dropLast(deleted.count)))
    }
}

/// Returns how many descriptors of this process are open on files in a directory, including unnamed ones.
func openDescriptors(under folder: String) -> Int { openPaths().count { $0.hasPrefix(folder + "/") } }

/// Returns the target of every descriptor of this process (proc(5)).
private func openPaths() -> [String] {
    var paths: [String] = []
    guard let directory = unsafe opendir("/proc/self/fd") else { fatalError("/proc is not there") }
    defer { unsafe closedir(directory) }
    while let entry = unsafe readdir(directory) {
        let path = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
            unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { target in
                let length = unsafe readlinkat(
                    dirfd(directory), name.bindMemory(to: CChar.self).baseAddress!, target.baseAddress!, 512)
                let bytes = unsafe UnsafeRawBufferPointer(target).prefix(max(0, length))
                return unsafe String(decoding: bytes, as: UTF8.self)
            }
        }
        paths.append(path)
    }
    return paths
}

/// Returns link count, mode and size of an open file.
func facts(of descriptor: Int32) -> (links: Int, mode: UInt32, size: Int64) {
    var status = stat()
    unsafe fstat(descriptor, &status)
    return (Int(status.st_nlink), status.st_mode & 0o777, Int64(status.st_size))
}

/// Returns whether all files in a directory are closed within ten seconds: a thread of the pool may keep a descriptor
/// for a moment after it has responded.
func descriptorsClose(under folder: String) async -> Bool {
    for _ in 0..<1_000 {
        if openDescriptors(under: folder) == 0 { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}
