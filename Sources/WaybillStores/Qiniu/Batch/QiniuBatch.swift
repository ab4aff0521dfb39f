public import Waybill

/// Many objects as one: so many at once, each watched and cancelled by its place, all of them together.
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
/// No more requests than ``atOnce`` are on their way at any moment, however many parts an object has. Tokens are asked for when it
/// is an item's turn. Each item ends exactly once, cancelled ones too, also those whose turn never came; and the batch ends
/// once, after the last of them. Letting go of the handle changes nothing.
public final class QiniuBatch<Item: Sendable>: Sendable {
    let run: QiniuBatchRun<Item>

    init(run: QiniuBatchRun<Item>) {
        self.run = run
    }

    /// How many requests are on their way at most.
    public var atOnce: Int { run.atOnce }

    /// What became of each item, in the order in which they end. Several readers share the results.
    ///
    /// While somebody reads, no result is lost: a reader that falls ``/Waybill/UploadBatchOptions/unreadResults`` behind holds the
    /// batch up. Before the first comes, and after the last left, the newest ones are kept, as many as that.
    public var results: QiniuBatchResults<Item> { QiniuBatchResults(run: run) }

    /// Snapshots of the whole, at most about twenty a second, for any number of listeners.
    public var progress: QiniuBatchProgressSequence<Item> { QiniuBatchProgressSequence(run: run) }

    /// What the batch came to, when its last item has ended.
    ///
    /// Cancelling a task that waits here cancels the batch.
    public var summary: QiniuBatchSummary {
        get async {
            await withTaskCancellationHandler {
                await Task { [run] in await run.finished() }.value
            } onCancel: {
                run.cancel()
            }
        }
    }

    /// The items on their way, by their places: the handle of each.
    public var executing: [Int: ObjectUpload<QiniuObject>] { run.books.value.uploads }

    /// Cancels an item, whether it is on its way or its turn has yet to come. What has ended stays as it is.
    public func cancel(at index: Int) { run.cancel(at: index) }

    /// Cancels all that has not ended. Safe from anywhere, and any number of times.
    public func cancel() { run.cancel() }

    /// Pauses all items on their way and takes no further one until ``resume()``.
    public func pause() { run.setPaused(true) }

    /// Lets all items go on, and takes further ones.
    public func resume() { run.setPaused(false) }

    /// Calls back once, when the last item has ended and after its own call.
    ///
    /// - Returns: The batch.
    @discardableResult
    public func onAllComplete(_ body: @escaping @Sendable (QiniuBatchSummary) -> Void) -> QiniuBatch {
        Task { [run] in body(await run.finished()) }
        return self
    }
}

/// What is done for an item of a ``QiniuBatch``.
public struct QiniuBatchWork: Sendable {
    /// What is uploaded.
    public var source: QiniuSource
    /// Its key; `nil` to let the store choose.
    public var key: String?
    /// What goes with it.
    public var options: QiniuPutOptions

    /// Describes an upload.
    public init(_ source: QiniuSource, to key: String?, options: QiniuPutOptions = QiniuPutOptions()) {
        self.source = source
        self.key = key
        self.options = options
    }
}

/// What became of an item of a ``QiniuBatch``.
public struct QiniuBatchResult<Item: Sendable>: Sendable {
    /// Its place, from 0.
    public var index: Int
    /// The item.
    public var item: Item
    /// The object, or why there is none: ``StoreError/isCancelled`` of an item that was cancelled.
    public var result: Result<QiniuObject, StoreError>
}

/// What a ``QiniuBatch`` came to.
public struct QiniuBatchSummary: Sendable {
    /// An item that failed.
    public struct Failure: Sendable {
        /// Its place, from 0.
        public var index: Int
        /// Why.
        public var error: StoreError
    }

    /// Items that were stored.
    public var succeeded: Int
    /// Items that failed.
    public var failed: Int
    /// Items that were cancelled.
    public var cancelled: Int
    /// Bytes that were acknowledged.
    public var acknowledged: Int64
    /// How long it took.
    public var duration: Duration
    /// The first hundred failures, in the order in which they came.
    public var failures: [Failure]

    /// Whether all items were stored.
    public var isSuccess: Bool { failed == 0 && cancelled == 0 }
}

extension QiniuBatchSummary: CustomStringConvertible {
    /// `12 succeeded, 1 failed, 0 cancelled`.
    public var description: String { "\(succeeded) succeeded, \(failed) failed, \(cancelled) cancelled" }
}

extension QiniuClient {
    /// Starts uploading many items and returns the handle of all at once.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - atOnce: How many requests are on their way at most, 1 or more.
    ///   - options: What happens with the others when one fails, and how many results wait for a reader.
    ///   - work: Says what is to be uploaded of an item, when it is its turn. What it throws is the failure of that item.
    ///   - onProgress: Called with snapshots of each item by its place; never after its end.
    ///   - onEnd: Called once for each item, with its end.
    /// - Returns: The handle of all.
    public func startBatch<Items: Collection & Sendable>(
        of items: Items, atOnce: Int = 3, options: UploadBatchOptions = UploadBatchOptions(),
        work: @escaping @Sendable (Items.Element) async throws -> QiniuBatchWork,
        onProgress: (@Sendable (_ index: Int, _ progress: ObjectProgress) -> Void)? = nil,
        onEnd: (@Sendable (QiniuBatchResult<Items.Element>) -> Void)? = nil
    ) -> QiniuBatch<Items.Element> where Items.Element: Sendable {
        let run = QiniuBatchRun<Items.Element>(
            client: self, atOnce: atOnce, count: items.count, options: options, onProgress: onProgress, onEnd: onEnd)
        Task {
            for item in items { await run.take(item, work) }
            run.exhaust()
        }
        return QiniuBatch(run: run)
    }
}
