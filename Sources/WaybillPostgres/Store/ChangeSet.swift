#if Shared
    import Waybill
    import WaybillOutbox

    /// The changes of one transaction: rows that it has locked, and the statements that write them. The rules are those of
    /// ``ItemLife`` and ``LaneLife``; this type applies them to rows in memory.
    struct ChangeSet {
        /// The time of the transaction by the clock of the server.
        let now: Int64
        private var items: [Int64: SharedItem] = [:]
        private var lanes: [String: LaneLife]
        private var changedLanes: Set<String> = []
        private var writes: [Int64: ItemWrite] = [:]
        /// The rows that are in `ended` when the transaction begins.
        private var ended: Set<Int64>
        private var inserted: [(item: NewItem, id: Int64)] = []
        /// The delivered items that reserve deduplication keys.
        var reserved: [String: Int64] = [:]
        private var reservations = Reservations()

        /// - Parameters:
        ///   - items: The locked rows. If one has a deduplication key, all unfinished rows with this key.
        ///   - lanes: The locked lanes.
        ///   - now: The time.
        init(_ items: [SharedItem], lanes: [String: LaneLife] = [:], now: Int64) {
            self.now = now
            self.lanes = lanes
            ended = Set(items.filter { $0.row.sequence != nil }.map(\.row.id))
            for item in items { self.items[item.row.id] = item }
        }

        /// Returns a row in its current state.
        subscript(_ id: Int64) -> SharedItem? { items[id] }

        /// Applies a change to its item and lane.
        mutating func apply(_ change: ItemChange) -> AppliedChange {
            guard let item = items[change.id] else {
                return AppliedChange(life: nil, effects: [], isAccepted: false)
            }
            let isAccepted = item.life.accepts(change.event)
            if let event = change.lane { apply(event, to: item.row.lane) }
            let (effects, freed) = apply(
                change.event, to: change.id, status: isAccepted ? change.response?.status : nil, sent: change.sent)
            if isAccepted, change.response != nil || change.resume != nil || change.spec != nil {
                write(change.id) { write in
                    if let response = change.response { write.response = response }
                    if let resume = change.resume { write.resume = resume }
                    if let spec = change.spec { write.spec = spec }
                }
                // The row is cached for the end of its lease.
                if let resume = change.resume { items[change.id]?.full.resume = resume }
                if let spec = change.spec { items[change.id]?.full.spec = spec }
            }
            return AppliedChange(
                life: items[change.id]?.life, effects: effects, isAccepted: isAccepted, freed: freed)
        }

        /// Applies an event to an item.
        ///
        /// - Returns: The effects, and the staged files that are no longer needed.
        mutating func apply(
            _ event: ItemLife.Event, to id: Int64, token: String? = nil, status: Int? = nil, sent: Int64? = nil
        ) -> (effects: [ItemLife.Effect], freed: [String]) {
            guard var item = items[id] else { return ([], []) }
            let before = item.life
            let effects = item.full.row.handle(event, at: now, token: token)
            guard item.life != before else { return (effects, []) }
            let hasEnded = item.life.state.isTerminal && !before.state.isTerminal
            var freed: [String] = []
            if hasEnded, item.life.state != .failed {
                freed = item.staged
                item.staged = []
            } else if before.state.isTerminal, !item.life.state.isTerminal {
                item.full.row.sequence = nil
                item.full.row.after = lastDuplicate(item.row.deduplicationKey)
            }
            let attempt = OutboxAttempt(event, of: before, status: status, sent: sent, at: now)
            if let attempt { item.full.row.history.append(attempt) }
            if item.life.state == .done { reservations.add(item.row, at: now) }
            // The row as it was read has the revision that the statement expects.
            write(id) { write in
                if !freed.isEmpty { write.isFreed = true }
                if attempt != nil { write.history = (item.row.history.text, nil) }
            }
            items[id] = item
            if hasEnded, item.row.deduplicationKey != nil { moveUp(behind: id, to: item.row.after) }
            return (effects, freed)
        }

        /// Applies an event to a lane.
        mutating func apply(_ event: LaneLife.Event, to name: String) {
            let before = lanes[name] ?? LaneLife()
            var life = before
            life.handle(event, at: now)
            lanes[name] = life
            if life != before { changedLanes.insert(name) }
        }

        /// Adds an item by the policy for its duplicates.
        mutating func add(_ item: NewItem, id: Int64) -> EnqueuedItem {
            var added = EnqueuedItem(id: id, isNew: true)
            var after: Int64?
            if let last = lastDuplicate(item.deduplicationKey) {
                switch item.duplicates {
                case .keep: return EnqueuedItem(id: last, isNew: false)
                case .append: after = last
                case .replace:
                    for other in unfinished(item.deduplicationKey) {
                        let (effects, freed) = apply(.cancel, to: other)
                        if effects.contains(.abort) { added.aborts.append(other) }
                        added.freed += freed
                    }
                    after = lastDuplicate(item.deduplicationKey)
                }
            } else if item.duplicates == .keep, let delivered = item.deduplicationKey.flatMap({ reserved[$0] }) {
                return EnqueuedItem(id: delivered, isNew: false, isDelivered: true)
            }
            var row = SharedItem(item, id: id, now: now)
            row.full.row.after = after
            items[id] = row
            inserted.append((item, id))
            if item.deduplicationKey != nil { write(id) { _ in } }
            return added
        }

        private func unfinished(_ key: String?) -> [Int64] {
            guard let key else { return [] }
            return items.values.filter { $0.row.deduplicationKey == key && !$0.life.state.isTerminal }.map(\.row.id)
                .sorted()
        }

        /// Returns the unfinished item with a key that no other item waits for. This is not always the one with the
        /// largest ID, because an old item that is retried goes to the end.
        private func lastDuplicate(_ key: String?) -> Int64? {
            let all = unfinished(key)
            let awaited = Set(all.compactMap { items[$0]?.row.after })
            return all.last { !awaited.contains($0) }
        }

        /// Lets the items that wait for an ended one wait for the item that this one waited for.
        private mutating func moveUp(behind id: Int64, to next: Int64?) {
            for other in items.values where other.row.after == id && !other.life.state.isTerminal {
                write(other.row.id) { _ in }
                items[other.row.id]?.full.row.after = next
            }
        }

        private mutating func write(_ id: Int64, _ change: (inout ItemWrite) -> Void) {
            guard let item = items[id] else { return }
            change(&writes[id, default: ItemWrite(item, before: Boxed(item))])
        }

        /// The statements that write the changes, in an order in which no unique index is violated.
        var statements: [PostgresStatement] {
            let changed = writes.keys.sorted().compactMap { id -> ItemWrite? in
                guard var write = writes[id], let item = items[id] else { return nil }
                write.item = item
                return write
            }
            var list: [PostgresStatement] = []
            if !inserted.isEmpty {
                list.append(ItemInserts.insert(inserted.map(\.item), ids: inserted.map(\.id), known: .fail))
            }
            let reopened = changed.filter { ended.contains($0.item.row.id) && !$0.item.life.state.isTerminal }
            if !reopened.isEmpty { list.append(ItemWrites.reopen(reopened.map(\.item.row.id))) }
            let ends = changed.filter { !ended.contains($0.item.row.id) && $0.item.life.state.isTerminal }
            if !ends.isEmpty { list.append(ItemWrites.end(ends)) }
            let updates = changed.filter { !$0.item.life.state.isTerminal }
            if !updates.isEmpty { list.append(ItemWrites.update(updates)) }
            if let statement = reservations.statement { list.append(statement) }
            for name in changedLanes.sorted() { list.append(LaneStatements.write(name, lanes[name] ?? LaneLife())) }
            return list
        }

        /// The unfinished rows as they are after the statements, by ID; `nil` for those that ended.
        var written: [Int64: SharedItem?] {
            Dictionary(
                uniqueKeysWithValues: writes.keys.map { id in
                    guard var item = items[id], !item.life.state.isTerminal else { return (id, nil) }
                    item.revision += 1
                    if let response = writes[id]?.response { item.response = response }
                    return (id, item)
                })
        }
    }
#endif
