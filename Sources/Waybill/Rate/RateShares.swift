package import WaybillCore

/// Divides a limit in bytes per second among the transfers that are sending: max-min fair, within the session, within each
/// group and within what each transfer may have of its own. Pure.
///
/// Think of water that rises equally in all transfers. Who reaches a limit of its own stops there, who belongs to a group
/// or a session that is full stops with all the others in it, and the rest goes on rising. So nobody gets less so that
/// somebody with more gets more yet, and what one may not use falls to the others.
///
/// Shares are by number and not by need: what a slow peer leaves of its share is not lent to others.
package struct RateShares: Sendable {
    private struct Member: Sendable {
        var group: String?
        var limit: Int64?
    }

    /// The limit of the session, if it has one.
    private var limit: Int64?
    private var groupLimits: [String: Int64] = [:]
    private var members: [UploadID: Member] = [:]
    private var told: [UploadID: Int64?] = [:]
    /// How many members have a limit of their own.
    private var limitedMembers = 0

    package init() {}

    /// Whether anything is limited at all.
    private var isLimited: Bool { limit != nil || !groupLimits.isEmpty }

    /// The most bytes per second of all transfers together. Less than one counts as one, as everywhere here.
    package mutating func limit(to rate: ByteCount?) { limit = Self.checked(rate) }

    /// The most bytes per second of a group.
    package mutating func limit(group: String, to rate: ByteCount?) { groupLimits[group] = Self.checked(rate) }

    /// The most bytes per second of a transfer, if it is sending.
    package mutating func limit(_ id: UploadID, to rate: ByteCount?) {
        guard let member = members[id] else { return }
        set(id, Member(group: member.group, limit: Self.checked(rate)))
    }

    /// A transfer begins to send.
    package mutating func join(_ id: UploadID, group: String?, limit: ByteCount?) {
        set(id, Member(group: group, limit: Self.checked(limit)))
        if !told.isEmpty { told[id] = nil }
    }

    /// A transfer sends no more: it has ended, stands still, or waits for its answer.
    ///
    /// - Returns: Whether it was sending.
    package mutating func leave(_ id: UploadID) -> Bool {
        if !told.isEmpty { told[id] = nil }
        return set(id, nil) != nil
    }

    @discardableResult
    private mutating func set(_ id: UploadID, _ member: Member?) -> Member? {
        let old = member.map { members.updateValue($0, forKey: id) } ?? members.removeValue(forKey: id)
        limitedMembers += (member?.limit == nil ? 0 : 1) - (old?.limit == nil ? 0 : 1)
        return old
    }

    /// The share of a transfer that is sending; `nil` for no limit.
    package func share(of id: UploadID) -> ByteCount? {
        guard isLimited else { return members[id]?.limit.map { ByteCount(bytes: $0) } }
        return shares[id].map { ByteCount(bytes: $0) }
    }

    /// The share of every transfer whose share has changed since this was asked last; `nil` for no limit.
    ///
    /// - Complexity: O(n log n) in the transfers that are sending, and constant when nothing is limited.
    package mutating func changes() -> [(id: UploadID, rate: ByteCount?)] {
        guard isLimited || !told.isEmpty || limitedMembers > 0 else { return [] }
        let shares = self.shares
        var changes: [(id: UploadID, rate: ByteCount?)] = []
        for id in members.keys {
            let share = shares[id]
            guard told[id] == nil ? share != nil : told[id]! != share else { continue }
            changes.append((id, share.map { ByteCount(bytes: $0) }))
        }
        told = isLimited || !shares.isEmpty ? members.keys.reduce(into: [:]) { $0[$1] = .some(shares[$1]) } : [:]
        return changes
    }

    private static func checked(_ rate: ByteCount?) -> Int64? { rate.map { max(1, $0.bytes) } }
}

// MARK: - The water

extension RateShares {
    /// The share of everybody who has one.
    package var shares: [UploadID: Int64] {
        var pools: [Pool] = []
        var loose: [(id: UploadID, limit: Int64?)] = []
        for (group, members) in Dictionary(grouping: members, by: { $0.value.group }) {
            let wants = members.map { (id: $0.key, limit: $0.value.limit) }
            if let group, let limit = groupLimits[group] {
                pools.append(Pool(wants, limit: limit))
            } else {
                loose += wants
            }
        }
        pools += loose.map { Pool([$0], limit: nil) }
        let level = limit.map { Self.level(of: $0, in: pools) }
        return pools.reduce(into: [:]) { shares, pool in
            for (id, share) in pool.shares(under: level) { shares[id] = share }
        }
    }

    /// How high the water stands when all pools together hold no more than this: the highest whole number, found by halving
    /// what is between. `nil` when it never gets full.
    private static func level(of limit: Int64, in pools: [Pool]) -> Int64 {
        var (low, high) = (Int64(0), limit)
        while low < high {
            let middle = high - (high - low) / 2
            var left: Int64? = limit
            for pool in pools {
                let held = pool.held(at: middle)
                left = left.flatMap { held <= $0 ? $0 - held : nil }
            }
            if left != nil { low = middle } else { high = middle - 1 }
        }
        // Less than a byte for each: a rate of zero would mean none at all.
        return max(1, low)
    }

    /// A group with its limit, or a single transfer.
    private struct Pool {
        private let members: [(id: UploadID, limit: Int64?)]
        /// How high the water stands in it when it is full; `nil` when it has no limit of its own.
        private let top: Int64?

        init(_ members: [(id: UploadID, limit: Int64?)], limit: Int64?) {
            self.members = members
            top = limit.map { Self.top(of: members.map(\.limit), limit: $0) }
        }

        /// What the pool holds when the water outside stands so high.
        func held(at level: Int64) -> Int64 {
            let level = min(level, top ?? level)
            return members.reduce(0) { held, member in
                let (sum, overflow) = held.addingReportingOverflow(min(member.limit ?? level, level))
                return overflow ? .max : sum
            }
        }

        func shares(under level: Int64?) -> [(UploadID, Int64)] {
            members.compactMap { member in
                [level, top, member.limit].compactMap(\.self).min().map { (member.id, $0) }
            }
        }

        /// The members with low limits are filled first; what is left is divided among the others.
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
