import Waybill
import WaybillCore

/// A directory of the records from which multipart uploads are resumed.
///
/// ```swift
/// configuration.records = RecordDirectory(path: "/var/lib/scans/uploads")
/// ```
///
/// There is one record per file, object and endpoint: a JSON file with a version and a checksum that is replaced
/// atomically. Only its owner has access (0600 in a directory of 0700), and it contains no secret. During an upload, a
/// lock file excludes other tasks and processes; the kernel releases the lock when the process ends, even after a
/// crash.
///
/// A record is discarded, and the upload starts over, if the file has changed, the part size or record version differs,
/// or the record is corrupt. A record that belongs to another user, is accessible to others, or is a symbolic link is
/// rejected.
public struct RecordDirectory: Sendable, Hashable {
    /// The behavior of a second task or process with the same upload.
    public enum ConflictPolicy: Sendable, Hashable {
        /// The second upload fails with ``StoreError/Code/recordInUse``.
        case fail
        /// The second upload waits until the first has ended, then finds the object stored or resumes from the record.
        case wait
    }

    /// The path of the directory. It is created with mode 0700 for the first record.
    public var path: String
    /// The behavior of a second upload of the same file to the same object.
    public var conflictPolicy: ConflictPolicy

    /// Creates a reference to a directory without creating the directory.
    public init(path: String, conflictPolicy: ConflictPolicy = .fail) {
        self.path = path
        self.conflictPolicy = conflictPolicy
    }

    /// The directory `waybill/uploads` in `XDG_STATE_HOME`, or else in `~/.local/state` (XDG Base Directory
    /// Specification 0.8). `nil` if neither `XDG_STATE_HOME` nor `HOME` is set.
    public static var standard: RecordDirectory? {
        RecordFileSystem.standardPath.map { RecordDirectory(path: $0) }
    }
}

extension RecordDirectory {
    /// Claims exclusive ownership of the record of an upload.
    ///
    /// - Throws: ``StoreError/Code/recordInUse``, ``StoreError/Code/recordDirectoryUnusable``,
    ///   ``StoreError/Code/recordRefused``, or ``StoreError/Code/cancelled`` while waiting.
    func claim(_ subject: ResumeSubject) async throws(StoreError) -> RecordClaim {
        let path = path
        while true {
            let file: RecordFile?
            do {
                file = try await RecordFileSystem.run { () throws(RecordError) in
                    try RecordFile(directory: path, name: Self.name(of: subject))
                }
            } catch {
                throw StoreError(error)
            }
            if let file { return RecordClaim(file) }
            guard conflictPolicy == .wait else {
                throw StoreError(
                    .recordInUse,
                    "Another task or process is uploading this file to this object. \(Remedy.waitForRecord)")
            }
            // Poll: `flock` offers no notification, and blocking in it would occupy a thread.
            guard (try? await Task.sleep(for: .milliseconds(50))) != nil else {
                throw StoreError(
                    .cancelled, "The task was cancelled while waiting for another upload of the same file.")
            }
        }
    }

    /// Returns a name that reveals nothing about the file.
    static func name(of subject: ResumeSubject) -> String {
        String(MessageAuthentication.sha256Text(subject.locationKey).prefix(32))
    }
}
