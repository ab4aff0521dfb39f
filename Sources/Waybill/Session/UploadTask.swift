public import WaybillCore

/// The handle of an upload.
///
/// ```swift
/// let task = session.start(form, to: url)
/// for await progress in task.progress { bar.show(progress.fraction) }
/// let response = try await task.response
/// ```
///
/// Releasing the handle does not cancel the upload.
public final class UploadTask: Sendable, Identifiable {
    let run: UploadRun
    let handle: Int

    init(run: UploadRun, handle: Int) {
        self.run = run
        self.handle = handle
    }

    /// The identifier of the upload in logs, events and errors. It is unique among the uploads of the session that have
    /// not ended. Handles that joined one transfer share it.
    public var id: UploadID { run.id }

    /// The current progress.
    package var latestProgress: UploadProgress { run.currentProgress(for: handle) }

    /// Snapshots of the upload, for any number of listeners. Each listener starts with the latest snapshot, skips
    /// snapshots while it is busy, and ends after the snapshot of the terminal phase. Snapshots are created only if
    /// there are listeners.
    public var progress: AsyncValues<UploadProgress, Never> { run.progress(for: handle) }

    /// The response of the server. Waits until the upload has ended; may be read repeatedly.
    ///
    /// Cancelling a task that waits here cancels the upload. To only observe the upload, use ``onCompletion(_:)``.
    ///
    /// - Throws: ``UploadError``.
    public var response: UploadResponse {
        get async throws(UploadError) { try await outcome(onProgress: nil) }
    }

    /// The priority of the upload. A change affects the queues that the upload has not passed yet; a running transfer
    /// is not stopped. If handles joined one transfer, the highest priority applies.
    public var priority: UploadPriority {
        get { run.priority(of: handle) }
        set { run.prioritize(handle, newValue) }
    }

    /// Cancels the upload in any phase. It ends with ``UploadError/Code/cancelled`` unless the response was already
    /// received. May be called from any thread, including callbacks, and repeatedly.
    ///
    /// If other handles have joined the transfer (``isJoined``), only this handle is cancelled: its ``response`` throws
    /// immediately, and the transfer continues for the others.
    public func cancel() {
        run.cancel(handle)
    }

    /// Calls a closure with every snapshot of ``progress``. Calls do not overlap, and do not run on the transport's
    /// thread.
    ///
    /// - Returns: The task, for chaining with `.onCompletion`.
    @discardableResult
    public func onProgress(_ body: @escaping @Sendable (UploadProgress) -> Void) -> UploadTask {
        run.onProgress(for: handle, body)
        return self
    }

    /// Calls a closure once with the result, after the last call of every ``onProgress(_:)`` closure that was
    /// registered before.
    ///
    /// - Returns: The task.
    @discardableResult
    public func onCompletion(
        _ body: @escaping @Sendable (Result<UploadResponse, UploadError>) -> Void
    ) -> UploadTask {
        run.onCompletion(for: handle, body)
        return self
    }
}

extension UploadTask: CustomStringConvertible {
    /// The ID, the method, the URL without secrets, and the phase.
    public var description: String { "\(id) \(run.request) \(run.currentProgress(for: handle).phase)" }
}

extension UploadTask {
    /// Waits for the result and reports progress until then.
    func outcome(
        onProgress: (@Sendable (UploadProgress) -> Void)?
    ) async throws(UploadError) -> UploadResponse {
        let (run, handle) = (run, handle)
        let result = await withTaskCancellationHandler {
            guard let onProgress else { return await run.result(for: handle) }
            var hasEnded = false
            for await measured in run.listen(for: handle) {
                hasEnded = measured.snapshot.phase.isTerminal
                onProgress(measured.progress)
            }
            let result = await run.result(for: handle)
            // In a cancelled task the iteration ends early. Report the terminal snapshot nevertheless, as documented.
            if !hasEnded { onProgress(run.currentProgress(for: handle)) }
            return result
        } onCancel: {
            run.cancel(handle)
        }
        return try result.get()
    }
}
