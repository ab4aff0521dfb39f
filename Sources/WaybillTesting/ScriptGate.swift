import WaybillCore

/// A place in a script where attempts wait until the test lets them go on.
///
/// ```swift
/// let gate = ScriptGate()
/// let transport = ScriptedTransport(.init([.connect, .take(100), .wait(gate), .takeRest, .answer(200)]))
/// let task = session.start(form, to: "http://backend.example/")
/// await gate.arrivals(atLeast: 1)         // 100 bytes are acknowledged, and the attempt stands
/// task.cancel()
/// ```
///
/// A cancelled attempt doesn't wait.
public final class ScriptGate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var cancelled: Set<Int> = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    /// A closed gate.
    public init() {}

    /// Lets go who waits, and everyone from now on.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until so many attempts have come to the gate, the ones that have passed it included.
    public func arrivals(atLeast count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.arrivals >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Comes to the gate and waits; returns at once when the task is cancelled.
    func pass() async {
        let key = arrive()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayPass = state.withLock { state in
                    if state.isOpen || state.cancelled.remove(key) != nil { return true }
                    state.waiting[key] = continuation
                    return false
                }
                if mayPass { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                let continuation = state.waiting.removeValue(forKey: key)
                if continuation == nil { state.cancelled.insert(key) }
                return continuation
            }
            continuation?.resume()
        }
    }

    private func arrive() -> Int {
        let (key, watchers) = state.withLock { state in
            state.arrivals += 1
            let count = state.arrivals
            let satisfied = state.watchers.filter { $0.count <= count }.map(\.continuation)
            state.watchers.removeAll { $0.count <= count }
            return (count, satisfied)
        }
        for continuation in watchers { continuation.resume() }
        return key
    }
}
