internal import WaybillCore

/// A value that tests can await without sleeping or polling.
///
/// ```swift
/// let count = Watched(0)
/// count.update { $0 += 1 }                       // on any thread
/// try await count.waitUntil { $0 == 1 }
/// ```
package final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        let id: UInt64
        let isMet: @Sendable (Value) -> Bool
        let resume: @Sendable (Result<Value, any Error>) -> Void
    }

    private struct Storage {
        var value: Value
        var waiters: [Waiter] = []
        var cancelled: Set<UInt64> = []
        var nextID: UInt64 = 0
    }

    private let storage: Locked<Storage>

    package init(_ value: Value) {
        storage = Locked(Storage(value: value))
    }

    /// The current value.
    package var value: Value { storage.withLock { $0.value } }

    /// Changes the value and resumes all waiters whose conditions it satisfies.
    @discardableResult
    package func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        let (result, met, value) = storage.withLock { storage in
            let result = change(&storage.value)
            guard !storage.waiters.isEmpty else { return (result, [Waiter](), storage.value) }
            let value = storage.value
            let met = storage.waiters.filter { $0.isMet(value) }
            let ids = Set(met.map(\.id))
            storage.waiters.removeAll { ids.contains($0.id) }
            return (result, met, value)
        }
        for waiter in met { waiter.resume(.success(value)) }
        return result
    }

    /// Waits until the value satisfies the condition. Returns immediately if it already does.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, for example by the time limit of a suite.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (Value) -> Bool) async throws -> Value {
        let id = newID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enter(Waiter(id: id, isMet: isMet) { continuation.resume(with: $0) })
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Performs an action once when the value satisfies the condition, or immediately if it already does.
    ///
    /// The action runs on the thread that changes the value, before it continues. No transient state is missed,
    /// unlike in a waiting task that resumes later.
    package func once(_ isMet: @escaping @Sendable (Value) -> Bool, _ action: @escaping @Sendable () -> Void) {
        enter(Waiter(id: newID(), isMet: isMet) { _ in action() })
    }

    private func newID() -> UInt64 {
        storage.withLock { storage in
            storage.nextID += 1
            return storage.nextID
        }
    }

    private func enter(_ waiter: Waiter) {
        let result: Result<Value, any Error>? = storage.withLock { storage in
            if storage.cancelled.remove(waiter.id) != nil { return .failure(CancellationError()) }
            if waiter.isMet(storage.value) { return .success(storage.value) }
            storage.waiters.append(waiter)
            return nil
        }
        if let result { waiter.resume(result) }
    }

    private func cancel(_ id: UInt64) {
        let waiter: Waiter? = storage.withLock { storage in
            guard let index = storage.waiters.firstIndex(where: { $0.id == id }) else {
                storage.cancelled.insert(id)
                return nil
            }
            return storage.waiters.remove(at: index)
        }
        waiter?.resume(.failure(CancellationError()))
    }
}
