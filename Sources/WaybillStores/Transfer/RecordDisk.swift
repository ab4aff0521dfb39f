import Glibc
import WaybillCore
import WaybillMultipart

/// The system calls behind records. Each opens by name in a folder that is open already, follows no link, and looks at
/// whose the file is before it believes a byte of it.
enum RecordDisk {
    /// The largest file that is read as a record: ten thousand parts take two megabytes.
    static let largest = 8 << 20

    /// Runs work where waiting for a disk is allowed.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError>
        do throws(BodyError) {
            result = try await ReaderPool.shared.run { () throws(BodyError) in
                Result { () throws(StoreError) in try work() }
            }
        } catch {
            throw StoreError(.recordFolderUnusable, error.message, cause: error)
        }
        return try result.get()
    }

    /// Opens a folder that is ours alone, and makes it if nothing is there.
    static func openFolder(_ path: String) throws(StoreError) -> FileDescriptor {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw StoreError(.recordFolderUnusable, "the folder of records needs an absolute path: \(shown(path))")
        }
        makeFolders(path)
        let raw = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw unusable(path, "can't be opened: \(SystemError.last)") }
        let folder = FileDescriptor(owning: raw)
        let status = try look(at: folder, path)
        guard status.st_uid == geteuid() else { throw unusable(path, "belongs to somebody else") }
        guard status.st_mode & 0o077 == 0 else {
            throw unusable(path, "is open to others: give it mode 0700")
        }
        return folder
    }

    /// Locks a file, which is made for that; `nil` when somebody else has locked it.
    static func lock(_ name: String, in folder: FileDescriptor, _ path: String) throws(StoreError) -> FileDescriptor? {
        while true {
            let raw = unsafe openat(folder.raw, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard raw >= 0 else { throw unusable(path, "takes no lock file: \(SystemError.last)") }
            let file = FileDescriptor(owning: raw)
            let status = try look(at: file, path)
            guard status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG else {
                throw unusable(path, "has a lock file that is not ours")
            }
            guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK || errno == EINTR else {
                    throw unusable(path, "takes no locks: \(SystemError.last)")
                }
                return nil
            }
            // Whoever had it may have removed it in between: then this lock is on a file that nobody else finds.
            var named = stat()
            if unsafe fstatat(folder.raw, name, &named, AT_SYMLINK_NOFOLLOW) == 0, named.st_ino == status.st_ino,
                named.st_dev == status.st_dev
            {
                return file
            }
        }
    }

    /// The bytes of a file that is ours alone; `nil` when there is none.
    static func read(_ name: String, in folder: FileDescriptor, _ path: String) throws(StoreError) -> [UInt8]? {
        let raw = unsafe openat(folder.raw, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else {
            if errno == ENOENT { return nil }
            if errno == ELOOP { throw refused(path, "is a link") }
            throw refused(path, "can't be opened: \(SystemError.last)")
        }
        let file = FileDescriptor(owning: raw)
        let status = try look(at: file, path)
        guard status.st_mode & S_IFMT == S_IFREG else { throw refused(path, "is no file") }
        guard status.st_uid == geteuid() else { throw refused(path, "belongs to somebody else") }
        guard status.st_mode & 0o077 == 0 else { throw refused(path, "is open to others") }
        guard status.st_nlink == 1 else { throw refused(path, "has a second name") }
        // Too large for a record is torn for whoever reads it.
        guard status.st_size <= largest else { return [] }
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

    /// Writes a file beside, brings it to the disk, and gives it the name.
    static func replace(
        _ name: String, in folder: FileDescriptor, with bytes: [UInt8], _ path: String
    ) throws(StoreError) {
        let fresh = "\(name).new"
        // One that a crash left; whoever holds the lock is alone here.
        remove(fresh, in: folder)
        do {
            let file = try NewFile.named(fresh, in: folder)
            try file.append(bytes)
            try file.synchronize()
            try file.replace(name)
        } catch {
            throw unusable(path, "can't be written: \(error)")
        }
        // The new name is on the disk only when the folder is. A file system that can't do that has done what it can.
        _ = fsync(folder.raw)
    }

    /// Removes a file; one that is not there is removed already.
    static func remove(_ name: String, in folder: FileDescriptor) {
        unsafe _ = unlinkat(folder.raw, name, 0)
    }

    private static func makeFolders(_ path: String) {
        var made = ""
        for step in path.split(separator: "/") {
            made += "/\(step)"
            // What can't be made shows when the last one is opened.
            unsafe _ = mkdir(made, 0o700)
        }
    }

    private static func look(at file: FileDescriptor, _ path: String) throws(StoreError) -> stat {
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else {
            throw unusable(path, "can't be looked at: \(SystemError.last)")
        }
        return status
    }

    private static func shown(_ path: String) -> String { StoreError.shown(path) }

    private static func unusable(_ path: String, _ why: String) -> StoreError {
        StoreError(
            .recordFolderUnusable,
            "the folder of records can't be used: \(shown(path)) \(why). Another one will do, or none")
    }

    private static func refused(_ path: String, _ why: String) -> StoreError {
        StoreError(.recordRefused, "the record \(shown(path)) \(why): look whose it is, and remove it")
    }
}
