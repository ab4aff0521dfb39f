#if Shared
    import Waybill
    import WaybillCore
    package import WaybillOutbox

    // Events of items and lanes.

    extension PostgresStore {
        package func apply(_ changes: [ItemChange]) async throws(OutboxError) -> [AppliedChange] {
            try await apply(changes, thenLease: nil).applied
        }

        package func apply(
            _ changes: [ItemChange], thenLease request: LeaseRequest
        ) async throws(OutboxError) -> (applied: [AppliedChange], leased: LeaseResult) {
            try await apply(changes, thenLease: request as LeaseRequest?)
        }

        /// Applies changes, and leases items. If all changes end deliveries that this store has leased, as usual, this is
        /// one round trip. Otherwise it is one transaction for the ends, one for the other changes, and one for the lease.
        private func apply(
            _ changes: [ItemChange], thenLease request: LeaseRequest?
        ) async throws(OutboxError) -> (applied: [AppliedChange], leased: LeaseResult) {
            let quick = quickEnds(changes)
            let ends = quick.compactMap(\.self)
            var applied = [AppliedChange?](repeating: nil, count: changes.count)
            var leased = LeaseResult()
            var isLeased = request == nil
            var ended: Set<Int64> = []
            if ends.count == changes.count, let request {
                (ended, leased) = try await leaseNext(request, ending: ends)
                isLeased = true
            } else if !ends.isEmpty {
                ended = try await attempt { [self] (mayBeDone) async throws(PostgresError) in
                    let rows = try await main.run(Self.end(ends))
                    return try await self.ended(ends, rows[rows.count - 1], mayBeDone)
                }
            }
            for index in changes.indices where ended.contains(changes[index].id) {
                applied[index] = quick[index]?.applied
            }
            release(changes.indices.filter { applied[$0] != nil }.map { changes[$0].id })
            let left = changes.indices.filter { applied[$0] == nil }
            if !left.isEmpty {
                let others = try await applySlowly(left.map { changes[$0] })
                for (index, result) in zip(left, others) { applied[index] = result }
            }
            if !isLeased, let request { leased = try await leaseNext(request, ending: []).leased }
            return (applied.compactMap(\.self), leased)
        }

        private func leaseNext(
            _ request: LeaseRequest, ending ends: [QuickEnd]
        ) async throws(OutboxError) -> (ended: Set<Int64>, leased: LeaseResult) {
            let (rows, chosen, mayBeDone) = try await attempt { [self] (mayBeDone) async throws(PostgresError) in
                let (rows, chosen) = try await lease(request, after: Self.end(ends))
                return (rows, chosen, mayBeDone)
            }
            var result = chosen.result
            var ended: Set<Int64> = []
            if let rows = rows.last {
                do throws(OutboxError) {
                    ended = try await attempt { [self] (_) async throws(PostgresError) in
                        try await self.ended(ends, rows, mayBeDone)
                    }
                } catch {
                    // The caller does not receive what was leased: the next call finds it.
                    forget(result.items.map(\.id))
                    throw error
                }
            }
            if !chosen.expired.isEmpty {
                // After a failure, the next lease finds them again.
                let more = try? await attempt { [self] (_) async throws(PostgresError) in
                    try await endExpired(chosen.expired, request.token)
                }
                result.ended += more?.ended ?? 0
                result.items += more?.leased ?? []
            }
            return (ended, result)
        }

        /// Forgets items whose lease this store has ended.
        private func release(_ ids: [Int64]) {
            guard !ids.isEmpty else { return }
            leased.withLock { leased in for id in ids { leased[id] = nil } }
        }

        // MARK: Ends in one round trip

        /// An end of a delivery that needs no other row and no time.
        struct QuickEnd: Sendable {
            let write: Boxed<ItemWrite>
            let applied: AppliedChange
        }

        private static func end(_ ends: [QuickEnd]) -> [PostgresStatement] {
            ends.isEmpty ? [] : ItemWrites.endInCleanLane(ends.map(\.write))
        }

        /// Returns the ends of deliveries whose rows are known, `nil` for other changes. The statement checks the lease and
        /// the revision of a row, so that a row that another program has changed is left for ``applySlowly(_:)``.
        private func quickEnds(_ changes: [ItemChange]) -> [QuickEnd?] {
            // The changes of one item depend on each other.
            let counts = Dictionary(changes.map { ($0.id, 1) }, uniquingKeysWith: +)
            return leased.withLock { leased in
                changes.map { change in
                    guard counts[change.id] == 1, let row = leased[change.id] else { return nil }
                    return Self.quickEnd(change, of: row)
                }
            }
        }

        private static func quickEnd(_ change: ItemChange, of held: Boxed<SharedItem>) -> QuickEnd? {
            let row = held.value
            guard change.event.lease != nil, row.life.accepts(change.event), row.row.deduplicationKey == nil,
                change.resume == nil, change.spec == nil, change.lane.map(leavesCleanLane) != false
            else { return nil }
            // The rules decide whether the time matters.
            var (item, later) = (row, row.life)
            let effects = item.full.row.handle(change.event, at: .min / 4)
            guard effects == later.handle(change.event, at: .max / 4), item.life == later, later.state.isTerminal else {
                return nil
            }
            item.full.row.token = row.row.token
            var write = ItemWrite(item, before: held)
            write.response = change.response
            if let attempt = OutboxAttempt(
                change.event, of: row.life, status: change.response?.status, sent: change.sent, at: 0)
            {
                write.history = row.row.history.parts(adding: attempt)
            }
            write.isFreed = later.state != .failed && !row.staged.isEmpty
            return QuickEnd(
                write: Boxed(write),
                applied: AppliedChange(
                    life: later, effects: effects, isAccepted: true, freed: write.isFreed ? row.staged : []))
        }

        /// Whether an event changes nothing in a lane without failures, suspended or not.
        private static func leavesCleanLane(_ event: LaneLife.Event) -> Bool {
            for until in [0, .max / 4] as [Int64] {
                var lane = LaneLife()
                lane.suspendedUntil = until
                let before = lane
                lane.handle(event, at: 0)
                guard lane == before else { return false }
            }
            return true
        }

        /// Returns the items that a statement has ended. After an attempt without a response, those that this attempt did
        /// not find are looked up: they may have been ended before.
        private func ended(
            _ ends: [QuickEnd], _ rows: PostgresRows, _ mayBeDone: Bool
        ) async throws(PostgresError) -> Set<Int64> {
            var ended = Set(rows.rows.compactMap { $0[0].integer })
            guard mayBeDone, ended.count < ends.count else { return ended }
            let writes = Dictionary(
                ends.map { ($0.write.value.item.row.id, $0.write.value) }, uniquingKeysWith: { $1 })
            let found = try await main.run(
                PostgresStatement(
                    "SELECT id, lease_no, token, state FROM waybill.ended WHERE id = ANY($1)",
                    .array(writes.keys.filter { !ended.contains($0) }.sorted())))
            for row in found.rows {
                guard let id = row[0].integer, let write = writes[id] else { continue }
                // Only the holder of a lease reports its end.
                if row[1].integer == write.before.value.life.leaseNumber, row[2].text == write.item.row.token,
                    row[3].integer == Int64(write.item.life.state.number)
                {
                    ended.insert(id)
                }
            }
            return ended
        }

        // MARK: Other changes

        /// Applies changes to rows that are read and locked.
        private func applySlowly(_ changes: [ItemChange]) async throws(OutboxError) -> [AppliedChange] {
            let ids = changes.map(\.id)
            let inLanes = changes.filter { $0.lane != nil }.map(\.id)
            let (applied, written) = try await attempt { [self] (_) async throws(PostgresError) in
                try await change(on: main, reading: Self.lock(ids) + [LaneStatements.lock(of: inLanes)]) { rows, now in
                    var set = ChangeSet(Self.items(rows), lanes: LaneStatements.read(rows[Self.lockCount]), now: now)
                    let applied = changes.map { set.apply($0) }
                    return (set.statements, (applied, set.written))
                }
            }
            update(written)
            // Items of an earlier lease that do not exist or have ended.
            release(zip(changes, applied).filter { $1.life?.state.isTerminal != false }.map(\.0.id))
            if applied.contains(where: { !$0.effects.isEmpty }) { signals.notify() }
            return applied
        }

        /// Updates the rows of items that this store has leased.
        func update(_ written: [Int64: SharedItem?]) {
            leased.withLock { leased in
                for (id, row) in written where leased[id] != nil {
                    let isHeld = row.map { $0.row.token != nil && $0.row.token == leased[id]?.value.row.token } ?? false
                    leased[id] = isHeld ? row?.held() : nil
                }
            }
        }

        /// The statements that lock items with all items that have the same deduplication key. First the keys: changes of
        /// two items with one key, each of which writes the other, would otherwise miss each other.
        static func lock(_ ids: [Int64]) -> [PostgresStatement] {
            let ids = PostgresValue.array(ids.sorted())
            return [
                PostgresStatement(lockKeysText, ids), PostgresStatement(lockItemsText, ids),
                PostgresStatement(lockEndedText, ids),
            ]
        }

        static let lockCount = 3

        /// Reads the rows of the statements of ``lock(_:)``.
        static func items(_ rows: [PostgresRows]) -> [SharedItem] {
            rows[1].rows.map(SharedItem.init) + rows[2].rows.map(SharedItem.init)
        }

        private static let keysOfItems = """
            SELECT dedupe_key FROM waybill.item WHERE id = ANY($1) AND dedupe_key IS NOT NULL
            UNION ALL SELECT dedupe_key FROM waybill.ended WHERE id = ANY($1) AND dedupe_key IS NOT NULL
            """

        private static let lockKeysText = lockKeys("(\(keysOfItems)) AS k(key)")

        /// Returns a statement that locks deduplication keys: 64 locks for all keys, because a server has a limited number.
        static func lockKeys(_ table: String) -> String {
            """
            SELECT pg_advisory_xact_lock(824318751, b) FROM (
                SELECT DISTINCT hashtext(key) & 63 AS b FROM \(table) ORDER BY 1) k
            """
        }

        private static let lockItemsText = """
            SELECT \(SharedItem.ofItem("i")) FROM waybill.item i
            WHERE i.id = ANY($1) OR i.id IN (
                SELECT id FROM waybill.item WHERE dedupe_key IN (\(keysOfItems)))
            ORDER BY i.id FOR UPDATE OF i
            """

        private static let lockEndedText = """
            SELECT \(SharedItem.ofEnded("e")) FROM waybill.ended e WHERE e.id = ANY($1) ORDER BY e.id FOR UPDATE OF e
            """

        package func control(
            _ event: ItemLife.Event, _ selection: ItemSelection
        ) async throws(OutboxError) -> ControlResult {
            var result = ControlResult()
            var last: Int64 = 0
            while true {
                // Work in pages, so that other transactions do not wait long.
                let query = ItemQuery.ids(Self.changeable(selection, by: event), after: last, limit: Self.pageSize)
                let ids = try await attempt { [side] (_) async throws(PostgresError) in
                    try await side.run(query).rows.compactMap { $0[0].integer }
                }
                if !ids.isEmpty {
                    let page = try await attempt { [self] (_) async throws(PostgresError) in
                        try await control(event, ids)
                    }
                    result.changed += page.changed
                    result.aborts += page.aborts
                    result.freed += page.freed
                }
                guard ids.count == Self.pageSize, let end = ids.last else { break }
                last = end
            }
            if result.changed > 0 { signals.notify() }
            return result
        }

        private func control(_ event: ItemLife.Event, _ ids: [Int64]) async throws(PostgresError) -> ControlResult {
            let (page, written) = try await change(on: side, reading: Self.lock(ids)) { rows, now in
                var set = ChangeSet(Self.items(rows), now: now)
                var page = ControlResult()
                for id in ids {
                    let before = set[id]?.life
                    let (effects, freed) = set.apply(event, to: id)
                    if set[id]?.life != before { page.changed += 1 }
                    if effects.contains(.abort) { page.aborts.append(id) }
                    page.freed += freed
                }
                return (set.statements, (page, set.written))
            }
            update(written)
            return page
        }

        /// Restricts a selection to the states in which an event can change an item, so that a cancellation of all items
        /// does not read those that have ended.
        private static func changeable(_ selection: ItemSelection, by event: ItemLife.Event) -> ItemSelection {
            let states = OutboxState.allCases.filter { state in
                guard state.isTerminal else { return true }
                return [false, true].contains { isDoubtful in
                    var life = ItemLife()
                    (life.state, life.isDoubtful) = (state, isDoubtful)
                    let before = life
                    _ = life.handle(event, at: 0)
                    return life != before
                }
            }
            var selection = selection
            selection.states = selection.states.map { $0.intersection(states) } ?? Set(states)
            return selection
        }

        static let pageSize = 1_000

        package func lanes() async throws(OutboxError) -> [String: LaneLife] {
            let rows = try await attempt { [side] (_) async throws(PostgresError) in
                try await side.run(
                    PostgresStatement(
                        """
                        SELECT \(LaneStatements.columns) FROM waybill.lane
                        WHERE blocked IS NOT NULL OR rests_until > 0 OR failures > 0 OR refusals > 0
                            OR \(LaneStatements.isLimited)
                        """))
            }
            return LaneStatements.read(rows).filter { $0.value != LaneLife() }
        }

        package func lane(_ name: String, _ event: LaneLife.Event) async throws(OutboxError) {
            let statements = [LaneStatements.create([name]), LaneStatements.lock([name])]
            try await attempt { [self] (_) async throws(PostgresError) in
                try await change(on: main, reading: statements) { rows, now in
                    var set = ChangeSet([], lanes: LaneStatements.read(rows[1]), now: now)
                    set.apply(event, to: name)
                    return (set.statements, ())
                }
            }
            signals.notify()
        }
    }
#endif
