import Waybill
import WaybillStores

/// A file and its destination.
struct PutFile: Sendable, Hashable {
    /// The path, as it is shown; `-` is standard input.
    var path: String
    /// The key of the object; empty where the place is fixed.
    var key: String
    /// The size when it was looked at.
    var size: Int64
    /// Where the bytes of a pipe are read from instead: a copy of them.
    var copy: String?
    /// Whether it is standard input or a pipe.
    var isPipe = false

    /// Whether it is a pipe that is not read, for a dry run; the copy is empty then.
    var isUnread = false

    /// The path that is opened.
    var source: String { copy ?? path }
}

extension [PutFile] {
    /// The files, pipes copied to their ends: a store has to know the length. A dry run does not read them.
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

/// A store that files can be put into.
protocol PutTarget: Sendable {
    /// Where a key is, fit to be printed.
    func place(of key: String) -> String
    /// Refuses an invalid key.
    func check(key: String) throws(StoreError)
    /// Begins to send.
    func start(_ file: PutFile) -> PutTransfer
}

/// A running transfer of a file.
struct PutTransfer: Sendable {
    /// The size of the file.
    var size: Int64
    /// Calls back with its progress until it ends or the callback returns `false`.
    var watch: @Sendable ((PutCount) -> Bool) async -> Void
    /// Cancels it.
    var stop: @Sendable () -> Void
    /// Waits for its end.
    var end: @Sendable () async -> Result<PutStored, StoreError>
}

/// The progress of a file.
struct PutCount: Sendable, Hashable {
    var acknowledged: Int64
    var bytesPerSecond: Double
    /// The retry that is waited for.
    var retry: UploadRetry?
}

/// An object that was stored.
struct PutStored: Sendable {
    /// The URL of the object, without a signature.
    var url: String
    /// The body of the response, if it is to be printed.
    var answer: [UInt8] = []
    /// Further members for `--json`.
    var members: JSONObject = [:]
    /// A note for the line of the file: `went on after 3 parts`.
    var note: String?
}

extension PutTransfer {
    /// An object of a store.
    init<Value: Sendable>(
        _ upload: ObjectUpload<Value>, size: Int64, stored: @escaping @Sendable (Value) -> PutStored
    ) {
        self.size = size
        watch = { body in
            await upload.follow { progress in
                body(
                    PutCount(
                        acknowledged: progress.acknowledged, bytesPerSecond: progress.bytesPerSecond,
                        retry: progress.retry))
            }
        }
        stop = { upload.cancel() }
        end = { await upload.finished().map(stored) }
    }

    /// One that never began.
    init(failing error: StoreError) {
        size = 0
        watch = { _ in }
        stop = {}
        end = { .failure(error) }
    }
}
