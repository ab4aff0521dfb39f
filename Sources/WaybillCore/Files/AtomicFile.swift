import Glibc

/// A file that receives its name when it is complete.
///
/// Its bytes are written to an unnamed file (`O_TMPFILE`, open(2)), which the system removes if the process ends early.
/// On a file system without such files, it has a temporary name, which is removed when the value is released.
///
/// Names are paths or relative to a directory that the caller has opened. The umask does not apply to the mode.
package final class AtomicFile: Sendable {
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

    /// Opens a file that will be published at `path`. With `isNamed`, it always has a temporary name.
    package static func make(
        for path: String, mode: UInt32 = 0o600, access: Int32 = O_WRONLY, isNamed: Bool = false
    ) throws(SystemError) -> AtomicFile {
        if !isNamed, let file = try unnamed(in: parent(of: path), mode: mode, access: access) { return file }
        return try named(temporaryName(beside: path), mode: mode, access: access)
    }

    /// Opens an unnamed file, or returns `nil` if the file system does not support unnamed files.
    package static func unnamed(
        in path: String = ".", of directory: FileDescriptor? = nil, mode: UInt32 = 0o600, access: Int32 = O_WRONLY
    ) throws(SystemError) -> AtomicFile? {
        let raw = unsafe SystemPath.with(path) {
            unsafe openat(directory.rawOrCurrent, $0, access | O_CLOEXEC | unnamedFlags, mode)
        }
        guard raw >= 0 else {
            let error = SystemError.last
            // These errors would affect a named file, too. All others mean that unnamed files are not supported.
            guard ![ENOSPC, EDQUOT, EROFS, EMFILE, ENFILE].contains(error.number) else { throw error }
            return nil
        }
        fchmod(raw, mode)
        return AtomicFile(FileDescriptor(owning: raw), in: directory)
    }

    /// Creates a file with a temporary name. Fails with `EEXIST` if the name exists.
    package static func named(
        _ name: String, in directory: FileDescriptor? = nil, mode: UInt32 = 0o600, access: Int32 = O_WRONLY
    ) throws(SystemError) -> AtomicFile {
        let raw = unsafe SystemPath.with(name) {
            unsafe openat(directory.rawOrCurrent, $0, access | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        }
        guard raw >= 0 else { throw SystemError.last }
        fchmod(raw, mode)
        return AtomicFile(FileDescriptor(owning: raw), named: name, in: directory)
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
