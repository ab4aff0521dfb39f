/// A value behind a lock that tasks wait for, without polling.
///
/// A wait ends when the value is as asked, when the task is cancelled, or when patience runs out, so that nobody waits for
/// ever for what never comes.
package final class Observed<Value: Sendable>: Sendable {
    private struct Waiter {
        let isMet: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Storage {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var abandoned: Set<Int> = []
        /// Waits that have not returned.
        var open: Set<Int> = []
        var nextKey = 0
    }

    private let storage: Locked<Storage>

    package init(_ value: Value) {
        storage = Locked(Storage(value: value))
    }

    package var value: Value { storage.withLock { $0.value } }

    /// Changes the value and lets go who waited for what it became.
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

    /// Waits until the value is as asked. A deaf wait goes on when the task is cancelled.
    ///
    /// - Returns: Whether it became so, which a cancelled wait can't say.
    @discardableResult
    package func wait(isDeaf: Bool = false, until isMet: @escaping @Sendable (Value) -> Bool) async -> Bool {
        let key = newKey()
        guard !isDeaf else { return await enter(key, isMet) }
        return await withTaskCancellationHandler {
            await enter(key, isMet)
        } onCancel: {
            abandon(key)
        }
    }

    /// Waits until the value is as asked, and no longer than patience lasts.
    @discardableResult
    package func wait(
        atMost patience: Duration, clock: any Clock<Duration> = ContinuousClock(),
        until isMet: @escaping @Sendable (Value) -> Bool
    ) async -> Bool {
        let key = newKey()
        let timer = Task { [self] in
            guard (try? await clock.sleep(for: patience)) != nil else { return }
            abandon(key)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await enter(key, isMet)
        } onCancel: {
            abandon(key)
        }
    }

    /// Looks at the value without a change.
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
            // It may come before the wait has begun, or after its end; a key is never used twice.
            if waiter == nil, storage.open.contains(key) { storage.abandoned.insert(key) }
            return waiter
        }
        waiter?.continuation.resume(returning: false)
    }
}
