import CWaybillFiles
import Glibc

/// Sizes of files that have not been opened.
package enum FileSize {
    /// Returns the size of a regular file, or `nil` if the path is not one. Uses the reader pool if it has to wait.
    package static func of(_ path: String) async -> Int64? {
        guard !path.utf8.contains(0) else { return nil }
        var status = stat()
        if unsafe wb_stat_cached(path, &status) == 0 { return size(status) }
        guard errno != ENOENT else { return nil }
        let found = try? await ReaderPool.shared.run(reading: path) { () throws(BodyError) -> Int64? in
            var status = stat()
            return unsafe stat(path, &status) == 0 ? size(status) : nil
        }
        return found ?? nil
    }

    private static func size(_ status: stat) -> Int64? {
        status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : nil
    }
}

/// Returns the file system type of a path, as numbered by statfs(2); `nil` if it cannot be determined.
package func fileSystemType(of path: String) -> UInt32? {
    let type = unsafe wb_file_system_type(path)
    return type < 0 ? nil : UInt32(truncatingIfNeeded: type)
}
