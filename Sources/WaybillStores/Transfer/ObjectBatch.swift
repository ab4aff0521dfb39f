public import Waybill
import WaybillCore
import WaybillMultipart

/// Many objects as one: uploaded side by side, each watched and cancelled by its position, all of them together.
///
/// ```swift
/// let batch = client.startBatch(of: photos, atOnce: 3) { photo in
///     QiniuBatchWork(.image(path: photo.path, .maxBytes(.kibibytes(100))), to: "photos/\(photo.name)")
/// } onProgress: { index, progress in
///     rows[index].show(progress.fraction)
/// }
/// for await result in batch.results { print(result.item.name, (try? result.result.get().hash) ?? "failed") }
/// print(await batch.summary)                     // 198 succeeded, 0 failed, 2 cancelled
/// ```
///
/// No more requests than ``atOnce`` are on their way at any moment, however many parts an object has. Credentials are obtained
/// when it is an item's turn. Each item ends exactly once, also when the batch is cancelled before its turn; and the batch
/// ends once, after the last of them. Releasing the handle does not cancel the batch.
public final class ObjectBatch<Item: Sendable, Value: Sendable>: Sendable {
    private let run: BatchRun<Item, ObjectUpload<Value>>
    /// How many requests are on their way at most.
    public let atOnce: Int

    init<Items: Collection & Sendable>(
        of items: Items, atOnce: Int, session: UploadSession, options: UploadBatchOptions,
        onProgress: (@Sendable (Int, ObjectProgress) -> Void)?,
        onEnd: (@Sendable (BatchResult<Item, Value, StoreError>) -> Void)?,
        work: @escaping @Sendable (_ item: Item, _ group: String) async throws -> BatchWork<ObjectUpload<Value>>
    ) where Items.Element == Item, Items.Iterator: SendableMetatype {
        self.atOnce = max(1, atOnce)
        let group = "object batch \(UInt64.random(in: .min ... .max))"
        session.group(group).slots = self.atOnce
        // Two more than may send, so that the next photo is compressed while the last one is on its way.
        run = BatchRun(
            options: options, window: self.atOnce + 2, count: items.count, endsRemaining: true,
            onSnapshot: onProgress, onEnd: onEnd, onFinish: { session.group(group).slots = nil })
        run.start(items) { item in try await work(item, group) }
    }

    /// The result of each item, in the order in which they end. Several readers share the results.
    ///
    /// While there is a reader, no result is lost: if the reader falls ``/Waybill/UploadBatchOptions/unreadResults`` behind, the
    /// batch takes no further item. Before the first reader, and after the last one was released, the newest results are
    /// kept, as many as that.
    public var results: AsyncValues<BatchResult<Item, Value, StoreError>, Never> { run.results }

    /// Snapshots of the whole, at most about twenty a second, for any number of listeners.
    public var progress: AsyncValues<UploadBatchProgress, Never> { run.progress }

    /// The summary, when the last item has ended.
    ///
    /// Cancelling a task that waits here cancels the batch.
    public var summary: BatchSummary<StoreError> { get async { await run.summary } }

    /// The items on their way, by their positions: the handle of each.
    public var executing: [Int: ObjectUpload<Value>] { run.executing }

    /// Cancels an item, whether it is on its way or its turn has yet to come. What has ended stays as it is.
    public func cancel(at index: Int) { run.cancel(at: index) }

    /// Cancels all that has not ended. Safe from anywhere, and any number of times.
    public func cancel() { run.cancel() }

    /// Pauses all items on their way and takes no further one until ``resume()``.
    public func pause() { run.setPaused(true) }

    /// Resumes all items, and takes further ones.
    public func resume() { run.setPaused(false) }

    /// Whether the batch is paused.
    public var isPaused: Bool { run.isPaused }

    /// Calls back once, when the last item has ended and after its own callback.
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
    // Resumed bytes count without having moved, so the rate is that of the requests.
    package static var addsRates: Bool { true }

    // Requests that wait for a slot must not get it from those that are cancelled before them.
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
    package var isMoving: Bool { [.sending, .completing].contains(phase) && !isPaused }
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
                .invalidArgument, "The closure returned no upload for the item; the cause says why.", cause: error)
        }
    }
}
