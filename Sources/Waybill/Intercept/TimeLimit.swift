import WaybillCore

/// Runs foreign code and comes back in time, whether that code does or not.
package enum TimeLimit {
    /// What is thrown when time is up.
    package struct RanOut: Error {}

    private struct State<Value: Sendable> {
        var waiter: CheckedContinuation<Value, any Error>?
        var result: Result<Value, any Error>?
        var tasks: [Task<Void, Never>] = []
    }

    private final class Race<Value: Sendable>: Sendable {
        private let state = Locked(State<Value>())

        /// The first end counts; whoever is still running is cancelled, and not waited for.
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

    /// The value of `work`.
    ///
    /// - Throws: Its error; ``RanOut`` after `limit`; `CancellationError` at once when the task is cancelled.
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
                    // A timer that is cancelled says nothing: the race is over then.
                    guard (try? await clock.sleep(for: limit)) != nil else { return }
                    race.end(.failure(RanOut()))
                })
            return try await race.wait()
        } onCancel: {
            race.end(.failure(CancellationError()))
        }
    }
}
