import WaybillCore

// The limits in bytes per second, and who is told when shares change.

/// The shares of those who send, and whether somebody is telling them.
struct RateDesk: Sendable {
    var shares = RateShares()
    var isTelling = false

    init(limit: ByteCount?) {
        shares.limit(to: limit)
    }
}

extension SessionCore {
    /// A transfer begins to send, and the others make room.
    ///
    /// - Returns: Its share.
    func beginSending(_ run: UploadRun) -> ByteCount? {
        let (group, limit) = (run.plan?.options.group, run.ownLimit)
        return changeRates { shares in
            shares.join(run.id, group: group, limit: limit)
            return shares.share(of: run.id)
        }
    }

    /// It sends no more, and the others get its share.
    func endSending(_ id: UploadID) { changeRates { _ = $0.leave(id) } }

    /// Limits one upload.
    func limit(_ id: UploadID, to rate: ByteCount?) { changeRates { $0.limit(id, to: rate) } }

    /// Limits a group, or all together for `nil`.
    func limit(group: String?, to rate: ByteCount?) {
        if let group { state.withLock { state in state.set(group) { $0.rateLimit = rate } } }
        changeRates { shares in
            if let group { shares.limit(group: group, to: rate) } else { shares.limit(to: rate) }
        }
    }

    /// Changes the shares and tells those whose share is another now. As with the queue, one does the telling for all, so
    /// that nobody hears of an older share after a newer one.
    private func changeRates<Answer: Sendable>(_ change: @Sendable (inout RateShares) -> Answer) -> Answer {
        let (answer, mustTell) = rates.withLock { desk in
            let answer = change(&desk.shares)
            defer { desk.isTelling = true }
            return (answer, !desk.isTelling)
        }
        guard mustTell else { return answer }
        while let changes = nextRates() {
            for (id, rate) in changes { run(id)?.setRate(rate) }
        }
        return answer
    }

    private func nextRates() -> [(id: UploadID, rate: ByteCount?)]? {
        rates.withLock { desk in
            let changes = desk.shares.changes()
            if changes.isEmpty { desk.isTelling = false }
            return changes.isEmpty ? nil : changes
        }
    }
}
