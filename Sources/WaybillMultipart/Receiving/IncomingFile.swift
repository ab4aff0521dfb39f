import Glibc
import WaybillCore

/// A file of a form that is not kept yet: without a name, or with a hidden one.
///
/// Call its methods on the pool, one call at a time.
final class IncomingFile: Sendable {
    let folder: UploadDirectory
    private let file: AtomicFile

    /// Creates a file in a directory.
    init(in folder: UploadDirectory) throws(BodyError) {
        self.folder = folder
        let directory = folder.descriptor
        let unnamed = try folder.attempt { () throws(SystemError) in
            folder.namesUnfinishedFiles ? nil : try AtomicFile.unnamed(of: directory)
        }
        if let unnamed {
            file = unnamed
        } else {
            let (name, descriptor) = try folder.makeLocked()
            file = AtomicFile(descriptor, named: name, in: directory)
        }
    }

    /// Creates an instance for any open file, for example `/dev/full` in tests.
    init(_ descriptor: FileDescriptor, in folder: UploadDirectory) {
        self.folder = folder
        file = AtomicFile(descriptor, in: folder.descriptor)
    }

    /// Removes the temporary name of the file. Call it as soon as that name is not needed any more: a thread of the
    /// pool may hold a reference to the file for a moment longer than the caller.
    func discard() {
        try? file.removeTemporaryName()
    }

    /// Appends a chunk.
    func append(_ chunk: [UInt8]) throws(BodyError) {
        try folder.attempt { () throws(SystemError) in try file.append(chunk) }
    }

    /// Synchronizes the file to the disk and gives it a hidden name that begins with that of a ``FormLock``.
    func commit(under lock: String) throws(BodyError) -> String {
        try folder.attempt { () throws(SystemError) in
            try file.synchronize()
            while true {
                let name = "\(lock)-\(UploadDirectory.randomName())"
                do throws(SystemError) {
                    try file.link(to: name)
                    discard()
                    return name
                } catch  where error.number == EEXIST {
                    continue
                }
            }
        }
    }
}

// Hidden names: `.incoming-` and 32 hexadecimal digits for a lock or a file that is being written. The same with a
// hyphen and 32 more digits for a file that belongs to the form with that lock. While the lock is held, its process is
// alive.
extension UploadDirectory {
    private static let prefix = ".incoming-"
    private static let lockLength = prefix.utf8.count + 32

    /// Creates a hidden file and locks it.
    func makeLocked() throws(BodyError) -> (name: String, FileDescriptor) {
        while true {
            let name = Self.prefix + Self.randomName()
            let raw = unsafe openat(descriptor.raw, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard raw >= 0 else { throw failure(.last) }
            let file = FileDescriptor(owning: raw)
            // Set the mode explicitly, independent of the umask.
            fchmod(raw, 0o600)
            flock(raw, LOCK_EX)
            // Between the two calls, another process may have removed it as a leftover of a crash.
            if let status = try? file.status(), status.st_nlink > 0 { return (name, file) }
        }
    }

    /// Links a file to its final name: the suggested one, with a number if it exists, or a random one.
    func link(_ hidden: String, suggestion: String?) throws(BodyError) -> String {
        if let suggestion {
            for number in 1...1_000 {
                let name = number == 1 ? suggestion : SafeFileName.numbered(suggestion, number)
                if try link(hidden, to: name) { return name }
            }
        }
        while true {
            let name = Self.randomName()
            if try link(hidden, to: name) { return name }
        }
    }

    /// - Returns: `false` if the name exists.
    private func link(_ hidden: String, to name: String) throws(BodyError) -> Bool {
        guard unsafe linkat(descriptor.raw, hidden, descriptor.raw, name, 0) != 0 else { return true }
        let error = SystemError.last
        if error.number == EEXIST { return false }
        throw failure(error)
    }

    func remove(_ name: String) {
        unsafe _ = unlinkat(descriptor.raw, name, 0)
    }

    /// Synchronizes the directory to the disk.
    func synchronize() throws(BodyError) {
        try attempt { () throws(SystemError) in try descriptor.synchronizeDirectory() }
    }

    /// Removes the files of processes that ended before they kept or removed them.
    static func removeAbandoned(in folder: FileDescriptor) {
        for name in names(in: folder) where name.hasPrefix(prefix) {
            let isOfForm = name.utf8.count == lockLength + 33
            guard isOfForm || name.utf8.count == lockLength, isAbandoned(String(name.prefix(lockLength)), in: folder)
            else { continue }
            unsafe _ = unlinkat(folder.raw, name, 0)
        }
    }

    /// Whether the lock is free, which means that the process that collected the form has ended.
    private static func isAbandoned(_ lock: String, in folder: FileDescriptor) -> Bool {
        let raw = unsafe openat(folder.raw, lock, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else { return errno == ENOENT }
        defer { close(raw) }
        return flock(raw, LOCK_EX | LOCK_NB) == 0
    }

    /// Returns all names, before any file is removed: a lock may precede or follow its files in the directory.
    private static func names(in folder: FileDescriptor) -> [String] {
        let copy = unsafe openat(folder.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = unsafe fdopendir(copy) else { return [] }
        defer { unsafe _ = closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe names.append(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
            }
        }
        return names
    }

    static func randomName() -> String {
        var name = ""
        for _ in 0..<2 {
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            name += String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        return name
    }

    /// Runs system calls and converts their error.
    func attempt<Value>(_ calls: () throws(SystemError) -> Value) throws(BodyError) -> Value {
        do {
            return try calls()
        } catch {
            throw failure(error)
        }
    }

    func failure(_ error: SystemError) -> BodyError {
        switch error.number {
        // EFBIG: the file exceeds the size limit of the process (`ulimit -f`).
        case ENOSPC, EDQUOT, EFBIG:
            BodyError(
                .diskFull, "No space left in \(path): \(error). The partial file was removed.", path: path,
                cause: error)
        default:
            BodyError(.writeFailed, "Could not write a file to \(path): \(error).", path: path, cause: error)
        }
    }
}
