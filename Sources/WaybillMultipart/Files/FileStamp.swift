import CWaybillFiles
import Glibc
import WaybillCore

/// The attributes that identify the state of a file.
package struct FileStamp: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    package let modified: Timestamp
    package let changed: Timestamp

    /// A timestamp of the file system.
    package struct Timestamp: Sendable, Hashable {
        package let seconds: Int
        package let nanoseconds: Int
    }

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Timestamp(seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
        changed = Timestamp(seconds: status.st_ctim.tv_sec, nanoseconds: status.st_ctim.tv_nsec)
    }

    /// Creates the stamp of a file that is private to this process.
    init(size: Int64) {
        device = 0
        inode = 0
        self.size = size
        modified = Timestamp(seconds: 0, nanoseconds: 0)
        changed = modified
    }

    /// Returns the difference between this stamp and a later one, or `nil` if they are equal.
    package func change(to later: FileStamp) -> SourceChange? {
        if later.device != device || later.inode != inode { return .replaced }
        if later.size < size { return .shrank }
        if later.size > size { return .grew }
        if later.modified != modified || later.changed != changed { return .modified }
        return nil
    }
}

extension FileDescriptor {
    /// Returns the current status of the file.
    func status() throws(SystemError) -> stat {
        var status = stat()
        guard unsafe fstat(raw, &status) == 0 else { throw SystemError.last }
        return status
    }
}

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
