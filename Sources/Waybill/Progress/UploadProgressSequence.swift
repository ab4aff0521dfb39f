/// The snapshots of an upload as an asynchronous sequence.
///
/// Every iteration is a listener of its own: it begins with the latest snapshot, waits for newer ones, keeps only the
/// newest while its consumer is busy, and ends after the terminal phase. Its memory is one snapshot.
public struct UploadProgressSequence: AsyncSequence, Sendable {
    /// A snapshot.
    public typealias Element = UploadProgress
    /// It never fails; the error is the response's.
    public typealias Failure = Never

    let run: UploadRun
    let handle: Int

    /// Joins the listeners.
    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: run.listen(for: handle).makeAsyncIterator())
    }

    /// One listener. It leaves when it is let go.
    public struct Iterator: AsyncIteratorProtocol {
        var stream: AsyncStream<UploadProgress>.Iterator

        /// The next newer snapshot; `nil` after the last, or when the surrounding task was cancelled.
        public mutating func next() async -> UploadProgress? {
            await next(isolation: #isolation)
        }

        /// The next newer snapshot, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UploadProgress? {
            await stream.next(isolation: actor)
        }
    }
}
