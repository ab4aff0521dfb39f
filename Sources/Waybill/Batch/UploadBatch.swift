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
/// Letting go of the batch changes nothing: it goes on.
public final class UploadBatch<Item: Sendable>: Sendable {
    let run: BatchRun<Item>

    init(run: BatchRun<Item>) {
        self.run = run
    }

    /// What became of each item, in the order in which they end.
    ///
    /// While somebody reads, no result is lost: if the reader falls ``UploadBatchOptions/unreadResults`` behind, the batch
    /// takes no further item until it has caught up. Before the first reader comes, and after the last one left, the newest
    /// ones are kept, as many as that. Several readers share the results: each goes to one of them.
    public var results: UploadBatchResults<Item> { UploadBatchResults(run: run) }

    /// Snapshots, at most about twenty a second, for any number of listeners; the last one says
    /// ``UploadBatchProgress/isFinished``. Without a listener nobody counts the bytes of uploads on their way.
    public var progress: UploadBatchProgressSequence<Item> { UploadBatchProgressSequence(run: run) }

    /// What the batch came to, when its last item has ended.
    ///
    /// Cancelling a task that waits here cancels the batch.
    public var summary: UploadBatchSummary {
        get async {
            await withTaskCancellationHandler {
                // Of the task that waits, not of the batch: its summary is still to come.
                await Task { [run] in await run.finished() }.value
            } onCancel: {
                run.cancel()
            }
        }
    }

    /// The items on their way, by their places in the source: the handle of each. ``UploadTask/state`` says which of them are
    /// at work and which stand in line.
    public var executing: [Int: UploadTask] { run.executing }

    /// Cancels an item, whether it is on its way or its turn has yet to come. What has ended stays as it is.
    ///
    /// - Parameter index: Its place in the source, from 0.
    public func cancel(at index: Int) { run.cancel(at: index) }

    /// Pauses all items on their way, as ``UploadTask/pause()`` does, and takes no further one until ``resume()``.
    public func pause() { run.setPaused(true) }

    /// Lets all items go on, and takes further ones.
    public func resume() { run.setPaused(false) }

    /// Whether the batch was told to stand still.
    public var isPaused: Bool { run.books.read { $0.ledger.isPaused } }

    /// Cancels all items on their way and takes no further one. Safe from anywhere, and any number of times.
    public func cancel() { run.cancel() }
}

extension UploadBatch: CustomStringConvertible {
    /// How many items were taken and have ended.
    public var description: String {
        let (taken, ended) = run.books.read { ($0.ledger.taken, $0.ledger.ended) }
        return "batch: \(taken) taken, \(ended) ended"
    }
}

/// What became of the items of a batch, as an asynchronous sequence. See ``UploadBatch/results``.
public struct UploadBatchResults<Item: Sendable>: AsyncSequence, Sendable {
    /// What became of an item.
    public typealias Element = UploadBatchResult<Item>
    /// It never fails: failures are in the elements.
    public typealias Failure = Never

    let run: BatchRun<Item>

    /// Becomes a reader.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: BatchReader(run: run)) }

    /// A reader. It leaves when it is let go.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let reader: BatchReader<Item>

        /// The next result; `nil` after the last, or when the surrounding task was cancelled, which leaves the batch alone.
        public mutating func next() async -> UploadBatchResult<Item>? { await reader.run.nextResult() }

        /// The next result, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UploadBatchResult<Item>? {
            await reader.run.nextResult()
        }
    }
}

/// The snapshots of a batch as an asynchronous sequence. See ``UploadBatch/progress``.
public struct UploadBatchProgressSequence<Item: Sendable>: AsyncSequence, Sendable {
    /// A snapshot.
    public typealias Element = UploadBatchProgress
    /// It never fails.
    public typealias Failure = Never

    let run: BatchRun<Item>

    /// Becomes a listener.
    public func makeAsyncIterator() -> Iterator { Iterator(listener: BatchListener(run: run)) }

    /// A listener. It leaves when it is let go.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let listener: BatchListener<Item>

        /// The next newer snapshot; `nil` after the last, or when the surrounding task was cancelled.
        public mutating func next() async -> UploadBatchProgress? { await listener.next() }

        /// The next newer snapshot, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UploadBatchProgress? {
            await listener.next()
        }
    }
}
