package import WaybillCore

/// Divides a limit in bytes per second among the transfers that are sending. The division is max-min fair within the
/// limits of the session, of each group and of each transfer.
///
/// All shares grow equally. A transfer that reaches its own limit stops growing. If a group or the session is at its
/// limit, all its transfers stop growing together, and the others continue. No transfer gets less in favour of one that
/// has more, and what one may not use is divided among the others.
///
/// Shares depend on the number of transfers and not on demand: what a slow peer leaves of its share is not
/// redistributed.
package struct RateShares: Sendable {
    private struct Member: Sendable {
        var group: String?
        var limit: Int64?
    }

    /// The limit of the session, if any.
    private var limit: Int64?
    private var groupLimits: [String: ByteCount] = [:]
    private var members: [UploadID: Member] = [:]
    private var notified: [UploadID: Int64?] = [:]
    /// The members whose share ``changes()`` must report once.
    private var resumed: Set<UploadID> = []
    /// How many members have a limit of their own.
    private var limitedMembers = 0

    package init() {}

    /// Whether there is a limit of the session or of a group.
    private var isLimited: Bool { limit != nil || !groupLimits.isEmpty }

    /// Sets the limit of all transfers together. Less than one byte per second counts as one, here and below.
    package mutating func limit(to rate: ByteCount?) { limit = Self.checked(rate) }

    /// Sets the limit of a group.
    package mutating func limit(group: String, to rate: ByteCount?) { groupLimits[group] = rate }

    /// Returns the limit of a group that was set last.
    package func limit(ofGroup group: String) -> ByteCount? { groupLimits[group] }

    /// Sets the limit of a transfer, if it is sending.
    package mutating func limit(_ id: UploadID, to rate: ByteCount?) {
        guard let member = members[id] else { return }
        set(id, Member(group: member.group, limit: Self.checked(rate)))
    }

    /// Adds a transfer that begins to send. A resumed one still has the share of before its pause, so ``changes()`` reports
    /// its share even if it has none now.
    package mutating func join(_ id: UploadID, group: String?, limit: ByteCount?, isResumed: Bool = false) {
        set(id, Member(group: group, limit: Self.checked(limit)))
        if !notified.isEmpty { notified[id] = nil }
        if isResumed { resumed.insert(id) }
    }

    /// Removes a transfer that stopped sending: it has ended, is paused, or waits for its response.
    ///
    /// - Returns: Whether it was sending.
    package mutating func leave(_ id: UploadID) -> Bool {
        if !notified.isEmpty { notified[id] = nil }
        resumed.remove(id)
        return set(id, nil) != nil
    }

    @discardableResult
    private mutating func set(_ id: UploadID, _ member: Member?) -> Member? {
        let old = member.map { members.updateValue($0, forKey: id) } ?? members.removeValue(forKey: id)
        limitedMembers += (member?.limit == nil ? 0 : 1) - (old?.limit == nil ? 0 : 1)
        return old
    }

    /// Returns the share of a sending transfer; `nil` for no limit.
    package func share(of id: UploadID) -> ByteCount? {
        guard isLimited else { return members[id]?.limit.map { ByteCount(bytes: $0) } }
        return shares[id].map { ByteCount(bytes: $0) }
    }

    /// Returns the transfers whose share has changed since the last call, with the new share; `nil` for no limit.
    ///
    /// - Complexity: O(n log n), where n is the number of sending transfers; constant if nothing is limited.
    package mutating func changes() -> [(id: UploadID, rate: ByteCount?)] {
        guard isLimited || !notified.isEmpty || limitedMembers > 0 || !resumed.isEmpty else { return [] }
        let shares = self.shares
        var changes: [(id: UploadID, rate: ByteCount?)] = []
        for id in members.keys {
            let share = shares[id]
            guard resumed.remove(id) != nil || (notified[id] == nil ? share != nil : notified[id]! != share) else {
                continue
            }
            changes.append((id, share.map { ByteCount(bytes: $0) }))
        }
        notified = isLimited || !shares.isEmpty ? members.keys.reduce(into: [:]) { $0[$1] = .some(shares[$1]) } : [:]
        return changes
    }

    private static func checked(_ rate: ByteCount?) -> Int64? { rate.map { max(1, $0.bytes) } }
}

// MARK: - Distribution

extension RateShares {
    /// The shares of all transfers that have one.
    package var shares: [UploadID: Int64] {
        var pools: [Pool] = []
        var ungrouped: [(id: UploadID, limit: Int64?)] = []
        for (group, members) in Dictionary(grouping: members, by: { $0.value.group }) {
            let demands = members.map { (id: $0.key, limit: $0.value.limit) }
            if let group, let limit = Self.checked(groupLimits[group]) {
                pools.append(Pool(demands, limit: limit))
            } else {
                ungrouped += demands
            }
        }
        pools += ungrouped.map { Pool([$0], limit: nil) }
        let level = limit.map { Self.level(of: $0, in: pools) }
        return pools.reduce(into: [:]) { shares, pool in
            for (id, share) in pool.shares(under: level) { shares[id] = share }
        }
    }

    /// Returns the largest share at which all pools together need at most the limit, found by bisection.
    private static func level(of limit: Int64, in pools: [Pool]) -> Int64 {
        var (low, high) = (Int64(0), limit)
        while low < high {
            let middle = high - (high - low) / 2
            var left: Int64? = limit
            for pool in pools {
                let usage = pool.usage(at: middle)
                left = left.flatMap { usage <= $0 ? $0 - usage : nil }
            }
            if left != nil { low = middle } else { high = middle - 1 }
        }
        // A share is at least one byte per second, because zero is not a valid limit.
        return max(1, low)
    }

    /// A group with its limit, or a single transfer.
    private struct Pool {
        private let members: [(id: UploadID, limit: Int64?)]
        /// The share of a member at which the pool reaches its limit; `nil` if the pool has no limit.
        private let top: Int64?

        init(_ members: [(id: UploadID, limit: Int64?)], limit: Int64?) {
            self.members = members
            top = limit.map { Self.top(of: members.map(\.limit), limit: $0) }
        }

        /// Returns the rate of the pool if each member may use up to `level` bytes per second.
        func usage(at level: Int64) -> Int64 {
            let level = min(level, top ?? level)
            return members.reduce(0) { usage, member in
                let (sum, overflow) = usage.addingReportingOverflow(min(member.limit ?? level, level))
                return overflow ? .max : sum
            }
        }

        func shares(under level: Int64?) -> [(UploadID, Int64)] {
            members.compactMap { member in
                [level, top, member.limit].compactMap(\.self).min().map { (member.id, $0) }
            }
        }

        /// Members with low limits are filled first; the rest is divided among the others.
        private static func top(of limits: [Int64?], limit: Int64) -> Int64 {
            let sorted = limits.map { $0 ?? .max }.sorted()
            var left = limit
            for (index, own) in sorted.enumerated() {
                let share = left / Int64(sorted.count - index)
                if own > share { return max(1, share) }
                left -= own
            }
            return limit
        }
    }
}
