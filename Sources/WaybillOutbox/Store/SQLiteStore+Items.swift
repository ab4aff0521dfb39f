import FoundationEssentials
import GRDB
import Waybill

// Changes of items; each call is one transaction.

extension SQLiteStore {
    package func enqueue(_ items: [NewItem]) async throws(OutboxError) -> [EnqueuedItem] {
        guard items.allSatisfy({ $0.bodies.isEmpty && $0.host == nil }) else {
            throw OutboxError(.storageFailed, "A queue file stores no bodies. Write them to the outbox's directory.")
        }
        return try await change { transaction in
            var lane = try PreparedStatement(transaction.db, "INSERT OR IGNORE INTO lane(name) VALUES(?)")
            for name in Set(items.map(\.lane)) {
                lane.bind(name)
                try lane.run()
            }
            return try items.map { try Self.insert($0, &transaction) }
        }
    }

    /// Returns `nil`: bodies are files in the directory of the outbox.
    package func body(_ name: String, of lease: HeldLease, token: String) async throws(OutboxError) -> [UInt8]? { nil }

    package func apply(_ changes: [ItemChange]) async throws(OutboxError) -> [AppliedChange] {
        try await change { try Self.apply(changes, &$0) }
    }

    static func apply(_ changes: [ItemChange], _ transaction: inout ItemTransaction) throws -> [AppliedChange] {
        var lanes = LaneTransaction()
        return try changes.map { change in
            guard var row = try transaction.item(change.id) else {
                return AppliedChange(life: nil, effects: [], isAccepted: false)
            }
            let isAccepted = row.life.accepts(change.event)
            if let event = change.lane { try lanes.apply(event, to: row.lane, transaction) }
            let (effects, freed) = try apply(
                change.event, to: &row, &transaction, response: isAccepted ? change.response : nil, sent: change.sent)
            if isAccepted { try attach(change, transaction.db) }
            return AppliedChange(life: row.life, effects: effects, isAccepted: isAccepted, freed: freed)
        }
    }

    package func control(
        _ event: ItemLife.Event, _ selection: ItemSelection
    ) async throws(OutboxError) -> ControlResult {
        var result = ControlResult()
        var last: Int64 = 0
        while true {
            // Work in pages, so that other transactions do not wait long.
            let from = last
            let (page, ids) = try await change { transaction in
                var page = ControlResult()
                let ids = try Self.rows(selection, after: from, limit: Self.pageSize, transaction.db).map(\.row.id)
                for id in ids {
                    // Read the row again: the change of one item may have made another the first of its duplicates.
                    guard var row = try transaction.item(id) else { continue }
                    let before = row.life
                    let (effects, freed) = try Self.apply(event, to: &row, &transaction)
                    if row.life != before { page.changed += 1 }
                    if effects.contains(.abort) { page.aborts.append(row.id) }
                    page.freed += freed
                }
                return (page, ids)
            }
            result.changed += page.changed
            result.aborts += page.aborts
            result.freed += page.freed
            guard ids.count == Self.pageSize, let end = ids.last else { return result }
            last = end
        }
    }

    /// Ends the leases of other tokens: the process that opens the store holds the lock, so their workers are gone.
    package func recover(token: String) async throws(OutboxError) -> Int {
        try await change { transaction in
            // All are the first of their duplicates: the search ends when as many are found as are counted.
            let count = try Int.fetchOne(transaction.db, sql: "SELECT items FROM tally WHERE state = 1") ?? 0
            let leased = try Int64.fetchAll(
                transaction.db,
                sql: "SELECT id FROM item WHERE \(Schema.isFirst) AND state = 1 AND token IS NOT ? LIMIT ?",
                arguments: [token, count])
            let verifying = try Int64.fetchAll(
                transaction.db, sql: "SELECT id FROM item WHERE verifying = 1 AND token IS NOT ?", arguments: [token])
            for id in leased + verifying {
                guard var row = try transaction.item(id) else { continue }
                _ = try Self.apply(.lost, to: &row, &transaction)
            }
            return leased.count
        }
    }

