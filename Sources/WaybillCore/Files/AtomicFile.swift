import Glibc

/// A file that receives its name when it is complete.
///
/// Its bytes are written to an unnamed file (`O_TMPFILE`, open(2)), which the system removes if the process ends early.
/// On a file system without such files, it has a temporary name, which is removed when the value is released.
///
/// Names are paths or relative to a directory that the caller has opened.
package final class AtomicFile: Sendable {
    /// The permissions of a new file.
    package enum Mode: Sendable, Hashable {
        /// These, whatever the umask.
        case exactly(UInt32)
        /// These without those of the umask.
        case masked(UInt32)

        /// Only its owner has access.
        package static let confidential = exactly(0o600)

        /// The permissions of a copy of a file: as `cp` creates it, but its owner can always write it. Without a file,
        /// those with which most programs create files.
        package static func copy(of path: String?) -> Mode {
            var status = stat()
            guard let path, unsafe SystemPath.with(path, { unsafe stat($0, &status) }) == 0 else {
                return .masked(0o666)
            }
            return .masked(status.st_mode & 0o666 | 0o600)
        }

        fileprivate var bits: UInt32 {
            switch self {
            case .exactly(let bits), .masked(let bits): bits
            }
        }
    }

    package let descriptor: FileDescriptor
    private let directory: FileDescriptor?
    private let temporaryName: Locked<String?>

    /// Creates a value from an open file and its temporary name.
    package init(_ descriptor: FileDescriptor, named name: String? = nil, in directory: FileDescriptor? = nil) {
        self.descriptor = descriptor
        self.directory = directory
        temporaryName = Locked(name)
    }

    deinit {
        try? removeTemporaryName()
    }

    /// Opens a file that will be published at `path`. With `replaces`, it has the permissions of a regular file at that
    /// path, if there is one. With `isNamed`, it always has a temporary name.
    package static func make(
        for path: String, mode: Mode = .confidential, access: Int32 = O_WRONLY, replaces: Bool = false,
        isNamed: Bool = false
    ) throws(SystemError) -> AtomicFile {
        let mode = replaces ? modeOfFile(path) ?? mode : mode
        if !isNamed, let file = try unnamed(in: parent(of: path), mode: mode, access: access) { return file }
        return try named(temporaryName(beside: path), mode: mode, access: access)
    }

    private static func modeOfFile(_ path: String) -> Mode? {
        var status = stat()
        guard unsafe SystemPath.with(path, { unsafe lstat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFREG
        else {
            return nil
        }
        return .exactly(status.st_mode & 0o777)
    }

    /// Opens an unnamed file, or returns `nil` if the file system does not support unnamed files.
    package static func unnamed(
        in path: String = ".", of directory: FileDescriptor? = nil, mode: Mode = .confidential, access: Int32 = O_WRONLY
    ) throws(SystemError) -> AtomicFile? {
        let raw = unsafe SystemPath.with(path) {
            unsafe openat(directory.rawOrCurrent, $0, access | O_CLOEXEC | unnamedFlags, mode.bits)
        }
        guard raw >= 0 else {
            let error = SystemError.last
            // These errors would affect a named file, too. All others mean that unnamed files are not supported.
            guard ![ENOSPC, EDQUOT, EROFS, EMFILE, ENFILE].contains(error.number) else { throw error }
            return nil
        }
        return AtomicFile(created(raw, mode), in: directory)
    }

    /// Creates a file with a temporary name. Fails with `EEXIST` if the name exists.
    package static func named(
        _ name: String, in directory: FileDescriptor? = nil, mode: Mode = .confidential, access: Int32 = O_WRONLY
    ) throws(SystemError) -> AtomicFile {
        let raw = unsafe SystemPath.with(name) {
            unsafe openat(directory.rawOrCurrent, $0, access | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode.bits)
        }
        guard raw >= 0 else { throw SystemError.last }
        return AtomicFile(created(raw, mode), named: name, in: directory)
    }

    /// Returns the descriptor of a new file, from whose permissions the system removed those of the umask.
    private static func created(_ raw: Int32, _ mode: Mode) -> FileDescriptor {
        if case .exactly(let bits) = mode { fchmod(raw, bits) }
        return FileDescriptor(owning: raw)
    }

    /// What a path refers to at which a file is to be published.
    package enum Destination: Sendable, Hashable {
        /// The path does not exist, or cannot be looked at; creating the file reports the reason.
        case free
        /// A regular file or a symbolic link, which ``AtomicFile/replace(_:)`` replaces.
        case file
        case directory
        /// A device, a pipe or a socket. It is not to be replaced: others write to it.
        case special
    }

    /// Returns what a path refers to. Does not follow a symbolic link.
    package static func destination(_ path: String) -> Destination {
        var status = stat()
        guard unsafe SystemPath.with(path, { unsafe lstat($0, &status) }) == 0 else { return .free }
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFLNK: return .file
        case S_IFDIR: return .directory
        default: return .special
        }
    }

    /// Writes bytes at the file's current position.
    package func append(_ bytes: [UInt8]) throws(SystemError) { try descriptor.write(bytes) }

    /// Flushes the content to disk.
    package func synchronize() throws(SystemError) { try descriptor.synchronize() }

    /// Adds a name. Fails with `EEXIST` if the name exists, so a race never overwrites another file.
    package func link(to name: String) throws(SystemError) {
        let temporary = temporaryName.withLock { $0 }
        let code = unsafe SystemPath.with(temporary ?? "/proc/self/fd/\(descriptor.raw)") { from in
            unsafe SystemPath.with(name) {
                unsafe linkat(
                    directory.rawOrCurrent, from, directory.rawOrCurrent, $0, temporary == nil ? AT_SYMLINK_FOLLOW : 0)
            }
        }
        guard code != 0 else { return }
        let error = SystemError.last
        guard temporary != nil, [EPERM, EOPNOTSUPP, ENOSYS].contains(error.number) else { throw error }
        // On a file system without hard links, such as exFAT, reserve the name and replace the reservation.
        let reserved = try Self.named(name, in: directory)
        try replace(name)
        reserved.keepName()
    }

    /// Renames the file to `name` and replaces an existing file. A symbolic link is replaced, not followed.
    package func replace(_ name: String) throws(SystemError) {
        var temporary = temporaryName.withLock { $0 }
        if temporary == nil {
            let new = Self.temporaryName(beside: name)
            try link(to: new)
            temporaryName.withLock { $0 = new }
            temporary = new
        }
        let code = unsafe SystemPath.with(temporary ?? "") { from in
            unsafe SystemPath.with(name) { unsafe renameat(directory.rawOrCurrent, from, directory.rawOrCurrent, $0) }
        }
        guard code == 0 else { throw SystemError.last }
        keepName()
    }

    /// Makes the temporary name permanent.
    package func keepName() { temporaryName.withLock { $0 = nil } }

    /// Removes the temporary name. The file exists until its descriptor is closed.
    package func removeTemporaryName() throws(SystemError) {
        guard let name = temporaryName.withLock({ $0.take() }) else { return }
        guard unsafe SystemPath.with(name, { unsafe unlinkat(directory.rawOrCurrent, $0, 0) }) == 0 else { throw .last }
    }

    /// `O_TMPFILE`, which glibc declares only with `_GNU_SOURCE`: its own bit (`asm-generic/fcntl.h`) and
    /// `O_DIRECTORY`.
    private static let unnamedFlags: Int32 = 0o20000000 | O_DIRECTORY

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func temporaryName(beside path: String) -> String {
        "\(parent(of: path))/.waybill-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    }
}

extension FileDescriptor? {
    /// The directory descriptor that system calls resolve names against.
    fileprivate var rawOrCurrent: Int32 { self?.raw ?? AT_FDCWD }
}
