import FoundationEssentials
import Glibc
import WaybillCore
import WaybillMultipart

/// A directory of the records from which resumable uploads are continued, even by another process.
///
/// ```swift
/// options.resume?.records = ResumeRecordDirectory(path: "/var/lib/kiosk/uploads")
/// ```
///
/// There is one record per URL, method and body: a JSON file that is replaced atomically. Only its owner has access
/// (0600 in a directory of 0700). It has no credential and no content, but the URL of the upload at the server. During an
/// upload a lock excludes other tasks and processes, which then keep their own state in memory; the kernel releases it
/// when the process ends.
///
/// An upload is found again if its URL, its method, and its body are the same: fields and other bytes in memory, and path,
/// size, times and inode of files. The boundary of a form is restored from the record. Bodies with streams have no record.
public struct ResumeRecordDirectory: Sendable, Hashable {
    /// The path of the directory. It is created with mode 0700 for the first record.
    public var path: String

    /// Creates a reference to a directory without creating the directory.
    public init(path: String) {
        self.path = path
    }

    /// The directory `waybill/uploads` in `XDG_STATE_HOME`, or else in `~/.local/state` (XDG Base Directory
    /// Specification 0.8). `nil` if neither `XDG_STATE_HOME` nor `HOME` is set.
    public static var standard: ResumeRecordDirectory? { RecordFileSystem.standardPath.map(Self.init(path:)) }
}

extension ResumeRecordDirectory {
    /// Claims the record of a body.
    ///
    /// - Returns: The file, or `nil` if another upload has claimed it.
    func claim(_ fingerprint: BodyFingerprint) async throws(UploadError) -> ResumeRecordFile? {
        let (path, name) = (path, "\(fingerprint)")
        do {
            let file = try await RecordFileSystem.run { () throws(RecordError) in
                try RecordFile(directory: path, name: name)
            }
            return file.map { ResumeRecordFile($0) }
        } catch {
            throw UploadError(.recordUnusable, error.message, phase: .preparing, cause: error)
        }
    }
}

extension RecordFileSystem {
    /// The directory of records, by the XDG Base Directory Specification 0.8; `nil` if the environment names none.
    package static var standardPath: String? {
        if let state = variable("XDG_STATE_HOME"), state.hasPrefix("/") { return "\(state)/waybill/uploads" }
        return variable("HOME").map { "\($0)/.local/state/waybill/uploads" }
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(cString: value)
    }
}

/// The record of one upload on the disk. Its operations are performed in the order of the calls.
final class ResumeRecordFile: ResumeRecordStorage {
    private struct Content: Codable {
        var format = "waybill-resumable-upload"
        var version = 1
        /// The boundary of a form.
        var boundary: String?
        var record: ResumeRecord
    }

    private let file: RecordFile
    private let boundary = Locked<String?>(nil)
    private let last = Locked<Task<Void, Never>?>(nil)

    init(_ file: RecordFile) {
        self.file = file
    }

    /// Reads the record and the boundary of the form. A record that can't be understood counts as none.
    func load(length: Int64) async throws(UploadError) -> (record: ResumeRecord, boundary: String?)? {
        do {
            guard let bytes = try await file.load(),
                let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)),
                content.format == Content(record: content.record).format, content.version == 1,
                content.record.length == length, content.record.url != nil
            else { return nil }
            return (content.record, content.boundary)
        } catch {
            throw UploadError(.recordUnusable, error.message, phase: .preparing, cause: error)
        }
    }

    /// Sets the boundary of the form, which is written with each record.
    func setBoundary(_ text: String?) { boundary.withLock { $0 = text } }

    func save(_ record: ResumeRecord, then: @escaping @Sendable () -> Void) {
        let content = Content(boundary: boundary.withLock { $0 }, record: record)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        enqueue { [file] in
            // Without a record the upload continues; only another process can't continue it.
            if let bytes = try? encoder.encode(content) { try? await file.save(Array(bytes)) }
            then()
        }
    }

    func remove() { enqueue { [file] in await file.remove() } }

    func close(then: @escaping @Sendable () -> Void) {
        enqueue { [file] in
            file.close()
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
