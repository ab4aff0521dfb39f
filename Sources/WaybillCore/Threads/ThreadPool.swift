import Glibc

/// Work that a ``ThreadPool`` does on one of its threads.
package protocol PoolJob: AnyObject, Sendable {
    func run()
    /// Whether the pool's limit applies. It does not to work whose result must be known, such as writing.
    var isLimited: Bool { get }
    /// Called on another thread when ``run()`` has not returned, or was not called, within the pool's limit. It may return
    /// later.
    func giveUp(after limit: Duration)
}

/// Threads that run jobs in the order in which they come.
///
/// A pool with patience has one more thread than jobs: it starts the next job when others are stuck, and gives up those that
/// take too long. The mutex and the condition are of the C library, because the thread sanitizer knows both.
@safe package final class ThreadPool: @unchecked Sendable {
    private final class Entry {
        let job: any PoolJob
        let submitted = ContinuousClock.now
        var started: ContinuousClock.Instant?

        init(_ job: any PoolJob) { self.job = job }
    }

    private let width: Int
    private let patience: Duration?
    private let limit: Duration?
    private let mostThreads: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    // Guarded by the mutex.
    private var waiting: [Entry] = []
    private var running: [Entry] = []
    /// Those that ran longer than the limit.
    private var lost: [Entry] = []
    private var threads = 0
    private var idle = 0

    /// - Parameters:
    ///   - width: How many jobs run at a time, not counting those that are stuck.
    ///   - patience: A job that runs for so long is stuck; `nil` for never.
    ///   - limit: How long a job may take, from its submission on.
    ///   - mostThreads: The most threads, those with stuck jobs included; `nil` for the width.
    package init(width: Int, patience: Duration? = nil, limit: Duration? = nil, mostThreads: Int? = nil) {
        self.width = width
        self.patience = patience
        self.limit = limit
        self.mostThreads = mostThreads ?? width
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
    }

    // No deinit: the pool lives as long as its threads, which hold it.

    /// Has a job run soon, on a thread of the pool; on the caller's if no thread can be started.
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

    /// Removes a job that has run. The caller releases it, where the mutex is free: the job may own anything.
    private func remove(_ entry: Entry) {
        unsafe pthread_mutex_lock(mutex)
        running.removeAll { $0 === entry }
        lost.removeAll { $0 === entry }
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits for the next job; `nil` when the thread is not needed any more.
    private func next() -> Entry? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        idle += 1
        defer { idle -= 1 }
        while true {
            let now = ContinuousClock.now
            if giveUp(now) { continue }
            if let entry = take(now) { return entry }
            // A thread that ends while jobs wait would take the wake-up of the last of them with it.
            if waiting.isEmpty, idle > 1, threads > width + 1 {
                threads -= 1
                return nil
            }
            wait(until: due(now), now)
        }
    }

    private func take(_ now: ContinuousClock.Instant) -> Entry? {
        guard !waiting.isEmpty, running.count(where: { !isStuck($0, now) }) < width else { return nil }
        guard idle > 1 || startThread() || patience == nil || running.isEmpty && lost.isEmpty else { return nil }
        let entry = waiting.removeFirst()
        entry.started = now
        running.append(entry)
        return entry
    }

    private func isStuck(_ entry: Entry, _ now: ContinuousClock.Instant) -> Bool {
        guard let patience, let started = entry.started else { return false }
        return now - started >= patience
    }

    /// - Returns: Whether the mutex was free meanwhile.
    private func giveUp(_ now: ContinuousClock.Instant) -> Bool {
        guard let limit else { return false }
        // Waiting jobs are in the order of their submission.
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

    /// When there is something to do without a call of ``submit(_:)``.
    private func due(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let limited = running.filter(\.job.isLimited) + [waiting.first(where: \.job.isLimited)].compactMap(\.self)
        let limits = limit.map { limit in limited.map { $0.submitted + limit } } ?? []
        guard let patience, !waiting.isEmpty else { return limits.min() }
        return (limits + running.compactMap(\.started).map { $0 + patience }.filter { $0 > now }).min()
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
        guard threads < mostThreads else { return false }
        guard BlockingThread.start({ [self] in runUntilIdle() }) else { return false }
        threads += 1
        return true
    }
}
