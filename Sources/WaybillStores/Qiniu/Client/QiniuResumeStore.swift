import FoundationEssentials
import Glibc
import WaybillCore
import WaybillMultipart

/// The state of a multipart upload: recorded on disk if records are kept, otherwise in memory.
final class QiniuResumeStore: Sendable {
    private struct State: Sendable {
        /// The record of an earlier run.
        var found: ResumeRecord?
        /// The record of this run.
        var record: ResumeRecord?
        var id: String?
        var parts: [Int: PartReceipt] = [:]
    }

    private let claim: (any ResumeRecordStore)?
    private let subject: ResumeSubject?
    private let state: Locked<State>

    /// Whether the upload is recorded, so that a later run can resume it.
    var isKept: Bool { claim != nil }
    /// The store's ID of the upload that was initiated or resumed.
    var id: String? { state.withLock { $0.id } }
    /// The known stored parts, from earlier runs and this one.
    var parts: [Int: PartReceipt] { state.withLock { $0.parts } }

    /// Claims the record of a file. Bytes in memory have no record: a later run would not have the content.
    init(
        folder: RecordDirectory?, recordStore: (any ResumeRecordStore)?, payload: QiniuPayload, token: QiniuUploadToken,
        key: String?, partSize: Int64, now: Date
    ) async throws(StoreError) {
        guard folder != nil || recordStore != nil, case .file(let file) = payload.content else {
            claim = nil
            subject = nil
            state = Locked(State())
            return
        }
        var subject = ResumeSubject(
            endpoint: "qiniu:\(token.accessKey)", bucket: token.scope.bucket, key: key, source: file,
            path: Self.absolute(file.path), partSize: partSize)
        var claim = recordStore
        if claim == nil { claim = try await folder?.claim(subject) } else { subject.clearDevice() }
        var found: ResumeRecord?
        let deadline = Int64(now.timeIntervalSince1970) + QiniuPartsUpload.minimumRemainingLifetime
        switch try await claim?.load(subject, at: deadline) {
        case .usable(let record)?: found = record
        case LoadedRecord.none?, nil: break
        case .unusable?: await claim?.remove()
        }
        self.subject = subject
        self.claim = claim
        state = Locked(State(found: found))
    }

    /// Returns the record to resume from, if there is one and its host is still allowed.
    func resumable(hosts: (String) -> Bool) async -> ResumeRecord? {
        guard let record = state.withLock({ $0.found }) else { return nil }
        guard let host = record.notes["host"], hosts(host) else {
            await forget()
            return nil
        }
        state.withLock { state in
            state.record = record
            state.id = record.uploadID
            state.parts = Dictionary(record.parts.map { ($0.number, $0) }) { _, later in later }
        }
        return record
    }

    /// Records that an upload was initiated, before any of its parts is sent.
    func begin(id: String, expires: Int64?, host: String) async throws(StoreError) {
        var record: ResumeRecord?
        if let subject {
            record = ResumeRecord(subject: subject, uploadID: id)
            record?.expires = expires
            record?.notes["host"] = host
        }
        state.withLock { [record] in $0 = State(record: record, id: id) }
        if let claim, let record { try await claim.save(record) }
    }

    /// Records that a part was stored.
    func didStore(_ receipt: PartReceipt) async throws(StoreError) {
        let record = state.withLock { state -> ResumeRecord? in
            state.parts[receipt.number] = receipt
            state.record?.parts = state.parts.values.sorted { $0.number < $1.number }
            return state.record
        }
        if let claim, let record { try await claim.note(record) }
    }

    /// Discards the state and the record.
    func forget() async {
        state.withLock { $0 = State() }
        await claim?.remove()
    }

    /// Removes the record after the object was stored.
    func finish() async { await claim?.finish() }

    /// Releases the record immediately, so that another upload can claim it.
    func close() { claim?.close() }

    private static func absolute(_ path: String) -> String {
        guard let real = unsafe SystemPath.with(path, { unsafe realpath($0, nil) }) else { return path }
        defer { unsafe free(real) }
        return unsafe SystemPath.text(of: UnsafeRawBufferPointer(start: real, count: strlen(real)))
    }
}
