import GRDB
import WaybillCore

/// Group commit on the single writing connection. Callers that arrive during a commit share the next transaction, so
/// that a hundred callers wait for one fsync(2) instead of a hundred.
///
/// A call returns when its transaction is on disk.
final class WriteGroup: Sendable {
    struct Job: Sendable {
        let run: @Sendable (Database) throws -> Void
        let finish: @Sendable ((any Error)?) -> Void
    }

    struct State {
        /// The jobs of the next transaction.
        var jobs: [Job] = []
        var isFlushing = false
        var isClosed = false
    }

    let queue: DatabaseQueue
    private let afterRollback: @Sendable () -> Void
    let state = Locked(State())

    /// - Parameters:
    ///   - queue: The connection.
    ///   - afterRollback: Called after a rollback, before any other work.
    init(_ queue: DatabaseQueue, afterRollback: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.afterRollback = afterRollback
    }

    /// Performs work in a transaction, possibly with other work. An error rolls back only the work that threw it.
    func perform<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(OutboxError) -> Value {
        let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
            let holder = Holder<Value>()
            let job = Job { db in
                let value = try work(db)
                holder.box.withLock { $0 = value }
            } finish: { error in
                if let error { return continuation.resume(returning: .failure(error)) }
                guard let value = holder.box.withLock({ $0 }) else { return }
                continuation.resume(returning: .success(value))
            }
            submit(job)
        }
        do {
            return try result.get()
        } catch {
            throw OutboxError(storage: error)
        }
    }

    /// Performs work that must not be in a transaction, on the connection.
    func performWithoutTransaction<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(OutboxError) -> Value {
        guard !state.withLock({ $0.isClosed }) else { throw Self.closed }
        let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
            queue.asyncWriteWithoutTransaction { [self] db in
                // After a close, the connection is only waiting to be closed.
                guard !state.withLock({ $0.isClosed }) else {
                    return continuation.resume(returning: .failure(Self.closed))
                }
                continuation.resume(returning: Result { try work(db) })
            }
        }
        do {
            return try result.get()
        } catch {
            throw OutboxError(storage: error)
        }
    }

    private static var closed: OutboxError { OutboxError(.closed, "The outbox was closed. Open it again.") }

    /// Waits for pending work and closes the connection.
    func close() async {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        await withCheckedContinuation { continuation in
            queue.asyncWriteWithoutTransaction { db in
                _ = try? db.checkpoint(.truncate)
                continuation.resume()
            }
        }
        // Closing waits for the connection's thread, which may be the caller's.
        await BlockingThread.run { [queue] in try? queue.close() }
    }

    private func submit(_ job: Job) {
        enum Next { case start, wait, refuse }
        let next: Next = state.withLock { state in
            guard !state.isClosed else { return .refuse }
            state.jobs.append(job)
            guard !state.isFlushing else { return .wait }
            state.isFlushing = true
            return .start
        }
        switch next {
        case .wait: break
        case .refuse: job.finish(Self.closed)
        case .start: queue.asyncWriteWithoutTransaction { [self] db in flush(db) }
        }
    }

    private func flush(_ db: Database) {
        while true {
            let jobs = state.withLock { state in
                let jobs = Array(state.jobs.prefix(Self.maxJobsPerTransaction))
                state.jobs.removeFirst(jobs.count)
                if jobs.isEmpty { state.isFlushing = false }
                return jobs
            }
            if jobs.isEmpty { return }
            run(jobs, db)
        }
    }

    private func run(_ jobs: [Job], _ db: Database) {
        var ends: [(any Error)?] = []
        do {
            try db.inTransaction(.immediate) {
                for job in jobs { ends.append(try attempt(job, isAlone: jobs.count == 1, db)) }
                return .commit
            }
        } catch {
            // The whole transaction was rolled back.
            afterRollback()
            ends = jobs.indices.map { $0 < ends.count ? ends[$0] ?? error : error }
        }
        for (job, error) in zip(jobs, ends) { job.finish(error) }
    }

    /// Runs a job. Returns the error of the job, or throws an error that ends the whole transaction.
    private func attempt(_ job: Job, isAlone: Bool, _ db: Database) throws -> (any Error)? {
        // A single job needs no savepoint. For several jobs, the savepoint statements are compiled once.
        guard !isAlone else {
            try job.run(db)
            return nil
        }
        try db.cachedStatement(sql: "SAVEPOINT job").execute()
        do {
            try job.run(db)
        } catch let failure {
            // After some errors, such as a full disk, SQLite has already rolled back the whole transaction.
            guard db.isInsideTransaction else { throw failure }
            do {
                afterRollback()
                try db.cachedStatement(sql: "ROLLBACK TO job").execute()
                try db.cachedStatement(sql: "RELEASE job").execute()
            } catch {
                throw failure
            }
            return failure
        }
        try db.cachedStatement(sql: "RELEASE job").execute()
        return nil
    }

    private static let maxJobsPerTransaction = 256
}

/// Stores the result of a job.
private final class Holder<Value>: Sendable where Value: Sendable {
    let box = Locked<Value?>(nil)
}

extension OutboxError {
    /// Creates an outbox error from an SQLite error. See https://www.sqlite.org/rescode.html
    init(storage error: any Error) {
        switch error {
        case let error as OutboxError: self = error
        case let error as DatabaseError:
            let text = "\(error.extendedResultCode): \(error.message ?? "no message")"
            switch error.resultCode {
            case .SQLITE_FULL:
                self.init(.diskFull, "No space left for the queue (\(text)). Free disk space.", cause: error)
            case .SQLITE_CORRUPT, .SQLITE_NOTADB:
                self.init(
                    .queueUnusable,
                    "The queue file is damaged (\(text)). Keep it, and open an outbox in another directory.",
                    cause: error)
            default:
                self.init(
                    .storageFailed, "Could not read or write the queue (\(text)). Check its disk.", cause: error)
            }
        case is CancellationError: self.init(.cancelled, "The task was cancelled.")
        default: self.init(.storageFailed, "Could not read or write the queue: \(error)", cause: error)
        }
    }
}
