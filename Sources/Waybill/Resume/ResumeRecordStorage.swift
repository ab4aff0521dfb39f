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
            stored.record.length == length, stored.record.url != nil
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

/// Performs operations one after the other.
private struct SerialTasks: ~Copyable, Sendable {
    private let last = Locked<Task<Void, Never>?>(nil)

    func add(_ work: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            let previous = last
            last = Task {
                await previous?.value
                await work()
            }
        }
    }
}

/// The record of one upload in a file.
final class ResumeRecordFile: ResumeRecordStorage {
    private let file: RecordFile
    private let identity = Locked((body: "", boundary: String?.none))
    private let tasks = SerialTasks()

    init(_ file: RecordFile) {
        self.file = file
    }

    func load(
        _ fingerprint: BodyFingerprint, length: Int64
    ) async throws(UploadError) -> (record: ResumeRecord, boundary: String?)? {
        identity.withLock { $0.body = "\(fingerprint)" }
        do {
            let stored = try await file.load().flatMap { StoredResumeRecord($0, of: fingerprint, length: length) }
            return stored.map { ($0.record, $0.boundary) }
        } catch {
            throw UploadError(.recordUnusable, error.message, phase: .preparing, cause: error)
        }
    }

    func setBoundary(_ text: String?) { identity.withLock { $0.boundary = text } }

    func save(_ record: ResumeRecord, then: @escaping @Sendable () -> Void) {
        let (body, boundary) = identity.withLock { $0 }
        let bytes = StoredResumeRecord(body: body, boundary: boundary, record: record).encoded
        tasks.add { [file] in
            // Without a record the upload continues; only another process can't continue it.
            if let bytes { try? await file.save(bytes) }
            then()
        }
    }

    func remove(isStored: Bool) { tasks.add { [file] in await file.remove() } }

    func close(then: @escaping @Sendable () -> Void) {
        tasks.add { [file] in
            file.close()
            then()
        }
    }
}

/// The record of a durable upload, which its queue stores with it. No lock is needed: the queue assigns an upload to only
/// one worker at a time.
final class DeliveryResumeStorage: ResumeRecordStorage {
    private let saved: [UInt8]?
    private let keep: @Sendable ([UInt8]) async -> Void
    private let identity = Locked((body: "", boundary: String?.none))
    private let tasks = SerialTasks()

    init(_ delivery: Delivery) {
        saved = delivery.resume
        keep = delivery.saveResume
    }

    func load(
        _ fingerprint: BodyFingerprint, length: Int64
    ) async throws(UploadError) -> (record: ResumeRecord, boundary: String?)? {
        identity.withLock { $0.body = "\(fingerprint)" }
        let stored = saved.flatMap { StoredResumeRecord($0, of: fingerprint, length: length) }
        return stored.map { ($0.record, $0.boundary) }
    }

    func setBoundary(_ text: String?) { identity.withLock { $0.boundary = text } }

    func save(_ record: ResumeRecord, then: @escaping @Sendable () -> Void) {
        let (body, boundary) = identity.withLock { $0 }
        let bytes = StoredResumeRecord(body: body, boundary: boundary, record: record).encoded
        tasks.add { [keep] in
            if let bytes { await keep(bytes) }
            then()
        }
    }

    /// Keeps the record of a stored body: if the process ends before the queue has stored the result, the record
    /// identifies the upload.
    func remove(isStored: Bool) {
        guard !isStored else { return }
        tasks.add { [keep] in await keep([]) }
    }

    func close(then: @escaping @Sendable () -> Void) { tasks.add(then) }
}
