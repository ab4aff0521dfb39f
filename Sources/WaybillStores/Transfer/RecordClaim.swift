import Glibc
import WaybillCore
import WaybillMultipart

/// Exclusive ownership of a record until the claim is closed or released.
final class RecordClaim: Sendable {
    private let folder: FileDescriptor
    private let lock: FileDescriptor
    private let name: String
    private let path: String
    private let isClosed = Locked(false)

    /// Locks a record; returns `nil` if another upload has it. Call this on a thread where blocking on a disk is
    /// allowed.
    init?(folder path: String, name: String) throws(StoreError) {
        self.path = path
        self.name = name
        folder = try RecordFileSystem.openDirectory(path)
        guard let lock = try RecordFileSystem.lock("\(name).lock", in: folder, path) else { return nil }
        self.lock = lock
    }

    /// The path of the record file, for error messages.
    var filePath: String { "\(path)/\(name).json" }

    /// Reads the record for an upload of `subject` at a Unix time in seconds.
    ///
    /// - Throws: ``StoreError/Code/recordRefused`` if owner or permissions of the file are not safe.
    func load(_ subject: ResumeSubject, at now: Int64) async throws(StoreError) -> LoadedRecord {
        try await RecordFileSystem.run { [self] () throws(StoreError) in
            guard let bytes = try RecordFileSystem.read("\(name).json", in: folder, filePath) else { return .none }
            return ResumeRecord.read(bytes, for: subject, at: now)
        }
    }

    /// Replaces the record atomically, and syncs it to disk before it returns.
    func save(_ record: ResumeRecord) async throws(StoreError) {
        try await RecordFileSystem.run { [self] () throws(StoreError) in
            let bytes: [UInt8]
            do {
                bytes = try record.encoded()
            } catch {
                throw StoreError(.recordDirectoryUnusable, "The record can't be encoded as JSON.", cause: error)
            }
            try RecordFileSystem.replace("\(name).json", in: folder, with: bytes, filePath)
        }
    }

    /// Removes the record.
    func remove() async {
        try? await RecordFileSystem.run { [self] in RecordFileSystem.remove("\(name).json", in: folder) }
    }

    /// Releases the record immediately: a task that is about to end can retain the claim for a moment longer.
    func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        // Remove the lock file while it is locked, so that the next owner creates a new one.
        RecordFileSystem.remove("\(name).lock", in: folder)
        _ = flock(lock.raw, LOCK_UN)
    }

    deinit { close() }
}

/// The storage of an upload's record while the upload runs: a file, or storage that the caller provides.
protocol ResumeRecordStore: Sendable {
    /// Reads the record for an upload of `subject` at a Unix time in seconds.
    func load(_ subject: ResumeSubject, at now: Int64) async throws(StoreError) -> LoadedRecord

    /// Replaces the record, and syncs it to disk before it returns.
    func save(_ record: ResumeRecord) async throws(StoreError)

    /// Replaces the record after a part was added. This can be deferred to a later call: parts that the record lacks
    /// are found by listing them at the store.
    func note(_ record: ResumeRecord) async throws(StoreError)

    /// Removes the record, so that no upload can resume from it.
    func remove() async

    /// Removes the record after the object was stored.
    func finish() async

    /// Releases the record.
    func close()
}

extension RecordClaim: ResumeRecordStore {
    func note(_ record: ResumeRecord) async throws(StoreError) { try await save(record) }

    func finish() async { await remove() }
}
