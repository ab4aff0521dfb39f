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

    /// Gives a resumed transfer its share by an event, in order with later changes of that share.
    func resumeSending(_ run: UploadRun) {
        let (group, limit) = (run.plan?.options.group, run.ownLimit)
        changeRates { $0.join(run.id, group: group, limit: limit, isResumed: true) }
    }

    /// Divides the share of a transfer that sends no more among the others.
    func endSending(_ id: UploadID) { changeRates { _ = $0.leave(id) } }

    /// Limits one upload.
    func limit(_ id: UploadID, to rate: ByteCount?) { changeRates { $0.limit(id, to: rate) } }

    /// Limits a group, or all uploads together if it is `nil`.
    func limit(group: String?, to rate: ByteCount?) {
        changeRates { shares in
            if let group { shares.limit(group: group, to: rate) } else { shares.limit(to: rate) }
        }
    }

    /// Returns the limit of a group that was set last.
    func rateLimit(ofGroup group: String) -> ByteCount? { rates.withLock { $0.shares.limit(ofGroup: group) } }

    /// Changes the shares and delivers changed ones to their transfers. As with the queue, one thread delivers all
    /// changes, so that no transfer receives an older share after a newer one.
    private func changeRates<Value: Sendable>(_ change: @Sendable (inout RateShares) -> Value) -> Value {
        let (value, mustNotify) = rates.withLock { limiter in
            let value = change(&limiter.shares)
            defer { limiter.isNotifying = true }
            return (value, !limiter.isNotifying)
        }
        guard mustNotify else { return value }
        while let changes = nextRates() {
            for (id, rate) in changes { run(id)?.post(.rateChanged(rate)) }
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
