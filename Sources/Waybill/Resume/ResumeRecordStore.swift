import FoundationEssentials
import WaybillCore
import WaybillMultipart

/// A record as it is stored: JSON with a format, a version, and the identity of the body.
private struct StoredResumeRecord: Codable {
    var format = "waybill-resumable-upload"
    var version = 1
    /// The fingerprint of the body, without the boundary of a form.
    var body: String
    /// The boundary of a form.
    var boundary: String?
    var record: ResumeRecord

    /// Decodes a record of a body; `nil` for any other text.
    init?(_ bytes: [UInt8], of fingerprint: BodyFingerprint, length: Int64) {
        guard let stored = try? JSONDecoder().decode(Self.self, from: Data(bytes)), stored.version == 1,
            stored.format == Self(body: "", record: stored.record).format, stored.body == "\(fingerprint)",
            stored.record.length == length, stored.record.canContinue, stored.record.hasWholeBody
        else { return nil }
        self = stored
    }

    init(body: String, boundary: String? = nil, record: ResumeRecord) {
        (self.body, self.boundary, self.record) = (body, boundary, record)
    }

    var encoded: [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { Array($0) }
    }
}

/// The storage of the record of one upload. Its operations are performed in the order of the calls.
protocol ResumeRecordStorage: Sendable {
    /// Writes the record, and calls the closure when it is on the disk or could not be written.
    func save(_ record: ResumeRecord, then: @escaping @Sendable () -> Void)
    /// Removes the record, because the server has the whole body (`isStored`) or because it has lost the upload.
    func remove(isStored: Bool)
    /// Releases the record for other uploads, and then calls the closure.
    func close(then: @escaping @Sendable () -> Void)
}

/// The storage of a record in a file, or in the row of a queue.
final class ResumeRecordStore: ResumeRecordStorage {
    private let read: @Sendable () async throws(UploadError) -> [UInt8]?
    private let write: @Sendable ([UInt8], _ isProgress: Bool) async -> Void
    private let erase: @Sendable (_ isStored: Bool) async -> Void
    private let release: @Sendable () -> Void
    private let identity = Locked((body: "", boundary: String?.none, offset: Int64(0)))
    private let last = Locked<Task<Void, Never>?>(nil)

    /// Creates the storage in a file.
    init(_ file: RecordFile) {
        read = { () async throws(UploadError) in
            do throws(RecordError) {
                return try await file.load()
            } catch {
                throw UploadError(.recordUnusable, error.message, phase: .preparing, cause: error)
            }
        }
        // Without a record the upload continues; only another process can't continue it. With an older one it would find
        // bytes at the server that were never sent, so that one is removed.
        write = { bytes, _ in
            do { try await file.save(bytes) } catch { await file.remove() }
        }
        erase = { _ in await file.remove() }
        release = { file.close() }
    }

    /// Creates the storage in the row of a queue. No lock is needed: the queue assigns an upload to only one worker at a
    /// time.
    init(_ delivery: Delivery) {
        read = { () async throws(UploadError) in delivery.resume }
        write = { bytes, isProgress in _ = await delivery.store(bytes, isProgress: isProgress) }
        // The record of a stored body is kept: if the process ends before the queue has stored the result, it identifies
        // the upload.
        erase = { isStored in if !isStored { await delivery.saveResume([]) } }
        release = {}
    }

    /// Returns the record of a body, and the boundary of the form; `nil` if there is no usable record. Called first.
    func load(
        _ fingerprint: BodyFingerprint, length: Int64
    ) async throws(UploadError) -> (record: ResumeRecord, boundary: String?)? {
        identity.withLock { $0.body = "\(fingerprint)" }
        let stored = try await read().flatMap { StoredResumeRecord($0, of: fingerprint, length: length) }
        if let offset = stored?.record.offset { identity.withLock { $0.offset = offset } }
        return stored.map { ($0.record, $0.boundary) }
    }

    /// Sets the boundary of the form, which is written with each record.
    func setBoundary(_ text: String?) { identity.withLock { $0.boundary = text } }

    func save(_ record: ResumeRecord, then: @escaping @Sendable () -> Void) {
        let (body, boundary, isProgress) = identity.withLock { identity in
            defer { identity.offset = max(identity.offset, record.offset) }
            return (identity.body, identity.boundary, record.offset > identity.offset)
        }
        let bytes = StoredResumeRecord(body: body, boundary: boundary, record: record).encoded
        enqueue { [write] in
            if let bytes { await write(bytes, isProgress) }
            then()
        }
    }

    func remove(isStored: Bool) { enqueue { [erase] in await erase(isStored) } }

    func close(then: @escaping @Sendable () -> Void) {
        enqueue { [release] in
            release()
            then()
        }
    }

    private func enqueue(_ work: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            let previous = last
            last = Task {
                await previous?.value
                await work()
            }
        }
    }
}
