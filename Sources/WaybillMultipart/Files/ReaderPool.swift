import Glibc
import WaybillCore

/// Something to be done where waiting for a disk is allowed.
package protocol PoolJob: AnyObject, Sendable {
    func run()
}

/// Two threads that wait for disks, so that nobody else has to.
///
/// Started by the first job, shared by all bodies of the process. A file system that hangs keeps a thread for as long
/// as it hangs; two of them keep the whole pool.
package final class ReaderPool: Sendable {
    package static let shared = ReaderPool(threads: 2)

    private let queue: JobQueue

    private init(threads: Int) {
        queue = JobQueue(threads: threads)
    }

    /// Has a job run soon, on a thread of the pool.
    package func submit(_ job: any PoolJob) {
        queue.append(job)
    }

    /// Runs a closure on the pool. Nothing holds the closure any more when this returns: what it alone kept alive is gone,
    /// be it a file with a name or a lock.
    package func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(BodyError) -> Value
    ) async throws(BodyError) -> Value {
        try await withCheckedContinuation { continuation in
            submit(ClosureJob(work, continuation))
        }.get()
    }
}

@safe private final class ClosureJob<Value: Sendable>: PoolJob, @unchecked Sendable {
    // For the one thread that runs the job.
    private var work: (@Sendable () throws(BodyError) -> Value)?
    private let continuation: CheckedContinuation<Result<Value, BodyError>, Never>

    init(
        _ work: @escaping @Sendable () throws(BodyError) -> Value,
        _ continuation: CheckedContinuation<Result<Value, BodyError>, Never>
    ) {
        self.work = work
        self.continuation = continuation
    }

    func run() {
        let result = takeResult()
        continuation.resume(returning: result)
    }

    /// Does the work and lets go of it, before anybody hears of the result.
    private func takeResult() -> Result<Value, BodyError> {
        let work = work.take()
        return Result { () throws(BodyError) in try work!() }
    }
}

/// Jobs first come, first served. A mutex and a condition of the C library: the thread sanitizer knows both.
@safe private final class JobQueue: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let threads: Int
    // Guarded by the mutex.
    private var jobs: [any PoolJob] = []
    private var running = 0

    init(threads: Int) {
        self.threads = threads
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    // No deinit: the shared queue lives as long as the process, and its threads hold it.

    func append(_ job: any PoolJob) {
        unsafe pthread_mutex_lock(mutex)
        while running < threads, startThread() { running += 1 }
        let canRun = running > 0
        if canRun { jobs.append(job) }
        unsafe pthread_cond_signal(condition)
        unsafe pthread_mutex_unlock(mutex)
        // No thread to be had at all: late is better than never.
        if !canRun { job.run() }
    }

    func runForever() {
        while true { next().run() }
    }

    private func next() -> any PoolJob {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while jobs.isEmpty { unsafe pthread_cond_wait(condition, mutex) }
        return jobs.removeFirst()
    }

    private func startThread() -> Bool {
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(self)
        let failed = unsafe pthread_create(&thread, nil, runJobs, context.toOpaque()) != 0
        if failed {
            unsafe context.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}

private func runJobs(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Signals belong to the program's own threads.
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    unsafe Unmanaged<JobQueue>.fromOpaque(context!).takeRetainedValue().runForever()
    return nil
}
