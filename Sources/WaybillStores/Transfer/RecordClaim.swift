import Waybill
import WaybillCore

/// Exclusive ownership of a record until the claim is closed or released.
final class RecordClaim: Sendable {
    private let file: RecordFile

    init(_ file: RecordFile) {
        self.file = file
    }

    /// The path of the record file, for error messages.
    var filePath: String { file.path }

    /// Reads the record for an upload of `subject` at a Unix time in seconds.
    ///
    /// - Throws: ``StoreError/Code/recordRefused`` if owner or permissions of the file are not safe.
    func load(_ subject: ResumeSubject, at now: Int64) async throws(StoreError) -> LoadedRecord {
        do {
            guard let bytes = try await file.load() else { return .none }
            return ResumeRecord.read(bytes, for: subject, at: now)
        } catch {
            throw StoreError(error)
        }
    }

    /// Replaces the record atomically, and syncs it to disk before it returns.
    func save(_ record: ResumeRecord) async throws(StoreError) {
        let bytes = try record.encoded()
        do {
            try await file.save(bytes)
        } catch {
            throw StoreError(error)
        }
    }

    /// Removes the record.
    func remove() async { await file.remove() }

    /// Releases the record immediately.
    func close() { file.close() }
}

extension StoreError {
    /// Creates the error of a record that can't be read or written.
    init(_ error: RecordError) {
        let code: Code =
            switch error.kind {
            case .unusable: .recordDirectoryUnusable
            case .refused: .recordRefused
            }
        self.init(code, error.message)
    }
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
