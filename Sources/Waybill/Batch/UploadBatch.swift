/// Many uploads as one: started one after the other as the session has room, watched and cancelled together.
///
/// ```swift
/// let batch = session.startBatch(of: photos) { photo in
///     UploadRequest(.post, url, content: .form([.image("FILE", path: photo.path, .maxBytes(.kibibytes(100)))]))
/// }
/// for await result in batch.results {
///     print(result.item.path, (try? result.response.status.code) ?? "failed")
/// }
/// print(await batch.summary)          // 98 succeeded, 2 failed, 0 cancelled
/// ```
///
/// Items are taken from their source only when it is their turn, so a source may be lazy: a hundred thousand files need no
/// more memory than a hundred. An item that fails or is cancelled leaves the others alone, unless
/// ``UploadBatchOptions/onFailure`` says otherwise. Each item ends exactly once.
///
/// Releasing the batch does not cancel it.
public final class UploadBatch<Item: Sendable>: Sendable {
    let run: BatchRun<Item, UploadTask>

    init(run: BatchRun<Item, UploadTask>) {
        self.run = run
    }

    /// The result of each item, in the order in which they end.
    ///
    /// While there is a reader, no result is lost: if the reader falls ``UploadBatchOptions/unreadResults`` behind, the batch
    /// takes no further item until it has caught up. Before the first reader, and after the last one was released, the newest
    /// results are kept, as many as that. Several readers share the results: each result goes to one of them.
    public var results: AsyncValues<BatchResult<Item, UploadResponse, UploadError>, Never> { run.results }

    /// Snapshots, at most about twenty a second, for any number of listeners; the last one has
    /// ``UploadBatchProgress/isFinished``. Without a listener the bytes of uploads on their way are not counted.
    public var progress: AsyncValues<UploadBatchProgress, Never> { run.progress }

    /// The summary, when the last item has ended.
    ///
    /// Cancelling a task that waits here cancels the batch.
    public var summary: BatchSummary<UploadError> { get async { await run.summary } }

    /// The items on their way, by their positions in the source: the handle of each. ``UploadTask/state`` says which of
    /// them transfer and which are queued.
    public var executing: [Int: UploadTask] { run.executing }

    /// Cancels an item, whether it is on its way or its turn has yet to come. What has ended stays as it is.
    ///
    /// - Parameter index: Its position in the source, from 0.
    public func cancel(at index: Int) { run.cancel(at: index) }

    /// Pauses all items on their way, as ``UploadTask/pause()`` does, and takes no further one until ``resume()``.
    public func pause() { run.setPaused(true) }

    /// Resumes all items, and takes further ones.
    public func resume() { run.setPaused(false) }

    /// Whether the batch is paused.
    public var isPaused: Bool { run.isPaused }

    /// Cancels all items on their way and takes no further one. Safe from anywhere, and any number of times.
    public func cancel() { run.cancel() }
}

extension UploadBatch: CustomStringConvertible {
    /// How many items were taken and have ended.
    public var description: String {
        let (taken, ended) = run.state.read { ($0.ledger.taken, $0.ledger.ended) }
        return "batch: \(taken) taken, \(ended) ended"
    }
}
