public import WaybillCore

/// The handle of an upload.
///
/// ```swift
/// let task = session.start(form, to: url)
/// for await progress in task.progress { bar.show(progress.fraction) }
/// let response = try await task.response
/// ```
///
/// Letting go of the handle changes nothing: the upload goes on.
public final class UploadTask: Sendable, Identifiable {
    let run: UploadRun
    let handle: Int

    init(run: UploadRun, handle: Int) {
        self.run = run
        self.handle = handle
    }

    /// What logs, events and errors call the upload. No other living upload of the session has it; handles that joined one
    /// transfer share it.
    public var id: UploadID { run.id }

    /// Where it stands now.
    package var latestProgress: UploadProgress { run.currentProgress(for: handle) }

    /// Snapshots as they come, for any number of listeners; each starts with the latest, skips what it is too slow for,
    /// and ends after the snapshot of the terminal phase. Listen or don't: work is done only for listeners.
    public var progress: AsyncValues<UploadProgress, Never> { run.progress(for: handle) }

    /// The answer, when it has come. May be asked any number of times.
    ///
    /// Cancelling a task that waits here cancels the upload; ``onCompletion(_:)`` only watches.
    ///
    /// - Throws: ``UploadError``.
    public var response: UploadResponse {
        get async throws(UploadError) { try await outcome(onProgress: nil) }
    }

    /// How urgent the upload is. A change counts for the lines it still has to stand in; what runs is not stopped. Of
    /// handles that joined one transfer the most urgent counts.
    public var priority: UploadPriority {
        get { run.priority(of: handle) }
        set { run.prioritize(handle, newValue) }
    }

    /// Cancels the upload, in whatever phase it is. It ends with ``UploadError/Code/cancelled`` unless the answer was
    /// already there. Safe from anywhere, callbacks included, and any number of times.
    ///
    /// Where other handles have joined (``isJoined``), only this one is cancelled: its ``response`` throws at once, and the
    /// transfer goes on for the others.
    public func cancel() {
        run.cancel(handle)
    }

    /// Calls back with every snapshot, as ``progress`` gives them: one after the other, off the transport's thread.
    ///
    /// - Returns: The task, to go on with `.onCompletion`.
    @discardableResult
    public func onProgress(_ body: @escaping @Sendable (UploadProgress) -> Void) -> UploadTask {
        run.callbacks.onProgress(of: run, for: handle, body)
        return self
    }

    /// Calls back once, with the end, after the last call of every ``onProgress(_:)`` that was registered before.
    ///
    /// - Returns: The task.
    @discardableResult
    public func onCompletion(
        _ body: @escaping @Sendable (Result<UploadResponse, UploadError>) -> Void
    ) -> UploadTask {
        run.callbacks.onCompletion(of: run, for: handle, body)
        return self
    }
}

extension UploadTask: CustomStringConvertible {
    /// Id, method, URL without secrets, and phase.
    public var description: String { "\(id) \(run.request) \(run.currentProgress(for: handle).phase)" }
}

extension UploadTask {
    /// Waits for the end while it tells of the way there.
    func outcome(
        onProgress: (@Sendable (UploadProgress) -> Void)?
    ) async throws(UploadError) -> UploadResponse {
        let (run, handle) = (run, handle)
        let result = await withTaskCancellationHandler {
            guard let onProgress else { return await run.result(for: handle) }
            var last: UploadProgress?
            for await progress in run.progress(for: handle) {
                last = progress
                onProgress(progress)
            }
            let result = await run.result(for: handle)
            // A cancelled task's iteration ends early; the terminal snapshot is promised all the same.
            if last?.phase.isTerminal != true { onProgress(run.currentProgress(for: handle)) }
            return result
        } onCancel: {
            run.cancel(handle)
        }
        return try result.get()
    }
}
