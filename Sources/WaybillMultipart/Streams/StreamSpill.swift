import WaybillCore

/// Reads a stream to its end before anything is sent: into memory, or into a file if it exceeds the threshold.
final class StreamSpill: Sendable {
    private struct Kept: Sendable {
        var count: Int64 = 0
        var memory: [UInt8] = []
        var file: SpillFile?
        var failure: BodyError?
    }

    private let threshold: Int64
    private let makeFile: @Sendable () throws(BodyError) -> SpillFile
    private let place: PartPlace
    private let kept = Locked(Kept())

    /// Creates a spill. `makeFile` is called at most once, on the pool.
    init(threshold: Int64, at place: PartPlace, makeFile: @escaping @Sendable () throws(BodyError) -> SpillFile) {
        self.threshold = threshold
        self.place = place
        self.makeFile = makeFile
    }

    /// Pulls the stream in the caller's task, so that cancelling that task also cancels the stream.
    func read(_ pump: StreamPump) async throws(BodyError) -> ReadyContent {
        do {
            try await pump { await self.take($0) }
        } catch {
            throw Task.isCancelled
                ? BodyError.taskCancelled : BodyError.stream(error, after: kept.withLock { $0.count }, at: place)
        }
        let kept = kept.withLock { $0 }
        if let failure = kept.failure { throw failure }
        // A cancelled stream may end early instead of throwing; its bytes are then incomplete.
        guard !Task.isCancelled else { throw BodyError.taskCancelled }
        guard let file = kept.file else { return .bytes(kept.memory) }
        return .file(FileSlice(file.source(kept.count)))
    }

    private func take(_ chunk: [UInt8]) async -> Bool {
        guard !Task.isCancelled else { return false }
        let (file, start, isSmall) = kept.withLock { kept in
            (kept.file, kept.count, kept.file == nil && kept.count + Int64(chunk.count) <= threshold)
        }
        if isSmall {
            kept.withLock { kept in
                kept.memory += chunk
                kept.count += Int64(chunk.count)
            }
            return true
        }
        let before = kept.withLock { kept in
            defer { kept.memory = [] }
            return kept.memory
        }
        let makeFile = makeFile
        do throws(BodyError) {
            let written = try await ReaderPool.shared.run { () throws(BodyError) in
                let file = if let file { file } else { try makeFile() }
                try file.write(before, at: 0)
                try file.write(chunk, at: start)
                return file
            }
            kept.withLock { kept in
                kept.file = written
                kept.count = start + Int64(chunk.count)
            }
            return true
        } catch {
            kept.withLock { $0.failure = error }
            return false
        }
    }
}
