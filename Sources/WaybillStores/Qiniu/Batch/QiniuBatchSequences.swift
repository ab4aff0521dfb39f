public import Waybill
import WaybillCore

/// What became of the items of a batch, as an asynchronous sequence. See ``QiniuBatch/results``.
public struct QiniuBatchResults<Item: Sendable>: AsyncSequence, Sendable {
    /// What became of an item.
    public typealias Element = QiniuBatchResult<Item>
    /// It never fails: failures are in the elements.
    public typealias Failure = Never

    let run: QiniuBatchRun<Item>

    /// Becomes a reader.
    public func makeAsyncIterator() -> Iterator { Iterator(presence: Presence(run, .reader)) }

    /// A reader. It leaves when it is let go.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let presence: Presence<Item>

        /// The next result; `nil` after the last, or when the surrounding task was cancelled, which leaves the batch alone.
        public mutating func next() async -> QiniuBatchResult<Item>? { await presence.run.nextResult() }

        /// The next result, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> QiniuBatchResult<Item>? {
            await presence.run.nextResult()
        }
    }
}

/// The snapshots of a batch as an asynchronous sequence. See ``QiniuBatch/progress``.
public struct QiniuBatchProgressSequence<Item: Sendable>: AsyncSequence, Sendable {
    /// A snapshot.
    public typealias Element = UploadBatchProgress
    /// It never fails.
    public typealias Failure = Never

    let run: QiniuBatchRun<Item>

    /// Becomes a listener.
    public func makeAsyncIterator() -> Iterator { Iterator(presence: Presence(run, .listener)) }

    /// A listener. It leaves when it is let go.
    public struct Iterator: AsyncIteratorProtocol {
        let presence: Presence<Item>
        private var seen: Int?
        private var wasLast = false

        init(presence: Presence<Item>) {
            self.presence = presence
        }

        /// The next newer snapshot; `nil` after the last, or when the surrounding task was cancelled.
        public mutating func next() async -> UploadBatchProgress? {
            if wasLast || Task.isCancelled { return nil }
            let run = presence.run
            if let seen {
                // Twenty snapshots a second.
                await run.books.wait(atMost: .milliseconds(50)) { $0.ledger.isFinished }
                await run.books.wait { $0.version != seen || $0.ledger.isFinished }
                if Task.isCancelled { return nil }
            }
            let now = ContinuousClock.now - run.start
            let (sums, rate, version, elapsed) = run.books.read { state in
                // What is resumed counts without having moved, so the rate is that of the requests.
                (
                    state.ledger.sums(at: now), state.rates.values.reduce(0, +), state.version, state.duration ?? now
                )
            }
            (seen, wasLast) = (version, sums.isFinished)
            return UploadBatchProgress(sums, bytesPerSecond: rate, pace: rate, elapsed: elapsed)
        }

        /// The next newer snapshot, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UploadBatchProgress? {
            await next()
        }
    }
}

/// Somebody who reads or listens, for as long as the value is held.
final class Presence<Item: Sendable>: Sendable {
    enum Role: Sendable { case reader, listener }

    let run: QiniuBatchRun<Item>
    private let role: Role

    init(_ run: QiniuBatchRun<Item>, _ role: Role) {
        self.run = run
        self.role = role
        run.join(role)
    }

    deinit { run.leave(role) }
}
