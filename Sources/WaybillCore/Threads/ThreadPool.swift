import Glibc

/// A unit of work that a ``ThreadPool`` runs on one of its threads.
package protocol PoolJob: AnyObject, Sendable {
    func run()
    /// Whether the pool's time limit applies. It does not apply to work whose result must be known, such as writing.
    var isLimited: Bool { get }
    /// Abandons the job. Called on another thread when ``run()`` has not started or returned within the pool's limit.
    /// ``run()`` may still return later.
    func abandon(after limit: Duration)
}

/// Threads that run jobs in the order of their submission.
///
/// A pool with a `stuckAfter` uses one additional thread: it starts the next job while others are stuck, and abandons
/// jobs that exceed the limit. It uses the C library's mutex and condition variable, which ThreadSanitizer recognizes.
@safe package final class ThreadPool: @unchecked Sendable {
    private final class Entry {
        let job: any PoolJob
        let submitted = ContinuousClock.now
        var started: ContinuousClock.Instant?

        init(_ job: any PoolJob) { self.job = job }
    }

    private let width: Int
    private let stuckAfter: Duration?
    private let limit: Duration?
    private let maxThreads: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    // Guarded by the mutex.
    private var waiting: [Entry] = []
    private var running: [Entry] = []
    /// Abandoned jobs that are still running.
    private var abandoned: [Entry] = []
    private var threads = 0
    private var idle = 0

    /// - Parameters:
    ///   - width: The number of jobs that run concurrently, not counting stuck ones.
    ///   - stuckAfter: The time after which a running job counts as stuck; `nil` for never.
    ///   - limit: The time that a job may take, measured from its submission.
    ///   - maxThreads: The maximum number of threads, including those with stuck jobs; `nil` for the width.
    package init(width: Int, stuckAfter: Duration? = nil, limit: Duration? = nil, maxThreads: Int? = nil) {
        self.width = width
        self.stuckAfter = stuckAfter
        self.limit = limit
        self.maxThreads = maxThreads ?? width
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
    }

    // No deinit: the threads retain the pool, so it lives as long as they do.

    /// Schedules a job on a thread of the pool, or runs it on the caller's thread if no thread can be started.
    package func submit(_ job: any PoolJob) {
        unsafe pthread_mutex_lock(mutex)
        let canRun = threads > 0 || startThread()
        if canRun { waiting.append(Entry(job)) }
        unsafe pthread_cond_signal(condition)
        unsafe pthread_mutex_unlock(mutex)
        if !canRun { job.run() }
    }

    private func runUntilIdle() {
        while let entry = next() {
            entry.job.run()
            remove(entry)
        }
    }

    /// Removes a finished job. The caller releases it outside the mutex: its deinitializer may run any code.
    private func remove(_ entry: Entry) {
        unsafe pthread_mutex_lock(mutex)
        running.removeAll { $0 === entry }
        abandoned.removeAll { $0 === entry }
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits for the next job. Returns `nil` when the thread is no longer needed.
    private func next() -> Entry? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        idle += 1
        defer { idle -= 1 }
        while true {
            let now = ContinuousClock.now
            if abandonOverdueJobs(now) { continue }
            if let entry = startNext(now) { return entry }
            // A thread that exits while jobs wait could consume the wake-up for the last of them.
            if waiting.isEmpty, idle > 1, threads > width + 1 {
                threads -= 1
                return nil
            }
            wait(until: nextDeadline(now), now)
        }
    }

    private func startNext(_ now: ContinuousClock.Instant) -> Entry? {
        guard !waiting.isEmpty, running.count(where: { !isStuck($0, now) }) < width else { return nil }
        guard idle > 1 || startThread() || stuckAfter == nil || running.isEmpty && abandoned.isEmpty else { return nil }
        let entry = waiting.removeFirst()
        entry.started = now
        running.append(entry)
        return entry
    }

    private func isStuck(_ entry: Entry, _ now: ContinuousClock.Instant) -> Bool {
        guard let stuckAfter, let started = entry.started else { return false }
        return now - started >= stuckAfter
    }

    /// - Returns: Whether the mutex was released in the meantime.
    private func abandonOverdueJobs(_ now: ContinuousClock.Instant) -> Bool {
        guard let limit else { return false }
        // Waiting jobs are in submission order.
        let overdue = running.filter { now - $0.submitted >= limit } + waiting.prefix { now - $0.submitted >= limit }
        let late = overdue.filter(\.job.isLimited)
        guard !late.isEmpty else { return false }
        abandoned += late.filter { $0.started != nil }
        running.removeAll { entry in late.contains { $0 === entry } }
        waiting.removeAll { entry in late.contains { $0 === entry } }
        unsafe pthread_mutex_unlock(mutex)
        for entry in late { entry.job.abandon(after: limit) }
        unsafe pthread_mutex_lock(mutex)
        return true
    }

    /// Returns the time of the next action that needs no call of ``submit(_:)``.
    private func nextDeadline(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let limited = running.filter(\.job.isLimited) + [waiting.first(where: \.job.isLimited)].compactMap(\.self)
        let limits = limit.map { limit in limited.map { $0.submitted + limit } } ?? []
        guard let stuckAfter, !waiting.isEmpty else { return limits.min() }
        return (limits + running.compactMap(\.started).map { $0 + stuckAfter }.filter { $0 > now }).min()
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
        guard threads < maxThreads else { return false }
        guard BlockingThread.start({ [self] in runUntilIdle() }) else { return false }
        threads += 1
        return true
    }
}
