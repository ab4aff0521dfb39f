import Glibc

/// A file that gets its name when it is complete.
///
/// Its bytes are written to a file without a name (`O_TMPFILE`, open(2)), which the system removes if the process ends
/// early. On a file system without such files it has a temporary name, which is removed with the value.
///
/// Names are relative to a directory that the caller has open, or paths. The umask does not apply to the mode.
package final class NewFile: Sendable {
    package let descriptor: FileDescriptor
    private let directory: FileDescriptor?
    private let temporaryName: Locked<String?>

    /// Makes a value of an open file and its temporary name.
    package init(_ descriptor: FileDescriptor, named name: String? = nil, in directory: FileDescriptor? = nil) {
        self.descriptor = descriptor
        self.directory = directory
        temporaryName = Locked(name)
    }

    deinit {
        try? removeTemporaryName()
    }

    /// Opens a file that will get this path. With `isNamed`, it has a temporary name on every file system.
    package static func make(
        for path: String, mode: UInt32 = 0o600, access: Int32 = O_WRONLY, isNamed: Bool = false
    ) throws(SystemError) -> NewFile {
        if !isNamed, let file = try withoutName(in: parent(of: path), mode: mode, access: access) { return file }
        return try named(temporaryName(beside: path), mode: mode, access: access)
    }

    /// Opens a file without a name, or returns `nil` where the file system supports none.
    package static func withoutName(
        in path: String = ".", of directory: FileDescriptor? = nil, mode: UInt32 = 0o600, access: Int32 = O_WRONLY
    ) throws(SystemError) -> NewFile? {
        let raw = unsafe SystemPath.with(path) {
            unsafe openat(directory.place, $0, access | O_CLOEXEC | withoutName, mode)
        }
        guard raw >= 0 else {
            let error = SystemError.last
            // These would fail a file with a name, too. All others mean that there are no files without one here.
            guard ![ENOSPC, EDQUOT, EROFS, EMFILE, ENFILE].contains(error.number) else { throw error }
            return nil
        }
        fchmod(raw, mode)
        return NewFile(FileDescriptor(owning: raw), in: directory)
    }

    /// Creates a file with a temporary name. Fails with `EEXIST` if something has that name.
    package static func named(
        _ name: String, in directory: FileDescriptor? = nil, mode: UInt32 = 0o600, access: Int32 = O_WRONLY
    ) throws(SystemError) -> NewFile {
        let raw = unsafe SystemPath.with(name) {
            unsafe openat(directory.place, $0, access | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        }
        guard raw >= 0 else { throw SystemError.last }
        fchmod(raw, mode)
        return NewFile(FileDescriptor(owning: raw), named: name, in: directory)
    }

    /// Returns whether something has this path. A symbolic link is not followed.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe SystemPath.with(path) { unsafe lstat($0, &status) } == 0
    }

    /// Writes some bytes behind the others.
    package func append(_ bytes: [UInt8]) throws(SystemError) { try descriptor.write(bytes) }

    /// Brings the content to the disk.
    package func synchronize() throws(SystemError) { try descriptor.synchronize() }

    /// Adds a name. Fails with `EEXIST` if something has it, so that no other file is lost to a race.
    package func link(to name: String) throws(SystemError) {
        let temporary = temporaryName.withLock { $0 }
        let code = unsafe SystemPath.with(temporary ?? "/proc/self/fd/\(descriptor.raw)") { from in
            unsafe SystemPath.with(name) {
                unsafe linkat(
                    directory.place, from, directory.place, $0, temporary == nil ? AT_SYMLINK_FOLLOW : 0)
            }
        }
        guard code != 0 else { return }
        let error = SystemError.last
        guard temporary != nil, [EPERM, EOPNOTSUPP, ENOSYS].contains(error.number) else { throw error }
        // A file system without hard links, such as exFAT: reserve the name, and replace what has reserved it.
        let reserved = try Self.named(name, in: directory)
        try replace(name)
        reserved.keepName()
    }

    /// Takes a name, and replaces what has it. A symbolic link is replaced, not followed.
    package func replace(_ name: String) throws(SystemError) {
        var temporary = temporaryName.withLock { $0 }
        if temporary == nil {
            let new = Self.temporaryName(beside: name)
            try link(to: new)
            temporaryName.withLock { $0 = new }
            temporary = new
        }
        let code = unsafe SystemPath.with(temporary ?? "") { from in
            unsafe SystemPath.with(name) { unsafe renameat(directory.place, from, directory.place, $0) }
        }
        guard code == 0 else { throw SystemError.last }
        keepName()
    }

    /// Makes the temporary name the name of the file.
    package func keepName() { temporaryName.withLock { $0 = nil } }

    /// Removes the temporary name. The file exists until its descriptor is closed.
    package func removeTemporaryName() throws(SystemError) {
        guard let name = temporaryName.withLock({ $0.take() }) else { return }
        guard unsafe SystemPath.with(name, { unsafe unlinkat(directory.place, $0, 0) }) == 0 else { throw .last }
    }

    /// `O_TMPFILE`, which glibc shows only with _GNU_SOURCE: a bit of its own (`asm-generic/fcntl.h`) and O_DIRECTORY.
    private static let withoutName: Int32 = 0o20000000 | O_DIRECTORY

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func temporaryName(beside path: String) -> String {
        "\(parent(of: path))/.waybill-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    }
}

extension FileDescriptor? {
    /// The descriptor that system calls resolve names by.
    fileprivate var place: Int32 { self?.raw ?? AT_FDCWD }
}