    /// Applies an event to a row and saves it, together with the response that belongs to the event.
    ///
    /// - Returns: The effects, and the staged files that are no longer needed.
    static func apply(
        _ event: ItemLife.Event, to row: inout ItemRow, _ transaction: inout ItemTransaction, token: String? = nil,
        response: StoredResponse? = nil, sent: Int64? = nil
    ) throws -> (effects: [ItemLife.Effect], freed: [String]) {
        let before = row.life
        let effects = row.handle(event, at: transaction.now, token: token)
        guard row.life != before || response != nil else { return (effects, []) }
        if let attempt = OutboxAttempt(event, of: before, status: response?.status, sent: sent, at: transaction.now) {
            row.history.append(attempt)
        }
        var freed: [String] = []
        if row.life.state.isTerminal, !before.state.isTerminal {
            row.sequence = try transaction.nextSequence()
            if row.life.state == .done { try transaction.reserveKey(of: row) }
            if row.life.state != .failed { freed = try free(row.id, &transaction) }
        } else if !row.life.state.isTerminal, before.state.isTerminal {
            row.sequence = nil
            row.after = try lastDuplicate(row.deduplicationKey, transaction.db)
        }
        try transaction.save(row, before: before.state, response: response)
        // Only items with a deduplication key can have successors.
        if row.deduplicationKey != nil, row.endedAt != nil, !before.state.isTerminal {
            var followers = try PreparedStatement(transaction.db, "UPDATE item SET after = ? WHERE after = ?")
            followers.bind(row.after)
            followers.bind(row.id)
            try followers.run()
        }
        return (effects, freed)
    }

    private static func free(_ id: Int64, _ transaction: inout ItemTransaction) throws -> [String] {
        let names = try transaction.staged(id)
        if !names.isEmpty {
            var deletion = try PreparedStatement(transaction.db, "DELETE FROM staged WHERE item = ?")
            deletion.bind(id)
            try deletion.run()
        }
        return names
    }

    /// Saves the resume state and the changed specification of an event.
    private static func attach(_ change: ItemChange, _ db: Database) throws {
        if let resume = change.resume {
            var update = try PreparedStatement(db, "UPDATE item SET resume = ? WHERE id = ?")
            update.bind(Data(resume))
            update.bind(change.id)
            try update.run()
        }
        if let spec = change.spec {
            var update = try PreparedStatement(db, "UPDATE item SET spec = ? WHERE id = ?")
            update.bind(spec)
            update.bind(change.id)
            try update.run()
        }
    }

    private static func unfinished(_ key: String, _ db: Database) throws -> [Int64] {
        var query = try PreparedStatement(db, "SELECT id FROM item WHERE dedupe_key = ? AND state < 5 ORDER BY id")
        query.bind(key)
        return try query.all { $0[0] }
    }

    /// Returns the unfinished item with a key that no other item waits for. This is not always the one with the largest
    /// ID, because an old item that is retried goes to the end.
    private static func lastDuplicate(_ key: String?, _ db: Database) throws -> Int64? {
        guard let key else { return nil }
        var query = try PreparedStatement(
            db,
            """
            SELECT id FROM item AS one WHERE dedupe_key = ? AND state < 5
            AND NOT EXISTS(SELECT 1 FROM item WHERE after = one.id AND state < 5) ORDER BY id DESC
            """)
        query.bind(key)
        return try query.first { $0[0] }
    }

    private static func insert(_ item: NewItem, _ transaction: inout ItemTransaction) throws -> EnqueuedItem {
        var added = EnqueuedItem(id: 0, isNew: true)
        var after: Int64?
        if let key = item.deduplicationKey {
            // Checked before other items are changed.
            if let known = try known(item, &transaction) { return known }
            if let there = try lastDuplicate(key, transaction.db) {
                switch item.duplicates {
                case .keep: return EnqueuedItem(id: there, isNew: false)
                case .append: after = there
                case .replace:
                    for id in try unfinished(key, transaction.db) {
                        guard var row = try transaction.item(id) else { continue }
                        let (effects, freed) = try apply(.cancel, to: &row, &transaction)
                        if effects.contains(.abort) { added.aborts.append(id) }
                        added.freed += freed
                    }
                    after = try lastDuplicate(key, transaction.db)
                }
            } else if item.duplicates == .keep, let delivered = try transaction.deliveredItem(withKey: key) {
                return EnqueuedItem(id: delivered, isNew: false, isDelivered: true)
            }
        }
        if let id = try transaction.add(item, after: after) {
            added.id = id
            return added
        }
        guard let known = try known(item, &transaction) else {
            throw OutboxError(.storageFailed, "The queue neither stored the item nor contains it. Check its disk.")
        }
        return known
    }

    /// Returns the existing item with the same idempotency key. A caller that did not receive the response repeats an
    /// identical request; otherwise, a reused key belongs to the first item.
    private static func known(_ item: NewItem, _ transaction: inout ItemTransaction) throws -> EnqueuedItem? {
        var query = try PreparedStatement(transaction.db, "SELECT id, spec FROM item WHERE idem_key = ?")
        query.bind(item.idempotencyKey)
        guard let found = try query.first({ (id: $0[0] as Int64, spec: $0[1] as String) }) else { return nil }
        let staged = try transaction.staged(found.id)
        let isSame = found.spec == item.spec || !staged.isEmpty && Set(staged) == Set(item.staged)
        return EnqueuedItem(id: found.id, isNew: isSame)
    }

    static let pageSize = 1_000
}
