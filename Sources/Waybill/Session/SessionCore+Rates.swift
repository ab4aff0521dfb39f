import WaybillCore

// Rate limits in bytes per second.

/// The shares of the transfers that are sending, and whether a thread is delivering changed shares.
struct RateLimiter: Sendable {
    var shares = RateShares()
    var isNotifying = false

    init(limit: ByteCount?) {
        shares.limit(to: limit)
    }
}

extension SessionCore {
    /// Assigns a share to a transfer that begins to send, and reduces those of the others.
    ///
    /// - Returns: The share.
    func beginSending(_ run: UploadRun) -> ByteCount? {
        let (group, limit) = (run.plan?.options.group, run.ownLimit)
        return changeRates { shares in
            shares.join(run.id, group: group, limit: limit)
            return shares.share(of: run.id)
        }
    }

    /// Assigns a share to a resumed transfer. The transfer receives it as an event, before events for later changes.
    func resumeSending(_ run: UploadRun) {
        let (group, limit) = (run.plan?.options.group, run.ownLimit)
        changeRates { $0.join(run.id, group: group, limit: limit, isResumed: true) }
    }

    /// Divides the share of a transfer that has stopped sending among the others.
    func endSending(_ id: UploadID) { changeRates { _ = $0.leave(id) } }

    /// Sets the limit of one upload.
    func limit(_ id: UploadID, to rate: ByteCount?) { changeRates { $0.limit(id, to: rate) } }

    /// Sets the limit of a group, or of all uploads together if the group is `nil`.
    func limit(group: String?, to rate: ByteCount?) {
        changeRates { shares in
            if let group { shares.limit(group: group, to: rate) } else { shares.limit(to: rate) }
        }
    }

    /// Returns the most recently set limit of a group.
    func rateLimit(ofGroup group: String) -> ByteCount? { rates.withLock { $0.shares.limit(ofGroup: group) } }

    /// Changes the shares and delivers changed ones to their transfers. As with calls of the admission
    /// queue, only one thread at a time delivers changes, so no transfer receives an older share after a newer one.
    private func changeRates<Value: Sendable>(_ change: @Sendable (inout RateShares) -> Value) -> Value {
        let (value, mustNotify) = rates.withLock { limiter in
            let value = change(&limiter.shares)
            defer { limiter.isNotifying = true }
            return (value, !limiter.isNotifying)
        }
        guard mustNotify else { return value }
        while let changes = nextRates() {
            for (id, rate) in changes { run(id)?.send(.rateChanged(rate)) }
        }
        return value
    }

    private func nextRates() -> [(id: UploadID, rate: ByteCount?)]? {
        rates.withLock { limiter in
            let changes = limiter.shares.changes()
            if changes.isEmpty { limiter.isNotifying = false }
            return changes.isEmpty ? nil : changes
        }
    }
}
