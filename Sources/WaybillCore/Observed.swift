/// A value behind a lock whose changes tasks can await without polling.
///
/// A wait ends when the value meets the condition, when the task is cancelled, or when the timeout expires, so no task
/// waits indefinitely for a change that never happens.
package final class Observed<Value: Sendable>: Sendable {
    private struct Waiter {
        let isMet: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Storage {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var abandoned: Set<Int> = []
        /// The waits that have not returned yet.
        var open: Set<Int> = []
        var nextKey = 0
    }

    private let storage: Locked<Storage>

    package init(_ value: Value) {
        storage = Locked(Storage(value: value))
    }

    package var value: Value { storage.withLock { $0.value } }

    /// Changes the value and resumes the waiters whose condition it now meets.
    @discardableResult
    package func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        let (result, met) = storage.withLock { storage in
            let result = change(&storage.value)
            let value = storage.value
            let keys = storage.waiters.filter { $0.value.isMet(value) }.keys.sorted()
            return (result, keys.compactMap { storage.waiters.removeValue(forKey: $0)?.continuation })
        }
        for continuation in met { continuation.resume(returning: true) }
        return result
    }

    /// Waits until the value meets a condition. If `ignoresCancellation` is true, the wait ignores task cancellation.
    ///
    /// - Returns: Whether the condition was met; `false` if the wait was cancelled.
    @discardableResult
    package func wait(ignoresCancellation: Bool = false, until isMet: @escaping @Sendable (Value) -> Bool) async -> Bool
    {
        let key = newKey()
        guard !ignoresCancellation else { return await enter(key, isMet) }
        return await withTaskCancellationHandler {
            await enter(key, isMet)
        } onCancel: {
            abandon(key)
        }
    }

    /// Waits until the value meets a condition, at most for the duration `timeout`.
    @discardableResult
    package func wait(
        atMost timeout: Duration, clock: any Clock<Duration> = ContinuousClock(),
        until isMet: @escaping @Sendable (Value) -> Bool
    ) async -> Bool {
        let key = newKey()
        let timer = Task { [self] in
            guard (try? await clock.sleep(for: timeout)) != nil else { return }
            abandon(key)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await enter(key, isMet)
        } onCancel: {
            abandon(key)
        }
    }

    /// Reads the value without changing it.
    package func read<Result: Sendable>(_ body: (Value) -> Result) -> Result {
        storage.withLock { body($0.value) }
    }

    private func newKey() -> Int {
        storage.withLock { storage in
            storage.nextKey += 1
            storage.open.insert(storage.nextKey)
            return storage.nextKey
        }
    }

    private func enter(_ key: Int, _ isMet: @escaping @Sendable (Value) -> Bool) async -> Bool {
        defer {
            storage.withLock { storage in
                storage.open.remove(key)
                storage.abandoned.remove(key)
            }
        }
        return await withCheckedContinuation { continuation in
            let answer: Bool? = storage.withLock { storage in
                let isAbandoned = storage.abandoned.remove(key) != nil
                if isMet(storage.value) { return true }
                if isAbandoned { return false }
                storage.waiters[key] = Waiter(isMet: isMet, continuation: continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func abandon(_ key: Int) {
        let waiter = storage.withLock { storage in
            let waiter = storage.waiters.removeValue(forKey: key)
            // The call may come before the wait has started or after it has ended. Keys are never reused.
            if waiter == nil, storage.open.contains(key) { storage.abandoned.insert(key) }
            return waiter
        }
        waiter?.continuation.resume(returning: false)
    }
}
