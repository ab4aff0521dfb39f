import WaybillCore

/// Reads a stream to its end before anything is sent: into memory, or into a file if it exceeds the threshold.
final class StreamSpill: Sendable {
    private struct State: Sendable {
        var count: Int64 = 0
        var memory: [UInt8] = []
        var file: SpillFile?
        var failure: BodyError?
    }

    private let threshold: Int64
    private let makeFile: @Sendable () throws(BodyError) -> SpillFile
    private let location: PartLocation
    private let state = Locked(State())

    /// Creates a spill. `makeFile` is called at most once, on the pool.
    init(threshold: Int64, at location: PartLocation, makeFile: @escaping @Sendable () throws(BodyError) -> SpillFile) {
        self.threshold = threshold
        self.location = location
        self.makeFile = makeFile
    }

    /// Pulls the stream in the caller's task, so that cancelling that task also cancels the stream.
    func read(_ pump: StreamPump) async throws(BodyError) -> ReadyContent {
        do {
            try await pump { await self.receive($0) }
        } catch {
            throw Task.isCancelled
                ? BodyError.taskCancelled : BodyError.stream(error, after: state.withLock { $0.count }, at: location)
        }
        let state = state.withLock { $0 }
        if let failure = state.failure { throw failure }
        // A cancelled stream may end early instead of throwing; its bytes are then incomplete.
        guard !Task.isCancelled else { throw BodyError.taskCancelled }
        guard let file = state.file else { return .bytes(state.memory) }
        return .file(FileSlice(file.source(state.count)))
    }

    private func receive(_ chunk: [UInt8]) async -> Bool {
        guard !Task.isCancelled else { return false }
        let (file, start, isSmall) = state.withLock { state in
            (state.file, state.count, state.file == nil && state.count + Int64(chunk.count) <= threshold)
        }
        if isSmall {
            state.withLock { state in
                state.memory += chunk
                state.count += Int64(chunk.count)
            }
            return true
        }
        let before = state.withLock { state in
            defer { state.memory = [] }
            return state.memory
        }
        let makeFile = makeFile
        do throws(BodyError) {
            let written = try await ReaderPool.shared.run { () throws(BodyError) in
                let file = if let file { file } else { try makeFile() }
                try file.write(before, at: 0)
                try file.write(chunk, at: start)
                return file
            }
            state.withLock { state in
                state.file = written
                state.count = start + Int64(chunk.count)
            }
            return true
        } catch {
            state.withLock { $0.failure = error }
            return false
        }
    }
}
