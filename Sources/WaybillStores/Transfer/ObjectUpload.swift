import Waybill
public import WaybillCore

/// The handle of an object's upload, which consists of one request or of many parts.
///
/// ```swift
/// let upload = client.startUpload(file: "film.mov", to: "films/7.mov")
/// for await progress in upload.progress { bar.show(progress.fraction) }
/// let stored = try await upload.value
/// ```
///
/// Releasing the handle does not cancel the upload.
public final class ObjectUpload<Value: Sendable>: Sendable, Identifiable {
    /// An ID that is unique within the process.
    public let id = UploadID()
    let run: ObjectRun
    private let task: Task<Result<Value, StoreError>, Never>

    /// Starts the protocol of a store, which sends its requests through the run.
    init(group: String? = nil, _ work: @escaping @Sendable (ObjectRun) async throws(StoreError) -> Value) {
        let run = ObjectRun(group: group)
        self.run = run
        task = Task {
            let result = await Result { () async throws(StoreError) in try await work(run) }
            switch result {
            case .success: run.end(.succeeded)
            case .failure(let error): run.end(error.isCancelled ? .cancelled : .failed)
            }
            return result
        }
    }

    /// The stored object, available when the upload has ended. It can be awaited any number of times.
    ///
    /// Cancelling a task that awaits the value cancels the upload.
    ///
    /// - Throws: ``StoreError``.
    public var value: Value {
        get async throws(StoreError) {
            let result = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            return try result.get()
        }
    }

    /// Progress snapshots of the whole object, for any number of listeners. Without listeners, progress is not
    /// measured.
    public var progress: AsyncValues<ObjectProgress, Never> {
        AsyncValues { [run] in
            var snapshots = run.listen().makeAsyncIterator()
            return { await snapshots.next(isolation: #isolation) }
        }
    }

    /// The current progress. While there are no listeners, the byte count only includes requests that have ended.
    public var currentProgress: ObjectProgress { run.snapshot }

    /// Pauses the upload: parts in flight keep their connection for a while, and no further part is started. Can be
    /// called from any thread, any number of times.
    public func pause() { run.setPaused(true) }

    /// Resumes the upload after ``pause()``.
    public func resume() { run.setPaused(false) }

    /// Whether the upload is paused.
    public var isPaused: Bool { run.snapshot.isPaused }

    /// Cancels the upload. It ends with ``StoreError/Code/cancelled`` unless the response has already arrived. A
    /// resumable upload remains resumable.
    public func cancel() { task.cancel() }

    /// Registers a callback that is called once, when the upload has ended, on a thread of the Swift runtime.
    ///
    /// - Returns: The upload.
    @discardableResult
    public func onCompletion(_ body: @escaping @Sendable (Result<Value, StoreError>) -> Void) -> ObjectUpload {
        Task { [task] in body(await task.value) }
        return self
    }

    /// Registers a callback that is called with each snapshot, one at a time.
    ///
    /// - Returns: The upload.
    @discardableResult
    public func onProgress(_ body: @escaping @Sendable (ObjectProgress) -> Void) -> ObjectUpload {
        let progress = progress
        Task { for await snapshot in progress { body(snapshot) } }
        return self
    }
}

extension ObjectUpload: CustomStringConvertible {
    /// The ID and the phase.
    public var description: String { "\(id) \(run.snapshot.phase)" }
}
