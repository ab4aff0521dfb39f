import Waybill
import WaybillStores

/// The progress of all files of a `put`.
final class PutProgress: Sendable {
    private struct State {
        var ledger: BatchLedger
        var counts: [Int: (count: PutCount, time: Duration)] = [:]
        var transfers: [Int: PutTransfer] = [:]
    }

    private let files: [PutFile]
    private let state: Locked<State>

    init(files: [PutFile], parallel: Int) {
        self.files = files
        var options = UploadBatchOptions()
        options.expectedSizes = files.map(\.size)
        state = Locked(
            State(ledger: BatchLedger(window: parallel, buffer: files.count, count: files.count, options: options)))
    }

    /// Cancels the transfers that run. No further one is started.
    func cancel() {
        let transfers = state.withLock { state -> [PutTransfer] in
            state.ledger.stop()
            return Array(state.transfers.values)
        }
        for transfer in transfers { transfer.cancel() }
    }

    /// Bytes that arrived.
    var acknowledged: Int64 { state.withLock { $0.ledger.sums(at: .zero).acknowledged } }

    /// Takes the next file; `nil` after the last, after ``cancel()``, and while as many as allowed are on their way.
    func take() -> Int? {
        state.withLock { state in
            guard state.ledger.taken < files.count, state.ledger.mayTake(isRead: false) else { return nil }
            let index = state.ledger.take().index
            if state.ledger.taken == files.count { state.ledger.exhaust() }
            return index
        }
    }

    func begin(_ index: Int, _ transfer: PutTransfer) {
        let isLate = state.withLock { state in
            state.transfers[index] = transfer
            return state.ledger.isStopped
        }
        if isLate { transfer.cancel() }
    }

    /// A file has come so far.
    ///
    /// - Returns: A retry that is waited for from now on.
    func update(_ index: Int, _ count: PutCount, at time: Duration) -> UploadRetry? {
        state.withLock { state in
            guard state.transfers[index] != nil else { return nil }
            let before = state.counts.updateValue((count, time), forKey: index)?.count.retry
            state.ledger.progress(
                index, acknowledged: count.acknowledged, total: nil, isMoving: count.retry == nil, at: time)
            let isSame = before?.number == count.retry?.number && before?.reason == count.retry?.reason
            return isSame ? nil : count.retry
        }
    }

    func end(_ index: Int, _ report: PutReport) {
        let size = files[index].size
        state.withLock { state in
            state.transfers[index] = nil
            let arrived = state.counts.removeValue(forKey: index)?.count.acknowledged ?? 0
            switch report.result {
            case .success: _ = state.ledger.end(index, .succeeded, acknowledged: size, total: size, isRead: false)
            case .failure(let error):
                let ending: BatchLedger.Ending = error.isCancelled ? .cancelled : .failed
                _ = state.ledger.end(index, ending, acknowledged: min(arrived, size), total: size, isRead: false)
            }
        }
    }

    /// The files on their way, in their order.
    func flights(at time: Duration) -> [Flight] {
        let counts = state.withLock { state in
            state.transfers.keys.sorted().map { ($0, state.counts[$0]) }
        }
        return counts.map { index, known in
            var retry = known?.count.retry
            retry?.timeLeft -= time - (known?.time ?? time)
            return Flight(files[index].path, done: known?.count.acknowledged ?? 0, of: files[index].size, retry: retry)
        }
    }

    /// A snapshot, in the words of a batch.
    func progress(at time: Duration) -> UploadBatchProgress {
        state.withLock { state in
            // What is resumed counts without having moved, so the rate is that of the requests.
            let rate = state.counts.values.reduce(0) { $0 + $1.count.bytesPerSecond }
            return UploadBatchProgress(
                state.ledger.sums(at: time), bytesPerSecond: rate, pace: rate, elapsed: time)
        }
    }
}
