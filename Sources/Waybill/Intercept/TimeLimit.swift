import WaybillCore

/// Runs custom code with a time limit, and returns in time even if that code does not.
package enum TimeLimit {
    /// The error that is thrown when the limit is exceeded.
    package struct TimeoutError: Error {}

    private struct State<Value: Sendable> {
        var waiter: CheckedContinuation<Value, any Error>?
        var result: Result<Value, any Error>?
        var tasks: [Task<Void, Never>] = []
    }

    private final class Race<Value: Sendable>: Sendable {
        private let state = Locked(State<Value>())

        /// Ends the race with the first result. The remaining tasks are cancelled but not awaited.
        func end(_ result: Result<Value, any Error>) {
            let (waiter, tasks) = state.withLock {
                state -> (CheckedContinuation<Value, any Error>?, [Task<Void, Never>]) in
                guard state.result == nil else { return (nil, []) }
                state.result = result
                defer { state.tasks = [] }
                return (state.waiter.take(), state.tasks)
            }
            tasks.forEach { $0.cancel() }
            waiter?.resume(with: result)
        }

        func enter(_ task: Task<Void, Never>) {
            let isOver = state.withLock { state in
                if state.result == nil { state.tasks.append(task) }
                return state.result != nil
            }
            if isOver { task.cancel() }
        }

        func wait() async throws -> Value {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state in
                    if state.result == nil { state.waiter = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        }
    }

    /// Returns the value of `work`.
    ///
    /// - Throws: The error of `work`; ``TimeoutError`` after `limit`; `CancellationError` immediately if the task is
    ///   cancelled.
    package static func run<Value: Sendable>(
        _ limit: Duration, clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let race = Race<Value>()
        return try await withTaskCancellationHandler {
            race.enter(
                Task {
                    do { race.end(.success(try await work())) } catch { race.end(.failure(error)) }
                })
            race.enter(
                Task {
                    // If the timer is cancelled, the race has already ended.
                    guard (try? await clock.sleep(for: limit)) != nil else { return }
                    race.end(.failure(TimeoutError()))
                })
            return try await race.wait()
        } onCancel: {
            race.end(.failure(CancellationError()))
        }
    }
}
