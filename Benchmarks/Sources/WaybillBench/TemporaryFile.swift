import Glibc

/// A file of zeros that takes no room on the disk; gone with the value.
final class TemporaryFile {
    let path: String

    /// Makes the file. A warm one is read once, so that its pages are in memory when the measured run comes.
    init(byteCount: Int, isWarm: Bool) throws(BenchError) {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(folder)/waybill-bench.XXXXXX".utf8CString)
        let fd = mkstemp(&template)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard fd >= 0, ftruncate(fd, byteCount) == 0 else {
            throw BenchError("A temporary file can't be made in \(folder) (errno \(errno)).")
        }
        if isWarm {
            var chunk = [UInt8](repeating: 0, count: 1 << 20)
            while read(fd, &chunk, chunk.count) > 0 {}
        }
        close(fd)
    }

    deinit { unlink(path) }
}
