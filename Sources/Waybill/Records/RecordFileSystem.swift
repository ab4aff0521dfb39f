import Glibc
package import WaybillCore
import WaybillMultipart

/// The system calls behind records. Each opens a name relative to an open directory, does not follow symbolic links,
/// and checks the owner of the file before it trusts the content.
package enum RecordFileSystem {
    /// The maximum size of a record file. A record of 10,000 parts has about 2 MB.
    package static let maximumFileSize = 8 << 20

    /// Runs a closure on a thread where blocking on a disk is allowed.
    package static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(RecordError) -> Value
    ) async throws(RecordError) -> Value {
        let result: Result<Value, RecordError>
        do throws(BodyError) {
            result = try await ReaderPool.shared.run { () throws(BodyError) in
                Result { () throws(RecordError) in try work() }
            }
        } catch {
            throw RecordError(.unusable, error.message)
        }
        return try result.get()
    }

    /// Opens a directory that only this user can access, and creates it if it does not exist.
    package static func openDirectory(_ path: String) throws(RecordError) -> FileDescriptor {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw RecordError(
                .unusable, "The path of the record directory must be absolute: \(shown(path))")
        }
        createDirectories(path)
        let raw = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw unusable(path, "can't be opened: \(SystemError.last)") }
        let folder = FileDescriptor(owning: raw)
        let status = try look(at: folder, path)
        guard status.st_uid == geteuid() else { throw unusable(path, "belongs to another user") }
        guard status.st_mode & 0o077 == 0 else {
            throw unusable(path, "is accessible to other users", "Set its mode to 0700.")
        }
        return folder
    }

    /// Creates and locks a file; returns `nil` if another task or process has locked it.
    package static func lock(_ name: String, in folder: FileDescriptor, _ path: String) throws(RecordError)
        -> FileDescriptor?
    {
        while true {
            let raw = unsafe openat(folder.raw, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard raw >= 0 else { throw unusable(path, "does not allow a lock file: \(SystemError.last)") }
            let file = FileDescriptor(owning: raw)
            let status = try look(at: file, path)
            guard status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG else {
                throw unusable(path, "contains a lock file of another user, or one that is not a regular file")
            }
            guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK || errno == EINTR else {
                    throw unusable(path, "does not support locks: \(SystemError.last)")
                }
                return nil
            }
            // The previous owner may have removed the file meanwhile. The lock would then be on an unlinked file: try
            // again.
            var named = stat()
            if unsafe fstatat(folder.raw, name, &named, AT_SYMLINK_NOFOLLOW) == 0, named.st_ino == status.st_ino,
                named.st_dev == status.st_dev
            {
                return file
            }
        }
    }

    /// Returns the bytes of a file that only this user can access; `nil` if it does not exist.
    package static func read(_ name: String, in folder: FileDescriptor, _ path: String) throws(RecordError) -> [UInt8]?
    {
        let raw = unsafe openat(folder.raw, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else {
            if errno == ENOENT { return nil }
            if errno == ELOOP { throw refused(path, "is a symbolic link") }
            throw refused(path, "can't be opened: \(SystemError.last)")
        }
        let file = FileDescriptor(owning: raw)
        let status = try look(at: file, path)
        guard status.st_mode & S_IFMT == S_IFREG else { throw refused(path, "is not a regular file") }
        guard status.st_uid == geteuid() else { throw refused(path, "belongs to another user") }
        guard status.st_mode & 0o077 == 0 else { throw refused(path, "is accessible to other users") }
        guard status.st_nlink == 1 else { throw refused(path, "has several hard links") }
        // A file that is too large can't be a record: return no bytes, so that it is treated as corrupt.
        guard status.st_size <= maximumFileSize else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let read = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(raw, buffer.baseAddress! + count, buffer.count - count, off_t(count))
            }
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { break }
            count += read
        }
        return Array(bytes[..<count])
    }

    /// Writes a new file, syncs it to disk, and renames it over the old one.
    package static func replace(
        _ name: String, in folder: FileDescriptor, with bytes: [UInt8], _ path: String
    ) throws(RecordError) {
        let fresh = "\(name).new"
        // Remove a leftover of a crash. The lock ensures exclusive access.
        remove(fresh, in: folder)
        do {
            let file = try AtomicFile.named(fresh, in: folder)
            try file.append(bytes)
            try file.synchronize()
            try file.replace(name)
        } catch {
            throw unusable(path, "can't be written: \(error)")
        }
        // The rename is durable only after the directory is synced. Ignore file systems that do not support this.
        _ = fsync(folder.raw)
    }

    /// Removes a file. Does nothing if it does not exist.
    package static func remove(_ name: String, in folder: FileDescriptor) {
        unsafe _ = unlinkat(folder.raw, name, 0)
    }

    private static func createDirectories(_ path: String) {
        var made = ""
        for step in path.split(separator: "/") {
            made += "/\(step)"
            // Errors are reported when the last directory is opened.
            unsafe _ = mkdir(made, 0o700)
        }
    }

    private static func look(at file: FileDescriptor, _ path: String) throws(RecordError) -> stat {
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else {
            throw unusable(path, "can't be examined: \(SystemError.last)")
        }
        return status
    }

    private static func shown(_ path: String) -> String {
        let kept = path.unicodeScalars.prefix(300)
        let isCut = kept.endIndex < path.unicodeScalars.endIndex
        return Redaction.escaped(String(String.UnicodeScalarView(kept)) + (isCut ? "…" : ""))
    }

    private static func unusable(
        _ path: String, _ why: String, _ remedy: String = "Use another directory, or none."
    ) -> RecordError {
        RecordError(.unusable, "The record directory \(shown(path)) \(why). \(remedy)")
    }

    private static func refused(_ path: String, _ why: String) -> RecordError {
        RecordError(.refused, "The record \(shown(path)) \(why). Check its owner, and remove it.")
    }
}
