import Waybill
import WaybillStores

/// A file and its destination.
struct PutFile: Sendable, Hashable {
    /// The path as shown to the user; `-` is standard input.
    var path: String
    /// The key of the object; empty if the destination is fixed.
    var key: String
    /// The size at the time of the scan.
    var size: Int64
    /// The path of a copy from which the bytes of a pipe are read.
    var copy: String?
    /// Whether it is standard input or a pipe.
    var isPipe = false

    /// Whether it is a pipe that a dry run does not read. The copy is empty then.
    var isUnread = false

    /// The path to open.
    var source: String { copy ?? path }
}

extension [PutFile] {
    /// Copies pipes to temporary files, because a store requires the length. A dry run does not read them.
    func withCopiesOfPipes(isDryRun: Bool = false) async throws(CommandFailure) -> [PutFile] {
        var files = self
        for index in files.indices where files[index].isPipe {
            files[index].isUnread = isDryRun
            do {
                let copy = try await PipedInput(isDryRun ? "/dev/null" : files[index].path).copied()
                (files[index].copy, files[index].size) = (copy.path, copy.size)
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                throw CommandFailure(code: .fileNotReadable, exit: .interrupted, message: "Reading was interrupted.")
            }
        }
        return files
    }
}

/// A destination that files can be sent to.
protocol PutTarget: Sendable {
    /// Returns the location of a key for output.
    func location(of key: String) -> String
    /// Throws if a key is invalid.
    func check(key: String) throws(StoreError)
    /// Starts an upload.
    func start(_ file: PutFile) -> PutTransfer
}

/// A running transfer of a file.
struct PutTransfer: Sendable {
    /// The size of the file.
    var size: Int64
    /// Calls back with the progress until the upload ends or the callback returns `false`.
    var watch: @Sendable ((PutSnapshot) -> Bool) async -> Void
    /// Cancels the upload.
    var stop: @Sendable () -> Void
    /// Waits for the result.
    var end: @Sendable () async -> Result<PutStored, StoreError>
}

/// The progress of a file.
struct PutSnapshot: Sendable, Hashable {
    var acknowledged: Int64
    var bytesPerSecond: Double
    /// The pending retry.
    var retry: UploadRetry?
}

/// A stored object.
struct PutStored: Sendable {
    /// The URL of the object, without a signature.
    var url: String
    /// The body of the response, if it should be printed.
    var responseBody: [UInt8] = []
    /// Additional members for `--json`.
    var members: JSONObject = [:]
    /// A note for the line of the file, such as `resumed after 3 parts`.
    var note: String?
    /// Whether nothing was sent because the store has the same object.
    var wasSkipped = false
}

extension PutStored {
    /// Creates the result of an object that may have been uploaded in parts.
    init(
        url: String, members: JSONObject, _ beginning: OSSStoredObject.Beginning, wasFoundStored: Bool,
        wasSkipped: Bool
    ) {
        var resumedParts = 0
        if case .resumed(let parts) = beginning { resumedParts = parts }
        self.init(
            url: url, members: members + ["resumedParts": resumedParts, "wasFoundStored": wasFoundStored],
            note: wasFoundStored
                ? "the response was lost, but the object was found in the store" : Self.note(beginning),
            wasSkipped: wasSkipped)
    }

    private static func note(_ beginning: OSSStoredObject.Beginning) -> String? {
        switch beginning {
        case .whole, .fresh: nil
        case .resumed(let parts): parts == 1 ? "resumed after 1 part" : "resumed after \(parts) parts"
        case .afterDiscarding(let reason): "restarted: \(reason)"
        }
    }
}

extension PutTransfer {
    /// Creates a transfer from an upload to an object store.
    init<Value: Sendable>(
        _ upload: ObjectUpload<Value>, size: Int64, stored: @escaping @Sendable (Value) -> PutStored
    ) {
        self.size = size
        watch = { body in
            await upload.follow { progress in
                body(
                    PutSnapshot(
                        acknowledged: progress.acknowledged, bytesPerSecond: progress.bytesPerSecond,
                        retry: progress.retry))
            }
        }
        stop = { upload.cancel() }
        end = { await upload.finished().map(stored) }
    }

    /// Creates a transfer that failed before it was started.
    init(failing error: StoreError) {
        size = 0
        watch = { _ in }
        stop = {}
        end = { .failure(error) }
    }
}
