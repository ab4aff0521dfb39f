import Glibc
import WaybillCore

/// Something to be done where waiting for a disk is allowed.
package protocol PoolJob: AnyObject, Sendable {
    func run()
    /// Whether the pool's limit is for it. Writing has none: its result must be known.
    var isLimited: Bool { get }
    /// Called on another thread when ``run()`` has not returned within the pool's limit, or was not even called. It may
    /// return later.
    func giveUp(after limit: Duration)
}

/// Threads for blocking file operations, so that no thread of Swift's pool blocks.
///
/// Shared by all bodies of the process. Two jobs run at a time; one that takes longer than a tenth of a second does not
/// count, so that a file system that hangs does not keep those who read from another waiting. Its threads stay with it.
package final class ReaderPool: Sendable {
    package static let shared = ReaderPool()
    /// How long a source may take to be opened, or to give bytes.
    package static let limit = Duration.seconds(60)

    private let queue: JobQueue

    init(limit: Duration = ReaderPool.limit) {
        queue = JobQueue(limit: limit)
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
            submit(ClosureJob(work, reading: nil, continuation))
        }.get()
    }

    /// Runs a closure on the pool that looks at a file or reads from it, and nothing else.
    ///
    /// - Throws: What the closure throws, or ``BodyError/Code/readFailed`` after ``limit``.
    package func run<Value: Sendable>(
        reading path: String, at place: PartPlace? = nil, _ work: @escaping @Sendable () throws(BodyError) -> Value
    ) async throws(BodyError) -> Value {
        try await withCheckedContinuation { continuation in
            submit(ClosureJob(work, reading: (path, place), continuation))
        }.get()
    }
}

extension BodyError {
    /// A file whose disk or network does not answer.
    static func hanging(_ path: String, at place: PartPlace?, limit: Duration) -> BodyError {
        BodyError(
            .readFailed, "\(path) could not be read within \(limit). Its disk or its network may hang.", at: place,
            path: path,
            cause: SystemError(ETIMEDOUT))
    }
}

private final class ClosureJob<Value: Sendable>: PoolJob {
    private struct State {
        var work: (@Sendable () throws(BodyError) -> Value)?
        var continuation: CheckedContinuation<Result<Value, BodyError>, Never>?
    }

    private let state: Locked<State>
    private let source: (path: String, place: PartPlace?)?

    init(
        _ work: @escaping @Sendable () throws(BodyError) -> Value, reading source: (path: String, place: PartPlace?)?,
        _ continuation: CheckedContinuation<Result<Value, BodyError>, Never>
    ) {
        state = Locked(State(work: work, continuation: continuation))
        self.source = source
    }

    func run() {
        guard let result = takeResult() else { return }
        state.withLock { $0.continuation.take() }?.resume(returning: result)
    }

    var isLimited: Bool { source != nil }

    func giveUp(after limit: Duration) {
        guard let source else { return }
        let waiting = state.withLock { state in
            state.work = nil
            return state.continuation.take()
        }
        waiting?.resume(returning: .failure(.hanging(source.path, at: source.place, limit: limit)))
    }

    /// Does the work and lets go of it, before anybody hears of the result.
    private func takeResult() -> Result<Value, BodyError>? {
        guard let work = state.withLock({ $0.work.take() }) else { return nil }
        return Result { () throws(BodyError) in try work() }
    }
}

/// Jobs first come, first served. A mutex and a condition of the C library: the thread sanitizer knows both.
///
/// One thread more than there are jobs waits as long as any can be had: it starts what the others, being stuck, don't, and
/// gives up what takes too long.
@safe private final class JobQueue: @unchecked Sendable {
    private final class Entry {
        let job: any PoolJob
        let submitted = ContinuousClock.now
        var started: ContinuousClock.Instant?

        init(_ job: any PoolJob) { self.job = job }
    }

    /// How many jobs run at a time, not counting those that are stuck.
    private static let width = 2
    /// A job that runs for that long is stuck.
    private static let patience = Duration.milliseconds(100)
    private static let mostThreads = 64

