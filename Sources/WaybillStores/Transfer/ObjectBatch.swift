public import Waybill
import WaybillCore
import WaybillMultipart

/// A batch of objects that are uploaded concurrently. Items can be observed and cancelled individually or all together.
///
/// ```swift
/// let batch = client.startBatch(of: photos, maximumConcurrentRequests: 3) { photo in
///     QiniuBatchWork(.image(path: photo.path, .maxBytes(.kibibytes(100))), to: "photos/\(photo.name)")
/// } onProgress: { index, progress in
///     rows[index].show(progress.fraction)
/// }
/// for await result in batch.results { print(result.item.name, (try? result.result.get().hash) ?? "failed") }
/// print(await batch.summary)                     // 198 succeeded, 0 failed, 2 cancelled
/// ```
///
/// At most ``maximumConcurrentRequests`` requests are in flight at any time, regardless of the number of parts of an
/// object. Credentials are obtained when an item starts. Each item ends exactly once, even if the batch is cancelled
/// before the item starts; the batch ends once, after its last item. Releasing the handle does not cancel the batch.
public final class ObjectBatch<Item: Sendable, Value: Sendable>: Sendable {
    private let run: BatchRun<Item, ObjectUpload<Value>>
    /// The maximum number of concurrent requests.
    public let maximumConcurrentRequests: Int

    init<Items: Collection & Sendable>(
        of items: Items, maximumConcurrentRequests: Int, session: UploadSession, options: UploadBatchOptions,
        onProgress: (@Sendable (Int, ObjectProgress) -> Void)?,
        onEnd: (@Sendable (BatchResult<Item, Value, StoreError>) -> Void)?,
        work: @escaping @Sendable (_ item: Item, _ group: String) async throws -> BatchWork<ObjectUpload<Value>>
    ) where Items.Element == Item, Items.Iterator: SendableMetatype {
        self.maximumConcurrentRequests = max(1, maximumConcurrentRequests)
        let group = "object batch \(UInt64.random(in: .min ... .max))"
        session.group(group).maximumConcurrentTransfers = self.maximumConcurrentRequests
        // Two items more than can send, so that the next photo is compressed while the previous one is sent.
        run = BatchRun(
            options: options, window: self.maximumConcurrentRequests + 2, count: items.count, endsRemaining: true,
            onSnapshot: onProgress, onEnd: onEnd, onFinish: { session.group(group).maximumConcurrentTransfers = nil })
        run.start(items) { item in try await work(item, group) }
    }

    /// The results of the items, in the order in which they end. Several readers share the results.
    ///
    /// No result is lost while there is a reader: if the reader falls ``/Waybill/UploadBatchOptions/unreadResults``
    /// behind, the batch starts no further item. Before the first reader, and after the last one has been released,
    /// only that many of the newest results are kept.
    public var results: AsyncValues<BatchResult<Item, Value, StoreError>, Never> { run.results }

    /// Progress snapshots of the whole batch, at most about twenty per second, for any number of listeners.
    public var progress: AsyncValues<UploadBatchProgress, Never> { run.progress }

    /// The summary, available when the last item has ended.
    ///
    /// Cancelling a task that awaits the summary cancels the batch.
    public var summary: BatchSummary<StoreError> { get async { await run.summary } }

    /// The handles of the items in progress, by position.
    public var executing: [Int: ObjectUpload<Value>] { run.executing }

    /// Cancels an item, whether it is in progress or has not started. Does nothing if it has ended.
    public func cancel(at index: Int) { run.cancel(at: index) }

    /// Cancels all items that have not ended. Can be called from any thread, any number of times.
    public func cancel() { run.cancel() }

    /// Pauses all items in progress and starts no further one until ``resume()``.
    public func pause() { run.setPaused(true) }

    /// Resumes all items and starts further ones.
    public func resume() { run.setPaused(false) }

    /// Whether the batch is paused.
    public var isPaused: Bool { run.isPaused }

    /// Registers a callback that is called once, when the last item has ended and its callback has returned.
    ///
    /// - Returns: The batch.
    @discardableResult
    public func onAllComplete(_ body: @escaping @Sendable (BatchSummary<StoreError>) -> Void) -> ObjectBatch {
        Task { [run] in body(await run.finished()) }
        return self
    }
}

extension ObjectUpload: BatchUpload {
    package static var startsWithoutCallbacks: Bool { true }
    // Resumed bytes are acknowledged without having been sent, so the rate is the sum of the rates of the requests.
    package static var sumsRates: Bool { true }

    // Pause first: otherwise requests that wait for a slot would get those of requests that are cancelled before them.
    package func prepareToCancel() { pause() }

    package func follow(_ body: (ObjectProgress) -> Bool) async {
        for await progress in progress {
            guard body(progress) else { return }
        }
    }

    package func finished() async -> Result<Value, StoreError> {
        await Result { () async throws(StoreError) in try await value }
    }

    package func bytes(of result: Result<Value, StoreError>) -> (acknowledged: Int64, total: Int64?) {
        let progress = currentProgress
        return (progress.acknowledged, progress.total)
    }
}

extension ObjectProgress: BatchSnapshot {
    package var isTransferring: Bool { [.sending, .completing].contains(phase) && !isPaused }
}

extension StoreError: BatchFailure {
    package static var cancelledBeforeStart: StoreError {
        StoreError(.cancelled, "The item was cancelled before its upload started.", outcome: .notSent)
    }

    package var isSessionClosed: Bool { code.description == UploadError.Code.sessionClosed.description }

    package init(ofItem error: any Error) {
        if let error = error as? StoreError {
            self = error
        } else if error is CancellationError {
            self = .cancelledBeforeStart
        } else {
            self.init(
                .invalidArgument, "The closure returned no upload for the item. See the underlying error.",
                cause: error)
        }
    }
}
