import Glibc
package import WaybillCore

/// Threads for blocking file operations, so that no thread of Swift's pool blocks.
///
/// Shared by all bodies of the process. Two jobs run concurrently; a job that takes longer than 0.1 seconds no longer
/// counts, so that a file system that hangs does not delay readers of other file systems. The pool keeps its threads.
package final class ReaderPool: Sendable {
    package static let shared = ReaderPool()
    /// The maximum time to open a source or to read from it.
    package static let limit = Duration.seconds(60)

    private let pool: ThreadPool

    init(limit: Duration = ReaderPool.limit) {
        pool = ThreadPool(width: 2, stuckAfter: .milliseconds(100), limit: limit, maxThreads: 64)
    }

    /// Runs a job on a thread of the pool.
    package func submit(_ job: any PoolJob) {
        pool.submit(job)
    }

    /// Runs a closure on the pool. The closure is released before this returns, and with it everything that only it
    /// kept alive, such as a named file or a lock.
    package func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(BodyError) -> Value
    ) async throws(BodyError) -> Value {
        try await withCheckedContinuation { continuation in
            submit(ClosureJob(work, reading: nil, continuation))
        }.get()
    }

    /// Runs a closure on the pool that only inspects or reads a file.
    ///
    /// - Throws: The error of the closure, or ``BodyError/Code/readFailed`` after ``limit``.
    package func run<Value: Sendable>(
        reading path: String, at location: PartLocation? = nil,
        _ work: @escaping @Sendable () throws(BodyError) -> Value
    ) async throws(BodyError) -> Value {
        try await withCheckedContinuation { continuation in
            submit(ClosureJob(work, reading: (path, location), continuation))
        }.get()
    }
}

extension BodyError {
    /// The error for a file whose disk or network does not respond.
    static func readTimeout(_ path: String, at location: PartLocation?, limit: Duration) -> BodyError {
        BodyError(
            .readFailed, "Reading \(path) timed out after \(limit). Check its disk or network file system.",
            at: location,
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
    private let source: (path: String, location: PartLocation?)?

    init(
        _ work: @escaping @Sendable () throws(BodyError) -> Value,
        reading source: (path: String, location: PartLocation?)?,
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

    func abandon(after limit: Duration) {
        guard let source else { return }
        let waiting = state.withLock { state in
            state.work = nil
            return state.continuation.take()
        }
        waiting?.resume(returning: .failure(.readTimeout(source.path, at: source.location, limit: limit)))
    }

    /// Runs the closure and releases it before the result is delivered.
    private func takeResult() -> Result<Value, BodyError>? {
        guard let work = state.withLock({ $0.work.take() }) else { return nil }
        return Result { () throws(BodyError) in try work() }
    }
}
