import Glibc
import WaybillCore

/// The reason why a record can't be read or written.
package struct RecordError: Error {
    package enum Kind: Sendable {
        /// The directory can't be used.
        case unusable
        /// The file is not safe to read.
        case refused
    }

    package var kind: Kind
    /// What is wrong, and what to do.
    package var message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

/// Exclusive ownership of a record file until it is closed or released.
package final class RecordFile: Sendable {
    private let directory: FileDescriptor
    private let lock: FileDescriptor
    private let name: String
    private let directoryPath: String
    private let isClosed = Locked(false)

    /// Locks a record; returns `nil` if another upload has it. Call this on a thread where blocking on a disk is
    /// allowed.
    package init?(directory path: String, name: String) throws(RecordError) {
        directoryPath = path
        self.name = name
        directory = try RecordFileSystem.openDirectory(path)
        guard let lock = try RecordFileSystem.lock("\(name).lock", in: directory, path) else { return nil }
        self.lock = lock
    }

    /// The path of the file, for error messages.
    package var path: String { "\(directoryPath)/\(name).json" }

    /// Returns the bytes of the record; `nil` if it does not exist.
    ///
    /// - Throws: ``RecordError`` of the kind `refused` if owner or permissions of the file are not safe.
    package func load() async throws(RecordError) -> [UInt8]? {
        try await RecordFileSystem.run { [self] () throws(RecordError) in
            try RecordFileSystem.read("\(name).json", in: directory, path)
        }
    }

    /// Replaces the record atomically, and syncs it to disk before it returns.
    package func save(_ bytes: [UInt8]) async throws(RecordError) {
        try await RecordFileSystem.run { [self] () throws(RecordError) in
            try RecordFileSystem.replace("\(name).json", in: directory, with: bytes, path)
        }
    }

    /// Removes the record.
    package func remove() async {
        try? await RecordFileSystem.run { [self] in RecordFileSystem.remove("\(name).json", in: directory) }
    }

    /// Releases the record immediately: a task that is about to end can retain the object for a moment longer.
    package func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        // Remove the lock file while it is locked, so that the next owner creates a new one.
        RecordFileSystem.remove("\(name).lock", in: directory)
        _ = flock(lock.raw, LOCK_UN)
    }

    deinit { close() }
}
