import Waybill
public import WaybillCore

/// The handle of an object on its way to a store, whether it goes in one request or in many parts.
///
/// ```swift
/// let upload = client.startUpload(of: "film.mov", to: "films/7.mov")
/// for await progress in upload.progress { bar.show(progress.fraction) }
/// let stored = try await upload.value
/// ```
///
/// Letting go of the handle changes nothing: the upload goes on.
public final class ObjectUpload<Value: Sendable>: Sendable, Identifiable {
    /// What tells it from others in the program.
    public let id = UploadID()
    let run: ObjectRun
    private let task: Task<Result<Value, StoreError>, Never>

    /// Starts a store's protocol, which sends its requests through the run.
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

    /// What the store answered, when it has. May be asked any number of times.
    ///
    /// Cancelling a task that waits here cancels the upload.
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

    /// Snapshots over the whole object, for any number of listeners. Nothing is measured while nobody listens.
    public var progress: AsyncValues<ObjectProgress, Never> {
        AsyncValues { [run] in
            var snapshots = run.listen().makeAsyncIterator()
            return { await snapshots.next(isolation: #isolation) }
        }
    }

    /// Where it stands now. Between listeners, the count of bytes stands still at the last whole part.
    public var currentProgress: ObjectProgress { run.snapshot }

    /// Makes it stand still: parts on their way keep their connection for a while, no new one begins. Safe from anywhere and
    /// any number of times.
    public func pause() { run.setPaused(true) }

    /// Lets it go on after ``pause()``.
    public func resume() { run.setPaused(false) }

    /// Whether it was told to stand still.
    public var isPaused: Bool { run.snapshot.isPaused }

    /// Cancels it; it ends with ``StoreError/Code/cancelled`` unless the answer was there already. What can be resumed later
    /// still can be.
    public func cancel() { task.cancel() }

    /// Calls back once, with the end, on a thread of Swift's own.
    ///
    /// - Returns: The upload.
    @discardableResult
    public func onCompletion(_ body: @escaping @Sendable (Result<Value, StoreError>) -> Void) -> ObjectUpload {
        Task { [task] in body(await task.value) }
        return self
    }

    /// Calls back with every snapshot, one after the other.
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
    /// Id and phase.
    public var description: String { "\(id) \(run.snapshot.phase)" }
}
