import Waybill
import WaybillStores

/// What is known of all files of a `put` while they go out.
final class PutBoard: Sendable {
    private struct State {
        var counts: [Int: PutCount] = [:]
        var transfers: [Int: PutTransfer] = [:]
        var succeeded = 0
        var failed = 0
        var cancelled = 0
        var settled: Int64 = 0
        var isCancelled = false
    }

    private let files: [PutFile]
    private let total: Int64
    private let state = Locked(State())

    init(files: [PutFile]) {
        self.files = files
        total = files.reduce(0) { $0 + $1.size }
    }

    /// Ends what is on its way; nothing new begins.
    func cancel() {
        let transfers = state.withLock { state -> [PutTransfer] in
            state.isCancelled = true
            return Array(state.transfers.values)
        }
        for transfer in transfers { transfer.cancel() }
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Bytes that arrived.
    var acknowledged: Int64 {
        state.withLock { state in state.counts.values.reduce(state.settled) { $0 + $1.acknowledged } }
    }

    func begin(_ index: Int, _ transfer: PutTransfer) {
        let isLate = state.withLock { state in
            state.transfers[index] = transfer
            return state.isCancelled
        }
        if isLate { transfer.cancel() }
    }

    func update(_ index: Int, _ count: PutCount) {
        state.withLock { state in
            if state.transfers[index] != nil { state.counts[index] = count }
        }
    }

    func end(_ index: Int, _ report: PutReport) {
        let size = files[index].size
        state.withLock { state in
            state.transfers[index] = nil
            let count = state.counts.removeValue(forKey: index)?.acknowledged ?? 0
            switch report.result {
            case .success:
                state.succeeded += 1
                state.settled += size
            case .failure(let error):
                state.settled += min(count, size)
                if error.isCancelled { state.cancelled += 1 } else { state.failed += 1 }
            }
        }
    }

    /// The files on their way, in their order.
    var flights: [Flight] {
        let counts = state.withLock { state in
            state.transfers.keys.sorted().map { ($0, state.counts[$0]?.acknowledged ?? 0) }
        }
        return counts.map { index, done in Flight(files[index].path, done: done, of: files[index].size) }
    }

    /// A snapshot, in the words of a batch.
    var progress: UploadBatchProgress {
        let (files, total) = (files.count, total)
        return state.withLock { state in
            let acknowledged = state.counts.values.reduce(state.settled) { $0 + $1.acknowledged }
            let rate = state.counts.values.reduce(0) { $0 + $1.bytesPerSecond }
            return UploadBatchProgress(
                count: files, executing: state.transfers.count, succeeded: state.succeeded, failed: state.failed,
                cancelled: state.cancelled, acknowledged: acknowledged, total: total, bytesPerSecond: rate)
        }
    }
}
