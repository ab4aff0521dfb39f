import Glibc
import WaybillCore
import WaybillMultipart

/// A record that no other upload touches until the claim is closed or released.
final class RecordClaim: Sendable {
    private let folder: FileDescriptor
    private let lock: FileDescriptor
    private let name: String
    private let path: String
    private let isClosed = Locked(false)

    /// Locks a record; `nil` when another upload has it. Call it where blocking on a disk is allowed.
    init?(folder path: String, name: String) throws(StoreError) {
        self.path = path
        self.name = name
        folder = try RecordDisk.openFolder(path)
        guard let lock = try RecordDisk.lock("\(name).lock", in: folder, path) else { return nil }
        self.lock = lock
    }

    /// The path of the record's file, for messages.
    var filePath: String { "\(path)/\(name).json" }

    /// Reads the record for an upload of `subject` at a time (seconds since 1970).
    ///
    /// - Throws: ``StoreError/Code/recordRefused`` when it is not ours to read.
    func load(_ subject: ResumeSubject, at now: Int64) async throws(StoreError) -> FoundRecord {
        try await RecordDisk.run { [self] () throws(StoreError) in
            guard let bytes = try RecordDisk.read("\(name).json", in: folder, filePath) else { return .none }
            return ResumeRecord.read(bytes, for: subject, at: now)
        }
    }

    /// Puts a record in the place of the one before, as a whole or not at all, and on the disk before it returns.
    func save(_ record: ResumeRecord) async throws(StoreError) {
        try await RecordDisk.run { [self] () throws(StoreError) in
            let bytes: [UInt8]
            do {
                bytes = try record.encoded()
            } catch {
                throw StoreError(.recordFolderUnusable, "the record can't be written as JSON", cause: error)
            }
            try RecordDisk.replace("\(name).json", in: folder, with: bytes, filePath)
        }
    }

    /// Throws the record away.
    func remove() async {
        try? await RecordDisk.run { [self] in RecordDisk.remove("\(name).json", in: folder) }
    }

    /// Lets others have the record, at once: a claim may be held for a moment longer by a task that is just ending.
    func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        // While it is still locked, so that whoever comes next makes a new one.
        RecordDisk.remove("\(name).lock", in: folder)
        _ = flock(lock.raw, LOCK_UN)
    }

    deinit { close() }
}

/// Where the record of one upload is kept while the upload runs: a file, or a place that the caller provides.
protocol RecordKeeper: Sendable {
    /// Reads the record for an upload of `subject` at a time (seconds since 1970).
    func load(_ subject: ResumeSubject, at now: Int64) async throws(StoreError) -> FoundRecord

    /// Puts a record in the place of the one before, on the disk before it returns.
    func save(_ record: ResumeRecord) async throws(StoreError)

    /// The same of a record that has a part more, where it may also be left to a later call: what a record lacks is found by
    /// asking the store.
    func note(_ record: ResumeRecord) async throws(StoreError)

    /// Removes the record: no upload can resume from it.
    func remove() async

    /// Removes the record: the object is stored.
    func finish() async

    /// Lets others have it.
    func close()
}

extension RecordClaim: RecordKeeper {
    func note(_ record: ResumeRecord) async throws(StoreError) { try await save(record) }

    func finish() async { await remove() }
}
