import WaybillCore

/// A buffer for one chunk between a stream and its reader.
///
/// The stream's task is suspended until the reader has taken its chunk; this is the only back-pressure mechanism.
final class ChunkSlot: Sendable {
    enum TakeResult: Sendable {
        case chunk([UInt8])
        case empty
        case end((any Error)?)
    }

    private struct State: Sendable {
        var chunk: [UInt8]?
        var producer: CheckedContinuation<Bool, Never>?
        var end: TakeResult?
        var isClosed = false
    }

    private let wake: @Sendable () -> Void
    private let state = Locked(State())

    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    // MARK: The stream's side

    /// Stores a chunk and waits until the reader has taken it.
    ///
    /// - Returns: `false` if no more chunks are wanted.
    func put(_ chunk: [UInt8]) async -> Bool {
        guard !chunk.isEmpty else { return !Task.isCancelled }
        return await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                guard !state.isClosed else { return true }
                state.chunk = chunk
                state.producer = continuation
                return false
            }
            if isClosed { continuation.resume(returning: false) } else { wake() }
        }
    }

    func end(_ error: (any Error)?) {
        let isClosed = state.withLock { state in
            state.end = .end(error)
            return state.isClosed
        }
        if !isClosed { wake() }
    }

    // MARK: The reader's side

    func take() -> TakeResult {
        let (result, producer) = state.withLock { state -> (TakeResult, CheckedContinuation<Bool, Never>?) in
            guard let chunk = state.chunk.take() else { return (state.end ?? .empty, nil) }
            return (.chunk(chunk), state.producer.take())
        }
        producer?.resume(returning: true)
        return result
    }

    func close() {
        let producer = state.withLock { state in
            state.isClosed = true
            state.chunk = nil
            return state.producer.take()
        }
        producer?.resume(returning: false)
    }
}
