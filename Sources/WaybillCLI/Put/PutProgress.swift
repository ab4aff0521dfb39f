import Waybill
import WaybillStores

/// The progress of each file of a `put` that is on its way.
final class PutProgress: Sendable {
    private struct State {
        var starts: [Int: Duration] = [:]
        var counts: [Int: (count: PutCount, time: Duration)] = [:]
        /// How long the files that have ended took.
        var times: [Int: Duration] = [:]
    }

    private let files: [PutFile]
    private let state = Locked(State())

    init(files: [PutFile]) {
        self.files = files
    }

    func begin(_ index: Int, at time: Duration) {
        state.withLock { $0.starts[index] = time }
    }

    /// Enters how far a file is.
    ///
    /// - Returns: A retry that is waited for from now on.
    func update(_ index: Int, _ count: PutCount, at time: Duration) -> UploadRetry? {
        state.withLock { state in
            guard state.starts[index] != nil else { return nil }
            let before = state.counts.updateValue((count, time), forKey: index)?.count.retry
            let isSame = before?.number == count.retry?.number && before?.reason == count.retry?.reason
            return isSame ? nil : count.retry
        }
    }

    func end(_ index: Int, at time: Duration) {
        state.withLock { state in
            state.counts[index] = nil
            state.times[index] = state.starts.removeValue(forKey: index).map { time - $0 }
        }
    }

    /// How long a file that has ended took.
    func time(of index: Int) -> Duration { state.withLock { $0.times[index] } ?? .zero }

    /// The files on their way, in their order.
    func flights(at time: Duration) -> [Flight] {
        let counts = state.withLock { state in
            state.starts.keys.sorted().map { ($0, state.counts[$0]) }
        }
        return counts.map { index, known in
            var retry = known?.count.retry
            retry?.timeLeft -= time - (known?.time ?? time)
            return Flight(files[index].path, done: known?.count.acknowledged ?? 0, of: files[index].size, retry: retry)
        }
    }
}

/// The uploads of a `put`, by the positions of the files.
typealias PutBatch = BatchRun<Int, PutTransfer>

extension PutBatch {
    /// Starts to send files.
    ///
    /// - Parameters:
    ///   - files: The files.
    ///   - parallel: How many are on their way at most.
    ///   - failsEarly: Whether the first failure cancels the others.
    ///   - progress: Where the progress of each file is entered.
    ///   - start: Starts the upload of a file.
    ///   - onRetry: Called when a file waits for a retry.
    convenience init(
        of files: [PutFile], parallel: Int, failsEarly: Bool, progress: PutProgress,
        start: @escaping @Sendable (PutFile) -> PutTransfer,
        onRetry: @escaping @Sendable (PutFile, UploadRetry) -> Void = { _, _ in }
    ) {
        let begin = ContinuousClock.now
        var options = UploadBatchOptions()
        options.expectedSizes = files.map(\.size)
        options.onFailure = failsEarly ? .stop : .goOn
        // However late the reader comes, no result is lost.
        options.unreadResults = files.count
        self.init(
            options: options, window: parallel, count: files.count,
            onSnapshot: { index, count in
                let retry = progress.update(index, count, at: ContinuousClock.now - begin)
                if let retry { onRetry(files[index], retry) }
            },
            onEnd: { progress.end($0.index, at: ContinuousClock.now - begin) })
        self.start(files.indices) { index in
            BatchWork {
                progress.begin(index, at: ContinuousClock.now - begin)
                return start(files[index])
            }
        }
    }
}

extension PutTransfer: BatchUpload {
    static var startsWithoutCallbacks: Bool { false }
    // Resumed bytes count without having moved, so the rate is that of the requests.
    static var addsRates: Bool { true }

    // The command pauses nothing.
    func pause() {}
    func resume() {}
    func cancel() { stop() }
    func follow(_ body: (PutCount) -> Bool) async { await watch(body) }
    func finished() async -> Result<PutStored, StoreError> { await end() }

    func bytes(of result: Result<PutStored, StoreError>) -> (acknowledged: Int64, total: Int64?) {
        if case .success = result { (size, size) } else { (0, nil) }
    }
}

extension PutCount: BatchSnapshot {
    var total: Int64? { nil }
    var isMoving: Bool { retry == nil }
}
