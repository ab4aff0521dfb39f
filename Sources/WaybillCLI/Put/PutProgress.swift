import WaybillCore
import Waybill
import WaybillStores

/// The progress of the files that a `put` is sending.
final class PutProgress: Sendable {
    private struct State {
        var starts: [Int: Duration] = [:]
        var counts: [Int: (count: PutSnapshot, time: Duration)] = [:]
        /// The durations of the ended uploads.
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

    /// Updates the progress of a file.
    ///
    /// - Returns: A retry, if one has become pending with this update.
    func update(_ index: Int, _ count: PutSnapshot, at time: Duration) -> UploadRetry? {
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

    /// Returns the duration of an ended upload.
    func time(of index: Int) -> Duration { state.withLock { $0.times[index] } ?? .zero }

    /// Returns the running uploads, in the order of their files.
    func transfers(at time: Duration) -> [TransferRow] {
        let counts = state.withLock { state in
            state.starts.keys.sorted().map { ($0, state.counts[$0]) }
        }
        return counts.map { index, known in
            var retry = known?.count.retry
            retry?.timeLeft -= time - (known?.time ?? time)
            return TransferRow(
                files[index].path, done: known?.count.acknowledged ?? 0, of: files[index].size, retry: retry)
        }
    }
}

/// The uploads of a `put`, identified by the indices of the files.
typealias PutBatch = BatchRun<Int, PutTransfer>

extension PutBatch {
    /// Starts to send files.
    ///
    /// - Parameters:
    ///   - files: The files.
    ///   - parallel: The maximum number of concurrent uploads.
    ///   - failsEarly: Whether the first failure cancels the others.
    ///   - progress: Receives the progress of each file.
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
        options.onFailure = failsEarly ? .stop : .continue
        // Buffer all results, so that none is lost if they are read late.
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
    // Resumed bytes count as acknowledged without being sent, so the rate is the sum of the requests' rates.
    static var sumsRates: Bool { true }

    // The command never pauses uploads.
    func pause() {}
    func resume() {}
    func cancel() { stop() }
    func follow(_ body: (PutSnapshot) -> Bool) async { await watch(body) }
    func finished() async -> Result<PutStored, StoreError> { await end() }

    func bytes(of result: Result<PutStored, StoreError>) -> (acknowledged: Int64, total: Int64?) {
        if case .success = result { (size, size) } else { (0, nil) }
    }
}

extension PutSnapshot: BatchSnapshot {
    var total: Int64? { nil }
    var isTransferring: Bool { retry == nil }
}