    private let limit: Duration
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    // Guarded by the mutex.
    private var waiting: [Entry] = []
    private var running: [Entry] = []
    /// Those that ran longer than the limit.
    private var lost: [Entry] = []
    private var threads = 0
    private var idle = 0

    init(limit: Duration) {
        self.limit = limit
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
    }

    // No deinit: the shared queue lives as long as the process, and its threads hold it.

    func append(_ job: any PoolJob) {
        unsafe pthread_mutex_lock(mutex)
        let canRun = threads > 0 || startThread()
        if canRun { waiting.append(Entry(job)) }
        unsafe pthread_cond_signal(condition)
        unsafe pthread_mutex_unlock(mutex)
        // No thread to be had at all: late is better than never.
        if !canRun { job.run() }
    }

    func runUntilIdle() {
        var entry: Entry?
        while let next = next(after: entry) {
            next.job.run()
            entry = next
        }
    }

    /// Waits for the next job; `nil` when the thread is not needed any more.
    private func next(after done: Entry?) -> Entry? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        if let done {
            running.removeAll { $0 === done }
            lost.removeAll { $0 === done }
        }
        idle += 1
        defer { idle -= 1 }
        while true {
            let now = ContinuousClock.now
            if giveUp(now) { continue }
            if let entry = take(now) { return entry }
            if idle > 1, threads > Self.width + 1 {
                threads -= 1
                return nil
            }
            wait(until: due(now), now)
        }
    }

    private func take(_ now: ContinuousClock.Instant) -> Entry? {
        guard !waiting.isEmpty, running.count(where: { !isStuck($0, now) }) < Self.width else { return nil }
        guard idle > 1 || startThread() || running.isEmpty && lost.isEmpty else { return nil }
        let entry = waiting.removeFirst()
        entry.started = now
        running.append(entry)
        return entry
    }

    private func isStuck(_ entry: Entry, _ now: ContinuousClock.Instant) -> Bool {
        entry.started.map { now - $0 >= Self.patience } ?? false
    }

    /// - Returns: Whether the mutex was free meanwhile.
    private func giveUp(_ now: ContinuousClock.Instant) -> Bool {
        // Those that wait stand in the order in which they came.
        let overdue = running.filter { now - $0.submitted >= limit } + waiting.prefix { now - $0.submitted >= limit }
        let late = overdue.filter(\.job.isLimited)
        guard !late.isEmpty else { return false }
        lost += late.filter { $0.started != nil }
        running.removeAll { entry in late.contains { $0 === entry } }
        waiting.removeAll { entry in late.contains { $0 === entry } }
        unsafe pthread_mutex_unlock(mutex)
        for entry in late { entry.job.giveUp(after: limit) }
        unsafe pthread_mutex_lock(mutex)
        return true
    }

    /// When there is something to do without a call of ``append(_:)``.
    private func due(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let limited = running.filter(\.job.isLimited) + [waiting.first(where: \.job.isLimited)].compactMap(\.self)
        let limits = limited.map { $0.submitted + limit }
        let turns = waiting.isEmpty ? [] : running.compactMap(\.started).map { $0 + Self.patience }.filter { $0 > now }
        return (limits + turns).min()
    }

    private func wait(until due: ContinuousClock.Instant?, _ now: ContinuousClock.Instant) {
        guard let due else {
            unsafe pthread_cond_wait(condition, mutex)
            return
        }
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let (seconds, attoseconds) = max(.zero, due - now).components
        let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000) + 1_000
        time.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        time.tv_nsec = nanoseconds % 1_000_000_000
        unsafe pthread_cond_timedwait(condition, mutex, &time)
    }

    private func startThread() -> Bool {
        guard threads < Self.mostThreads else { return false }
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(self)
        let failed = unsafe pthread_create(&thread, nil, runJobs, context.toOpaque()) != 0
        if failed {
            unsafe context.release()
            return false
        }
        pthread_detach(thread)
        threads += 1
        return true
    }
}

private func runJobs(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Signals belong to the program's own threads.
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    unsafe Unmanaged<JobQueue>.fromOpaque(context!).takeRetainedValue().runUntilIdle()
    return nil
}
