import WaybillCore

/// The rate limits of a session, in bytes per second, and the shares of the transfers that are sending.
final class SessionRates: Sendable {
    private struct State {
        var shares = RateShares()
        /// Whether a thread is delivering changed shares.
        var isDelivering = false
    }

    private let state: Locked<State>

    init(limit: ByteCount?) {
        var state = State()
        state.shares.limit(to: limit)
        self.state = Locked(state)
    }

    /// Returns the most recently set limit of a group.
    func limit(ofGroup group: String) -> ByteCount? { state.withLock { $0.shares.limit(ofGroup: group) } }

    /// Changes the shares and delivers those that changed.
    ///
    /// Only one thread at a time delivers, also what other threads change meanwhile, so no transfer receives an older
    /// share after a newer one.
    func update<Value: Sendable>(
        _ change: @Sendable (inout RateShares) -> Value, deliver: (UploadID, ByteCount?) -> Void
    ) -> Value {
        let (value, mustDeliver) = state.withLock { state in
            let value = change(&state.shares)
            defer { state.isDelivering = true }
            return (value, !state.isDelivering)
        }
        guard mustDeliver else { return value }
        while let changes = nextChanges() {
            for (id, rate) in changes { deliver(id, rate) }
        }
        return value
    }

    private func nextChanges() -> [(id: UploadID, rate: ByteCount?)]? {
        state.withLock { state in
            let changes = state.shares.changes()
            if changes.isEmpty { state.isDelivering = false }
            return changes.isEmpty ? nil : changes
        }
    }
}
