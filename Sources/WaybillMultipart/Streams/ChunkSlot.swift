import WaybillCore

/// A buffer for one chunk between a stream and its reader.
///
/// The stream's task is suspended until the reader has taken its chunk; this is the only back-pressure mechanism.
final class ChunkSlot: Sendable {
    enum Taken: Sendable {
        case chunk([UInt8])
        case nothingYet
        case end((any Error)?)
    }

    private struct State: Sendable {
        var chunk: [UInt8]?
        var putter: CheckedContinuation<Bool, Never>?
        var end: Taken?
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
                state.putter = continuation
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

    func take() -> Taken {
        let (taken, putter) = state.withLock { state -> (Taken, CheckedContinuation<Bool, Never>?) in
            guard let chunk = state.chunk.take() else { return (state.end ?? .nothingYet, nil) }
            return (.chunk(chunk), state.putter.take())
        }
        putter?.resume(returning: true)
        return taken
    }

    func close() {
        let putter = state.withLock { state in
            state.isClosed = true
            state.chunk = nil
            return state.putter.take()
        }
        putter?.resume(returning: false)
    }
}
