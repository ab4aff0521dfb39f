import Glibc
import WaybillMultipart

/// The directory of an outbox: the queue, staged files, and the lock and socket of the owner.
package struct OutboxDirectory: Sendable {
    package let path: String

    package var queue: String { "\(path)/queue.db" }
    package var spool: String { "\(path)/spool" }
    var lock: String { "\(path)/lock" }

    /// Creates the directory for its owner only if it does not exist, and checks its file system.
    ///
    /// - Throws: ``OutboxError/Code/directoryUnusable``, ``OutboxError/Code/fileSystemRefused``.
    package init(_ path: String) throws(OutboxError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw OutboxError(.directoryUnusable, "Invalid outbox path. Use the path of a directory.")
        }
        self.path = path
        try Self.make(path)
        try Self.make(spool)
        try Self.checkOwner(path)
        try Self.checkOwner(spool)
        try Self.checkFileSystem(path)
        try syncDirectory(path)
    }

    /// Checks that the queue file exists and is not empty.
    ///
    /// - Throws: ``OutboxError/Code/queueUnusable``.
    func requireQueue() throws(OutboxError) {
        var status = stat()
        guard unsafe stat(queue, &status) != 0 || status.st_size == 0 else { return }
        throw OutboxError(
            .queueUnusable,
            "The queue file \(queue) was emptied or removed. Restore it, or remove \(lock) to start an empty queue."
        )
    }

    private static func make(_ path: String) throws(OutboxError) {
        if unsafe mkdir(path, 0o700) != 0 {
            if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
                try make(String(path[..<slash]))
                if unsafe mkdir(path, 0o700) != 0, errno != EEXIST { throw unusable(path, "cannot be created", errno) }
            } else if errno != EEXIST {
                throw unusable(path, "cannot be created", errno)
            }
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw unusable(path, "cannot be examined", errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw unusable(path, "cannot be used", ENOTDIR) }
    }

    /// Queued data may be private: the directory must belong to this user and must not be accessible to others.
    private static func checkOwner(_ path: String) throws(OutboxError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw unusable(path, "cannot be examined", errno) }
        guard status.st_uid == geteuid() else { throw unusable(path, "belongs to another user. Use another directory") }
        guard status.st_mode & 0o077 == 0 else {
            throw unusable(path, "is accessible to other users. Set its mode to 700, or use another directory")
        }
    }

    private static func checkFileSystem(_ path: String) throws(OutboxError) {
        guard let type = fileSystemType(of: path) else { throw unusable(path, "cannot be examined", errno) }
        guard let name = refusal(ofType: type) else { return }
        throw OutboxError(
            .fileSystemRefused,
            "\(path) is on \(name), where locks and syncs are unreliable. Move the outbox to a local disk.")
    }

    /// Returns the name of an unsupported file system by its statfs(2) type.
    package static func refusal(ofType type: UInt32) -> String? {
        switch type {
        case 0x6969: "NFS"
        case 0x517B, 0xFF53_4D42, 0xFE53_4D42: "SMB"
        case 0x6573_5546: "FUSE"
        case 0x0102_1997: "9P"
        case 0x00C3_6400: "Ceph"
        case 0x5346_414F: "AFS"
        case 0x7375_7245: "Coda"
        case 0x0BD0_0BD0: "Lustre"
        default: nil
        }
    }

    private static func unusable(_ path: String, _ what: String, _ number: Int32? = nil) -> OutboxError {
        let reason = number.map { ": \(errorText($0))" } ?? ""
        return OutboxError(.directoryUnusable, "The directory \(path) \(what)\(reason).")
    }
}

/// Synchronizes a directory, so that its names survive a power failure.
func syncDirectory(_ path: String) throws(OutboxError) {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
        throw OutboxError(.storageFailed, "Could not open \(path): \(errorText(errno)).")
    }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
        throw OutboxError(.storageFailed, "Could not sync \(path): \(errorText(errno)).")
    }
}

/// Returns the number of bytes that a file takes on the disk; 0 if it does not exist.
func allocatedBytes(of path: String) -> Int64 {
    var status = stat()
    // The unit of `st_blocks` is 512 bytes, whatever the file system (stat(2)).
    return unsafe stat(path, &status) == 0 ? Int64(status.st_blocks) * 512 : 0
}

/// Returns the system's description of an error.
func errorText(_ number: Int32) -> String {
    unsafe strerror(number).map { unsafe String(cString: $0) } ?? "errno \(number)"
}
