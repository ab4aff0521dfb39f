import WaybillCore

/// The queue of a session, and the delivery of its calls.
final class SessionQueue: Sendable {
    private struct State {
        var queue: AdmissionQueue
        var calls = AdmissionQueue.Calls()
        /// Whether a thread is delivering calls.
        var isDelivering = false
    }

    private let state: Locked<State>

    init(_ queue: AdmissionQueue) { state = Locked(State(queue: queue)) }

    /// Changes the queue and delivers its calls.
    ///
    /// The first thread that delivers calls also delivers those that are added meanwhile. Otherwise, a transport that
    /// ends its attempts immediately would start thousands of uploads recursively.
    func update(
        _ change: @Sendable (inout AdmissionQueue) -> AdmissionQueue.Calls, deliver: (AdmissionQueue.Calls) -> Void
    ) {
        let mustDeliver = state.withLock { state -> Bool in
            let calls = change(&state.queue)
            // Most changes cause no calls.
            guard !calls.isEmpty else { return false }
            if state.calls.isEmpty {
                state.calls = calls
            } else {
                state.calls.prepare += calls.prepare
                state.calls.start += calls.start
            }
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        guard mustDeliver else { return }
        while let calls = nextCalls() { deliver(calls) }
    }

    private func nextCalls() -> AdmissionQueue.Calls? {
        state.withLock { state in
            let calls = state.calls
            state.calls = AdmissionQueue.Calls()
            if calls.isEmpty { state.isDelivering = false }
            return calls.isEmpty ? nil : calls
        }
    }
}
