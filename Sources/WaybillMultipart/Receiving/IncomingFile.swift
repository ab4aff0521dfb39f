import Glibc
import WaybillCore

/// A file on its way into a folder: without a name until it is complete.
///
/// To be called on the pool, one call at a time.
final class IncomingFile: Sendable {
    private let folder: UploadFolder
    private let descriptor: FileDescriptor
    private let temporaryName: String?

    /// `O_TMPFILE`, which glibc shows only with _GNU_SOURCE: a bit of its own (`asm-generic/fcntl.h`) and O_DIRECTORY.
    private static let withoutName: Int32 = 0o20000000 | O_DIRECTORY
    private static let temporaryPrefix = ".incoming-"

    /// Makes a file in a folder.
    init(in folder: UploadFolder) throws(BodyError) {
        self.folder = folder
        var raw: Int32 = -1
        errno = EOPNOTSUPP
        if !folder.namesUnfinishedFiles {
            raw = unsafe openat(folder.descriptor.raw, ".", O_WRONLY | O_CLOEXEC | Self.withoutName, 0o600)
        }
        var temporaryName: String?
        if raw < 0, [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(errno) {
            let name = Self.temporaryPrefix + Self.randomName()
            raw = unsafe openat(
                folder.descriptor.raw, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            // Who holds the lock is alive: nobody takes the file for an abandoned one.
            if raw >= 0 {
                flock(raw, LOCK_EX | LOCK_NB)
                temporaryName = name
            }
        }
        guard raw >= 0 else { throw Self.failure(.last, folder) }
        self.temporaryName = temporaryName
        descriptor = FileDescriptor(owning: raw)
        // The umask has no say.
        fchmod(raw, 0o600)
    }

    /// Takes any open file for one; tests hand in one that is always full.
    init(_ descriptor: FileDescriptor, in folder: UploadFolder) {
        self.folder = folder
        self.descriptor = descriptor
        temporaryName = nil
    }

    deinit {
        if let temporaryName { unsafe _ = unlinkat(folder.descriptor.raw, temporaryName, 0) }
    }

    /// Writes a chunk.
    func append(_ chunk: [UInt8]) throws(BodyError) {
        var start = 0
        while start < chunk.count {
            let written = unsafe chunk.withUnsafeBytes { bytes in
                unsafe write(descriptor.raw, bytes.baseAddress! + start, bytes.count - start)
            }
            if written > 0 {
                start += written
            } else if written == 0 || errno != EINTR {
                throw Self.failure(written == 0 ? SystemError(ENOSPC) : .last, folder)
            }
        }
    }

    /// Puts the file on the disk and gives it its name: the suggested one, with a number if it is taken, or a random one.
    func commit(as suggestion: String?) throws(BodyError) -> String {
        guard fsync(descriptor.raw) == 0 || errno == EINVAL else { throw Self.failure(.last, folder) }
        if let suggestion {
            for number in 1...1_000 {
                let name = number == 1 ? suggestion : SafeFileName.numbered(suggestion, number)
                if try link(to: name) { return name }
            }
        }
        while true {
            let name = Self.randomName()
            if try link(to: name) { return name }
        }
    }

    /// - Returns: False when something has that name already.
    private func link(to name: String) throws(BodyError) -> Bool {
        let place = folder.descriptor.raw
        let result =
            unsafe temporaryName.map { unsafe linkat(place, $0, place, name, 0) }
            ?? linkat(AT_FDCWD, "/proc/self/fd/\(descriptor.raw)", place, name, AT_SYMLINK_FOLLOW)
        guard result != 0 else { return true }
        let error = SystemError.last
        if error.number == EEXIST { return false }
        throw Self.failure(error, folder)
    }

    /// Removes what a process left that ended while it wrote.
    static func removeAbandoned(in folder: FileDescriptor) {
        let copy = unsafe openat(folder.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = unsafe fdopendir(copy) else { return }
        defer { unsafe _ = closedir(stream) }
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix(temporaryPrefix), name.utf8.count == temporaryPrefix.utf8.count + 32 else { continue }
            let raw = unsafe openat(folder.raw, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard raw >= 0 else { continue }
            if flock(raw, LOCK_EX | LOCK_NB) == 0 { unsafe _ = unlinkat(folder.raw, name, 0) }
            close(raw)
        }
    }

    private static func randomName() -> String {
        var name = ""
        for _ in 0..<2 {
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            name += String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        return name
    }

    private static func failure(_ error: SystemError, _ folder: UploadFolder) -> BodyError {
        switch error.number {
        // EFBIG: the process may not write files as large as that (`ulimit -f`).
        case ENOSPC, EDQUOT, EFBIG:
            BodyError(
                .diskFull, "There is no room in \(folder.path): \(error). Nothing is left of the file.",
                path: folder.path, cause: error)
        default:
            BodyError(
                .writeFailed, "No file can be written in \(folder.path): \(error).", path: folder.path, cause: error)
        }
    }
}
