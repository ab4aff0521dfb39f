import Glibc
import WaybillCore

/// Threads for CPU-bound work that would otherwise block Swift's cooperative threads.
///
/// Jobs beyond the number of threads wait in order, which bounds the memory: a job of 12 megapixels needs about 45 MB.
final class WorkerPool: Sendable {
    static let shared = WorkerPool(width: max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    private let pool: ThreadPool

    init(width: Int) {
        pool = ThreadPool(width: width)
    }

    /// Runs `work` on the pool. Cancelling the task prevents waiting work from starting, or raises the flag of running
    /// work.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (CancellationFlag) throws(JPEGError) -> Value
    ) async throws(JPEGError) -> Value {
        let job = Job(work)
        let outcome: Result<Value, JPEGError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if job.begin(continuation) { pool.submit(job) }
            }
        } onCancel: {
            job.cancel()
        }
        return try outcome.get()
    }
}

/// A unit of work and the task that waits for it. The task is resumed exactly once: at the end of the work, or by a
/// cancellation before its start.
private final class Job<Value: Sendable>: PoolJob {
    typealias Continuation = CheckedContinuation<Result<Value, JPEGError>, Never>

    private struct State {
        var continuation: Continuation?
        var isStarted = false
        var isCancelled = false
    }

    private let work: @Sendable (CancellationFlag) throws(JPEGError) -> Value
    private let flag = CancellationFlag()
    private let state = Locked(State())

    init(_ work: @escaping @Sendable (CancellationFlag) throws(JPEGError) -> Value) {
        self.work = work
    }

    /// Stores the continuation, or resumes it if the job was cancelled before.
    func begin(_ continuation: Continuation) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return state.isCancelled
        }
        if isCancelled { continuation.resume(returning: .failure(.stopped)) }
        return !isCancelled
    }

    func run() {
        let isCancelled = state.withLock { state in
            state.isStarted = true
            return state.isCancelled
        }
        finish(isCancelled ? .failure(.stopped) : Result { () throws(JPEGError) in try work(flag) })
    }

    var isLimited: Bool { false }
    func abandon(after limit: Duration) {}

    func cancel() {
        flag.set()
        let isWaiting = state.withLock { state in
            state.isCancelled = true
            return !state.isStarted
        }
        if isWaiting { finish(.failure(.stopped)) }
    }

    private func finish(_ outcome: Result<Value, JPEGError>) {
        state.withLock { $0.continuation.take() }?.resume(returning: outcome)
    }
}
