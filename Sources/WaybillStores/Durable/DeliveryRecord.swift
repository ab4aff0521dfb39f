import Waybill
import WaybillCore

/// The record of an upload whose queue keeps it beside the upload itself: there is no file, and no lock, for the queue gives an
/// upload to one worker at a time.
final class DeliveryRecord: RecordKeeper {
    private struct State: Sendable {
        var bytes: [UInt8]?
        /// How many parts the queue knows of.
        var parts = 0
    }

    private let keep: @Sendable ([UInt8]) async -> Void
    private let state: Locked<State>

    init(_ delivery: Delivery) {
        keep = delivery.saveResume
        state = Locked(State(bytes: delivery.resume))
    }

    func load(_ subject: ResumeSubject, at now: Int64) async throws(StoreError) -> FoundRecord {
        guard let bytes = state.withLock({ $0.bytes }), !bytes.isEmpty else { return .none }
        return ResumeRecord.read(bytes, for: subject, at: now)
    }

    func save(_ record: ResumeRecord) async throws(StoreError) {
        let bytes: [UInt8]
        do {
            bytes = try record.encoded()
        } catch {
            throw StoreError(.recordFolderUnusable, "the record can't be written as JSON", cause: error)
        }
        state.withLock { $0 = State(bytes: bytes, parts: record.parts.count) }
        await keep(bytes)
    }

    /// A record is written whole, so with many parts not after each: some hundred times in all.
    func note(_ record: ResumeRecord) async throws(StoreError) {
        let known = state.withLock { $0.parts }
        guard record.parts.count - known >= max(1, known / 50) else { return }
        try await save(record)
    }

    func remove() async {
        state.withLock { $0 = State() }
        await keep([])
    }

    /// The record stays: if the program ends before the queue has written down that the object is there, it says whom to ask.
    func finish() async {}

    func close() {}
}

extension Delivery {
    /// The record that was kept last, whatever it is of.
    func record(endpoint: String, bucket: String, key: String?) -> ResumeRecord? {
        guard let resume, !resume.isEmpty else { return nil }
        let nobody = ResumeSubject(endpoint: endpoint, bucket: bucket, key: key, path: "")
        switch ResumeRecord.read(resume, for: nobody, at: 0) {
        case .usable(let record), .useless(_, let record?): return record
        case .none, .useless: return nil
        }
    }
}
