import Crypto
import Glibc
import WaybillCore

/// Where the records lie that uploads in parts are resumed from.
///
/// ```swift
/// configuration.records = RecordFolder(path: "/var/lib/scans/uploads")
/// ```
///
/// One record per file, object and place. It is a JSON file with a version and a checksum that replaces the one before as a
/// whole, for its owner's eyes only (0600 in a folder of 0700), and it holds no secret. While somebody works on it, a lock
/// file keeps other tasks and other processes away; the kernel lets go of the lock when its process ends, however it ends.
///
/// A record of a file that changed, of other parts, of another version, or one that is torn is thrown away, and the upload
/// begins anew. One that somebody else owns, others may read, or that is a link, is refused.
public struct RecordFolder: Sendable, Hashable {
    /// What a second task or process on the same upload does.
    public enum WhenBusy: Sendable, Hashable {
        /// It ends with ``StoreError/Code/recordInUse``.
        case fail
        /// It waits until the first is done, and finds the object stored or goes on from the record.
        case wait
    }

    /// The folder's path. It is made, with mode 0700, when the first record is.
    public var path: String
    /// What a second upload of the same file to the same place does.
    public var whenBusy: WhenBusy

    /// Names a folder; nothing is made yet.
    public init(path: String, whenBusy: WhenBusy = .fail) {
        self.path = path
        self.whenBusy = whenBusy
    }

    /// `waybill/uploads` where programs of this user keep what is no configuration and no cache: in `XDG_STATE_HOME`, else in
    /// `~/.local/state` (XDG Base Directory Specification 0.8). `nil` when neither is known.
    public static var standard: RecordFolder? {
        if let state = variable("XDG_STATE_HOME"), state.hasPrefix("/") {
            return RecordFolder(path: "\(state)/waybill/uploads")
        }
        return variable("HOME").map { RecordFolder(path: "\($0)/.local/state/waybill/uploads") }
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(cString: value)
    }
}

extension RecordFolder {
    /// Takes the record of an upload for oneself until the claim is let go.
    ///
    /// - Throws: ``StoreError/Code/recordInUse``, ``StoreError/Code/recordFolderUnusable``, ``StoreError/Code/recordRefused``,
    ///   or ``StoreError/Code/cancelled`` while it waited.
    func claim(_ subject: ResumeSubject) async throws(StoreError) -> RecordClaim {
        let path = path
        while true {
            let claim = try await RecordDisk.run { () throws(StoreError) in
                try RecordClaim(folder: path, name: Self.name(of: subject))
            }
            if let claim { return claim }
            guard whenBusy == .wait else {
                throw StoreError(
                    .recordInUse,
                    "Another task or process is uploading this file to this object. \(Remedy.waitForRecord)")
            }
            // A lock of the kernel's tells nobody when it is free, and waiting in it would take a thread.
            guard (try? await Task.sleep(for: .milliseconds(50))) != nil else {
                throw StoreError(.cancelled, "cancelled while another upload of the same file was waited for")
            }
        }
    }

    /// A name that tells nothing about the file.
    static func name(of subject: ResumeSubject) -> String {
        SHA256.hash(data: Array(subject.place.utf8)).prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
