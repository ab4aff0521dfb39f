import WaybillCore

/// The parts of an upload that are sent concurrently. Each is a resumable upload.
struct ResumableParts: Sendable {
    let uploads: [ResumableUpload]
    let storage: PartRecords
}

/// The records of all parts of an upload, which are stored in its own record. One lock of the record excludes other
/// processes from all parts.
final class PartRecords: Sendable {
    private let record: Locked<ResumeRecord>
    private let store: (any ResumeRecordStorage)?

    init(_ record: ResumeRecord, _ store: (any ResumeRecordStorage)?) {
        self.record = Locked(record)
        self.store = store
    }

    /// The records of the parts, in the order of the parts.
    var parts: [ResumeRecord] { record.withLock { $0.parts ?? [] } }

    /// Sets the record of the upload, which has those of its parts.
    func set(_ new: ResumeRecord) { record.withLock { $0 = new } }

    /// Writes the record of a part with those of the others.
    fileprivate func save(_ part: ResumeRecord, index: Int, then: @escaping @Sendable () -> Void) {
        // The lock also covers the call of the store: a later state must not be written before an earlier one.
        record.withLock { record in
            record.parts?[index] = part
            record.offset = record.parts?.reduce(0) { $0 + $1.offset } ?? 0
            store?.save(record, then: then)
        }
        if store == nil { then() }
    }
}

/// The storage of the record of one part.
struct PartRecord: ResumeRecordStorage {
    let index: Int
    let records: PartRecords

    func save(_ record: ResumeRecord, then: @escaping @Sendable () -> Void) {
        records.save(record, index: index, then: then)
    }

    /// Another upload replaces a part that the server has lost.
    func remove(isStored: Bool) {
        var empty = ResumeRecord(length: records.parts[index].length)
        empty.dialect = .tus
        records.save(empty, index: index) {}
    }

    /// The record is closed with that of the upload.
    func close(then: @escaping @Sendable () -> Void) { then() }
}
