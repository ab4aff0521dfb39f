import WaybillCore

/// A stream of known chunks that counts requests and can throw at its end.
struct CountedStream: AsyncSequence, Sendable {
    let chunks: [[UInt8]]
    var failure: Failed?
    /// Called with the number of each chunk before it is returned, and again before the end.
    var before: @Sendable (Int) async throws -> Void = { _ in }
    let asked = Count()

    struct Failed: Error {}

    final class Count: Sendable {
        private let count = Locked(0)
        var value: Int { count.withLock { $0 } }
        func add() { count.withLock { $0 += 1 } }
    }

    func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    struct Iterator: AsyncIteratorProtocol {
        let stream: CountedStream
        var next = 0

        mutating func next() async throws -> [UInt8]? {
            defer { next += 1 }
            stream.asked.add()
            try await stream.before(next)
            if next < stream.chunks.count { return stream.chunks[next] }
            if let failure = stream.failure { throw failure }
            return nil
        }
    }
}

/// An event that can be awaited. Waiting returns immediately once it has happened.
final class OneTimeEvent: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    func happen() { continuation.finish() }

    /// Waits for the event or for cancellation of the task.
    func wait() async {
        for await _ in stream {}
    }
}
