import Glibc
package import WaybillCore

/// Threads for blocking file operations, so that no thread of Swift's pool blocks.
///
/// Shared by all bodies of the process. Two jobs run at a time; one that takes longer than a tenth of a second does not
/// count, so that a file system that hangs does not keep those who read from another waiting. Its threads stay with it.
package final class ReaderPool: Sendable {
    package static let shared = ReaderPool()
    /// How long a source may take to be opened, or to give bytes.
    package static let limit = Duration.seconds(60)

    private let pool: ThreadPool

    init(limit: Duration = ReaderPool.limit) {
        pool = ThreadPool(width: 2, patience: .milliseconds(100), limit: limit, mostThreads: 64)
    }

    /// Has a job run soon, on a thread of the pool.
    package func submit(_ job: any PoolJob) {
        pool.submit(job)
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
