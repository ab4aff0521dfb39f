import Waybill
import WaybillCore

/// The record of an upload whose queue stores it with the upload itself. No file or lock is needed: the queue assigns
/// an upload to only one worker at a time.
final class DeliveryRecordStore: ResumeRecordStore {
    private struct State: Sendable {
        var bytes: [UInt8]?
        /// The number of parts in the record that the queue has.
        var parts = 0
    }

    private let keep: @Sendable ([UInt8]) async -> Void
    private let state: Locked<State>

    init(_ delivery: Delivery) {
        keep = delivery.saveResume
        state = Locked(State(bytes: delivery.resume))
    }

    func load(_ subject: ResumeSubject, at now: Int64) async throws(StoreError) -> LoadedRecord {
        guard let bytes = state.withLock({ $0.bytes }), !bytes.isEmpty else { return .none }
        return ResumeRecord.read(bytes, for: subject, at: now)
    }

    func save(_ record: ResumeRecord) async throws(StoreError) {
        let bytes = try record.encoded()
        state.withLock { $0 = State(bytes: bytes, parts: record.parts.count) }
        await keep(bytes)
    }

    /// Saves the record if enough parts were added. A record is always written as a whole, so it is not saved after
    /// each part, but a few hundred times for 10,000 parts.
    func note(_ record: ResumeRecord) async throws(StoreError) {
        let known = state.withLock { $0.parts }
        guard record.parts.count - known >= max(1, known / 50) else { return }
        try await save(record)
    }

    func remove() async {
        state.withLock { $0 = State() }
        await keep([])
    }

    /// Keeps the record: if the process ends before the queue has stored the result, the record identifies the upload.
    func finish() async {}

    func close() {}
}

extension Delivery {
    /// Returns the record that was saved last, even if it no longer matches the file.
    func record(endpoint: String, bucket: String, key: String?) -> ResumeRecord? {
        guard let resume, !resume.isEmpty else { return nil }
        let unnamed = ResumeSubject(endpoint: endpoint, bucket: bucket, key: key, path: "")
        switch ResumeRecord.read(resume, for: unnamed, at: 0) {
        case .usable(let record), .unusable(_, let record?): return record
        case .none, .unusable: return nil
        }
    }
}
