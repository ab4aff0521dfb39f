import Glibc
import WaybillCore

/// A few threads for work that would keep Swift's own few threads from everything else.
///
/// Threads start when there is work for them and then stay. More jobs than threads wait in order, so that memory is
/// bounded too: a job of 12 megapixels holds about 45 MB.
@safe final class WorkerPool: @unchecked Sendable {
    static let shared = WorkerPool(width: max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    private let width: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let arrival: UnsafeMutablePointer<pthread_cond_t>
    // Guarded by `mutex`.
    private var jobs: [@Sendable () -> Void] = []
    private var threads = 0
    private var idle = 0

    init(width: Int) {
        self.width = width
        unsafe mutex = .allocate(capacity: 1)
        unsafe arrival = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(arrival, nil)
    }

    /// Runs `work` on a thread of the pool. When the task is cancelled, work that waits never starts and work that runs
    /// sees its flag raised.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (StopFlag) throws(JPEGError) -> Value
    ) async throws(JPEGError) -> Value {
        let job = Job<Value>()
        let outcome: Result<Value, JPEGError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard job.begin(continuation) else { return }
                submit {
                    guard job.start() else { return }
                    job.finish(Result { () throws(JPEGError) in try work(job.flag) })
                }
            }
        } onCancel: {
            job.cancel()
        }
        return try outcome.get()
    }

    private func submit(_ job: @escaping @Sendable () -> Void) {
        unsafe pthread_mutex_lock(mutex)
        jobs.append(job)
        let needsThread = idle < jobs.count && threads < width
        if needsThread { threads += 1 }
        unsafe pthread_cond_signal(arrival)
        unsafe pthread_mutex_unlock(mutex)
        if needsThread { startThread() }
    }

    private func startThread() {
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(self)
        let code = unsafe pthread_create(&thread, nil, workerMain, context.toOpaque())
        guard code != 0 else {
            pthread_detach(thread)
            return
        }
        unsafe context.release()
        unsafe pthread_mutex_lock(mutex)
        threads -= 1
        let isStranded = threads == 0
        unsafe pthread_mutex_unlock(mutex)
        // With no thread at all the caller's own has to do it: late is better than never.
        if isStranded { while let job = take(waits: false) { job() } }
    }

    fileprivate func serve() {
        while let job = take(waits: true) { job() }
    }

    private func take(waits: Bool) -> (@Sendable () -> Void)? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        idle += 1
        defer { idle -= 1 }
        while jobs.isEmpty {
            guard waits else { return nil }
            unsafe pthread_cond_wait(arrival, mutex)
        }
        return jobs.removeFirst()
    }
}

private func workerMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<WorkerPool>.fromOpaque(context!).takeRetainedValue().serve()
    return nil
}

/// One piece of work and the task that waits for it: resumed exactly once, by the work's end or by a cancel that came
/// before its start.
private final class Job<Value: Sendable>: Sendable {
    typealias Continuation = CheckedContinuation<Result<Value, JPEGError>, Never>

    private struct State {
        var continuation: Continuation?
        var isStarted = false
        var isCancelled = false
    }

    let flag = StopFlag()
    private let state = Locked(State())

    /// Takes the continuation, or resumes it when a cancel came first.
    func begin(_ continuation: Continuation) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return state.isCancelled
        }
        if isCancelled { continuation.resume(returning: .failure(.stopped)) }
        return !isCancelled
    }

    /// Whether the work is still wanted.
    func start() -> Bool {
        let isCancelled = state.withLock { state in
            state.isStarted = true
            return state.isCancelled
        }
        if isCancelled { finish(.failure(.stopped)) }
        return !isCancelled
    }

    func cancel() {
        flag.raise()
        let isWaiting = state.withLock { state in
            state.isCancelled = true
            return !state.isStarted
        }
        if isWaiting { finish(.failure(.stopped)) }
    }

    func finish(_ outcome: Result<Value, JPEGError>) {
        state.withLock { $0.continuation.take() }?.resume(returning: outcome)
    }
}
