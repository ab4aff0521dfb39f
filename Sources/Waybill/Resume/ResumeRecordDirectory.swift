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
    func claim(_ fingerprint: BodyFingerprint) async throws(UploadError) -> ResumeRecordStore? {
        let (path, name) = (path, "\(fingerprint)")
        do {
            let file = try await RecordFileSystem.run { () throws(RecordError) in
                try RecordFile(directory: path, name: name)
            }
            return file.map { ResumeRecordStore($0) }
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
