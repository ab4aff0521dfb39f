import Waybill
import WaybillCore

/// The storage of the files of items until the items end.
protocol BodyStorage: Sendable {
    /// Prevents the removal of staged files whose items are not stored yet, for the lifetime of the returned value.
    func lockAgainstSweep() throws(OutboxError) -> Spool.SweepLock?

    /// Stages the files of an upload where its workers can read them.
    ///
    /// - Returns: The staged files. On failure, none is left.
    func stage(_ upload: inout some DurableUpload, _ options: EnqueueOptions) async throws(OutboxError) -> StagedFiles

    /// Makes the staged files of an upload readable at a path of this machine.
    ///
    /// - Parameters:
    ///   - upload: The stored upload.
    ///   - read: Reads a file that is stored with the item; `nil` if it has no such file.
    /// - Returns: The upload to deliver. Its files are readable as long as the value exists.
    /// - Throws: ``OutboxError`` if a file cannot be read on this machine at the moment.
    func open(
        _ upload: any DurableUpload, read: (String) async throws(OutboxError) -> [UInt8]?
    ) async throws(OutboxError) -> OpenedUpload

    /// Removes staged files.
    func remove(_ names: [String])

    /// Removes staged files that no item needs.
    ///
    /// - Parameter inUse: Returns those of the given names that an item needs.
    /// - Returns: The number of removed files; `nil` if they cannot be removed now.
    /// - Throws: The error of `inUse`.
    func sweep(inUse: ([String]) async throws(OutboxError) -> Set<String>) async throws(OutboxError) -> Int?
}

/// The staged files of a new item.
struct StagedFiles: Sendable {
    /// The names of files outside of the store.
    var names: [String] = []
    /// The files that are stored with the item.
    var bodies: [StagedBody] = []
    /// The only machine that can read the files; `nil` if all can.
    var host: String?
}

/// An upload whose files can be read on this machine.
struct OpenedUpload: Sendable {
    var upload: any DurableUpload
    /// The files without names to which paths of the upload refer.
    var temporaryFiles: [AtomicFile] = []
}

/// A name that no other process generates.
enum RandomName {
    static func make() -> String {
        let halves = [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
        return halves.map { String($0, radix: 36) }.joined(separator: "-")
    }
}

extension DurableFile {
    /// Whether the path refers to an open descriptor of this process, which other processes cannot access.
    var belongsToProcess: Bool { path.hasPrefix("/proc/self/fd/") }

    /// Whether the file is to be staged: bytes in memory and files without a name always, others only for a snapshot.
    func isToBeStaged(_ storage: FileStorage) -> Bool {
        pending != nil || (storage == .snapshot || belongsToProcess) && !isStaged
    }

    /// Records the current state of the file.
    mutating func record() async throws(OutboxError) {
        do {
            try await inspect()
        } catch {
            throw OutboxError(.uploadRefused, error.message, cause: error)
        }
    }
}
