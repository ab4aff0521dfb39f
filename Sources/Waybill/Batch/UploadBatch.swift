/// A group of uploads that are started as the session has capacity, and are observed and cancelled together.
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
/// Items are taken from their source only when they can start, so a source may be lazy: 100,000 files need no more
/// memory than 100. An item that fails or is cancelled does not affect the others unless
/// ``UploadBatchOptions/onFailure`` is `stop`. Each item ends exactly once.
///
/// Releasing the batch does not cancel it.
public final class UploadBatch<Item: Sendable>: Sendable {
    let run: BatchRun<Item, UploadTask>

    init(run: BatchRun<Item, UploadTask>) {
        self.run = run
    }

    /// The result of each item, in the order in which they end.
    ///
    /// While there is a reader, no result is lost: if the reader falls ``UploadBatchOptions/unreadResults`` behind, the
    /// batch takes no further item until the reader has caught up. Before the first reader, and after the last one was
    /// released, only that many of the newest results are kept. Several readers share the results: each result is
    /// delivered to one of them.
    public var results: AsyncValues<BatchResult<Item, UploadResponse, UploadError>, Never> { run.results }

    /// Snapshots, at most about twenty per second, for any number of listeners. ``UploadBatchProgress/isFinished`` is
    /// true in the last one. The bytes of running uploads are counted only while there is a listener.
    public var progress: AsyncValues<UploadBatchProgress, Never> { run.progress }

    /// The summary. Waits until the last item has ended.
    ///
    /// Cancelling a task that waits here cancels the batch.
    public var summary: BatchSummary<UploadError> { get async { await run.summary } }

    /// The handles of the running items, by position in the source. ``UploadTask/state`` indicates which of them
    /// transfer and which are queued.
    public var executing: [Int: UploadTask] { run.executing }

    /// Cancels an item that is running or not yet started. An item that has ended is not affected.
    ///
    /// - Parameter index: The position of the item in the source, from 0.
    public func cancel(at index: Int) { run.cancel(at: index) }

    /// Pauses all running items, as ``UploadTask/pause()`` does, and starts no further item until ``resume()``.
    public func pause() { run.setPaused(true) }

    /// Resumes all items and starts further ones.
    public func resume() { run.setPaused(false) }

    /// Whether the batch is paused.
    public var isPaused: Bool { run.isPaused }

    /// Cancels all running items and starts no further one. May be called from any thread and repeatedly.
    public func cancel() { run.cancel() }
}

extension UploadBatch: CustomStringConvertible {
    /// The number of items that were taken and that have ended.
    public var description: String {
        let (taken, ended) = run.state.read { ($0.batchState.taken, $0.batchState.ended) }
        return "batch: \(taken) taken, \(ended) ended"
    }
}

/// The options of a batch.
public struct UploadBatchOptions: Sendable, Hashable {
    /// The effect of a failed item on the other items.
    public enum FailurePolicy: Sendable, Hashable, CaseIterable {
        /// The other items continue.
        case `continue`
        /// Running items are cancelled and no further item is started.
        case stop
    }

    /// The effect of a failed item on the other items. `continue` by default.
    public var onFailure: FailurePolicy = .continue
    /// The maximum number of items that are taken from the source and have not ended, 1 or more; `nil` for twice the
    /// session's slots plus two, which keeps the session busy. A smaller number limits the concurrency of the batch.
    public var window: Int?
    /// The maximum number of results that wait for a reader before the batch pauses, 1 or more. 64 by default.
    public var unreadResults = 64
    /// The number of items, if the source does not provide it. Used only for progress.
    public var expectedCount: Int?
    /// The number of bytes of all bodies, if known in advance. Used only for progress.
    public var expectedBytes: Int64?
    /// The body length of each item in bytes, by position in the source, as far as known in advance. Used only for
    /// progress. The length of a prepared body replaces the expected one.
    ///
    /// ```swift
    /// options.expectedSizes = files.map(\.size)
    /// ```
    public var expectedSizes: [Int64?] = []

    /// Creates the default options.
    public init() {}
}
