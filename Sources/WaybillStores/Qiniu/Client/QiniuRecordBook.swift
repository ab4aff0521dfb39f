import FoundationEssentials
import Glibc
import WaybillCore
import WaybillMultipart

/// What is known of an upload in parts: on the disk where records are kept, else in memory.
final class QiniuRecordBook: Sendable {
    private struct State: Sendable {
        /// What an earlier run left.
        var found: ResumeRecord?
        /// What is written down of this one.
        var record: ResumeRecord?
        var id: String?
        var parts: [Int: PartReceipt] = [:]
    }

    private let claim: (any RecordKeeper)?
    private let subject: ResumeSubject?
    private let state: Locked<State>

    /// Whether somebody can go on from it later.
    var isKept: Bool { claim != nil }
    /// The store's id of the upload that was begun or is gone on with.
    var id: String? { state.withLock { $0.id } }
    /// What is known of parts that were taken: by earlier runs and by this one.
    var parts: [Int: PartReceipt] { state.withLock { $0.parts } }

    /// Claims the record of a file; bytes in memory have none, for the next run would not have them.
    init(
        folder: RecordFolder?, keeper: (any RecordKeeper)?, payload: QiniuPayload, token: QiniuUploadToken,
        key: String?, partSize: Int64, now: Date
    ) async throws(StoreError) {
        guard folder != nil || keeper != nil, case .file(let file) = payload.content else {
            claim = nil
            subject = nil
            state = Locked(State())
            return
        }
        var subject = ResumeSubject(
            endpoint: "qiniu:\(token.accessKey)", bucket: token.scope.bucket, key: key, source: file,
            path: Self.absolute(file.path), partSize: partSize)
        var claim = keeper
        if claim == nil { claim = try await folder?.claim(subject) } else { subject.forgetDevice() }
        var found: ResumeRecord?
        let soon = Int64(now.timeIntervalSince1970) + QiniuPartsUpload.margin
        switch try await claim?.load(subject, at: soon) {
        case .usable(let record)?: found = record
        case FoundRecord.none?, nil: break
        case .useless?: await claim?.remove()
        }
        self.subject = subject
        self.claim = claim
        state = Locked(State(found: found))
    }

    /// The record to go on from, if there is one and its host is one that may be asked.
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

    /// Writes down that an upload was begun, before a part of it is sent.
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

    /// Writes down that a part was taken.
    func took(_ receipt: PartReceipt) async throws(StoreError) {
        let record = state.withLock { state -> ResumeRecord? in
            state.parts[receipt.number] = receipt
            state.record?.parts = state.parts.values.sorted { $0.number < $1.number }
            return state.record
        }
        if let claim, let record { try await claim.note(record) }
    }

    /// There is nothing to go on from.
    func forget() async {
        state.withLock { $0 = State() }
        await claim?.remove()
    }

    /// The object is there.
    func finish() async { await claim?.finish() }

    /// Lets the next upload have the record, at once.
    func close() { claim?.close() }

    private static func absolute(_ path: String) -> String {
        guard let real = unsafe SystemPath.with(path, { unsafe realpath($0, nil) }) else { return path }
        defer { unsafe free(real) }
        return unsafe SystemPath.text(of: UnsafeRawBufferPointer(start: real, count: strlen(real)))
    }
}
