#if Shared
    import WaybillCore
    package import WaybillOutbox

    // Leases and their ends.

    extension PostgresStore {
        package func lease(_ request: LeaseRequest) async throws(OutboxError) -> LeaseResult {
            try await apply([], thenLease: request).leased
        }

        /// Performs the statements of a lease, after others in the same transaction.
        ///
        /// - Returns: The rows of the other statements, and what was leased, now or by a call whose response was lost.
        func lease(
            _ request: LeaseRequest, after first: [PostgresStatement]
        ) async throws(PostgresError) -> (rows: [PostgresRows], chosen: LeaseStatements.Chosen) {
            let unknown = try await takeUnknownLeases(request.token, slots: request.slots)
            var request = request
            request.slots -= unknown.count
            for item in unknown { request.running[item.lane, default: 0] += 1 }
            do throws(PostgresError) {
                let settings = options.usesPooler ? [LeaseStatements.settings] : []
                let last = LeaseStatements.lease(request, host: host, for: options.leaseDuration)
                let rows = Array(try await main.run(settings + first + [last]).dropFirst(settings.count))
                var chosen = try LeaseStatements.read(rows[first.count], request)
                hold(chosen.rows)
                chosen.result.items = unknown + chosen.result.items
                return (Array(rows.dropLast()), chosen)
            } catch {
                forget(unknown.map(\.id), mayHoldMore: error.isOutcomeUnknown || error.kind == .timeLimit)
                throw error
            }
        }

        /// Applies a lease to items whose deadline had passed, which ends them.
        func endExpired(
            _ ids: [Int64], _ token: String
        ) async throws(PostgresError) -> (ended: Int, leased: [LeasedItem]) {
            let (ended, leased, rows) = try await change(on: main, reading: Self.lock(ids)) { rows, now in
                var changes = ChangeSet(Self.items(rows), now: now)
                var (ended, leased) = (0, [LeasedItem]())
                for id in ids.sorted() {
                    let effect = changes.apply(.lease, to: id, token: token).effects.first
                    if case .finished = effect {
                        ended += 1
                    } else if let effect, let item = changes[id] {
                        leased.append(LeasedItem(item.full, effect, at: now))
                    }
                }
                let rows = changes.written.values.compactMap(\.self).filter { $0.row.token == token }
                return (changes.statements, (ended, leased, rows))
            }
            hold(rows.map { $0.held() })
            return (ended, leased)
        }

        /// Forgets leases that the caller does not know, so that the next lease finds them.
        func forget(_ ids: [Int64], mayHoldMore: Bool = false) {
            guard !ids.isEmpty || mayHoldMore else { return }
            leased.withLock { leased in for id in ids { leased[id] = nil } }
            mayHoldUnknown.withLock { $0 = true }
        }

        /// Remembers rows that this store has leased.
        func hold(_ rows: [Boxed<SharedItem>]) {
            leased.withLock { leased in
                for row in rows { leased[row.value.row.id] = row }
            }
        }

        /// Returns the leases whose responses were lost: those that the server has for the token and this store does not
        /// know.
        private func takeUnknownLeases(_ token: String, slots: Int) async throws(PostgresError) -> [LeasedItem] {
            guard slots > 0, mayHoldUnknown.withLock({ $0 }) else { return [] }
            let known = leased.withLock { $0.mapValues(\.value.life.leaseNumber) }
            let rows = try await main.run([
                PostgresStatement(
                    "SELECT \(SharedItem.ofItem("i")) FROM waybill.item i WHERE i.token = $1 ORDER BY i.id",
                    .text(token)),
                PostgresStatement("SELECT waybill.wb_now()"),
            ])
            let now = rows[1][0, 0].integer ?? 0
            let found = rows[0].rows.map(SharedItem.init).filter { known[$0.row.id] != $0.life.leaseNumber }
            if found.count <= slots { mayHoldUnknown.withLock { $0 = false } }
            let taken = Array(found.prefix(slots))
            hold(taken.map { $0.held() })
            return taken.map { item in
                let number = item.life.leaseNumber
                let effect: ItemLife.Effect =
                    item.life.isVerifying
                    ? .verify(lease: number) : .deliver(attempt: item.life.attempts, lease: number)
                return LeasedItem(item.full, effect, at: now)
            }
        }

        package func renew(_ leases: [HeldLease], token: String) async throws(OutboxError) -> [LeaseStatus] {
            let select = PostgresStatement(
                "SELECT \(SharedItem.ofItem("i")) FROM waybill.item i WHERE i.id = ANY($1) AND i.token = $2",
                .array(leases.map(\.item)), .text(token))
            let keep = LeaseStatements.keep(token, host, options.leaseDuration)
            let rows = try await attempt { [main] (_) async throws(PostgresError) in
                try await main.run([keep, select])[1].rows.map(SharedItem.init)
            }
            let lives = Dictionary(rows.map { ($0.row.id, $0.life) }, uniquingKeysWith: { $1 })
            let statuses = leases.map { lives[$0.item]?.status(ofLease: $0.number) ?? .lost }
            leased.withLock { leased in
                for (lease, status) in zip(leases, statuses)
                where status == .lost && leased[lease.item]?.value.life.leaseNumber == lease.number {
                    leased[lease.item] = nil
                }
            }
            return statuses
        }

        /// Ends the leases of workers whose row has ended.
        package func recover(token: String) async throws(OutboxError) -> Int {
            let keep = LeaseStatements.keep(token, host, options.leaseDuration)
            let isNeeded = try await attempt { [main] (_) async throws(PostgresError) in
                try await main.run([keep, Self.findOrphans])[1][0, 0].bool == true
            }
            // Another call folds what this one cannot.
            _ = try? await side.run(Self.foldTally)
            guard isNeeded else { return 0 }
            var count = 0
            while true {
                let (interrupted, isLast) = try await attempt { [self] (_) async throws(PostgresError) in
                    try await reap()
                }
                count += interrupted
                if isLast { break }
            }
            signals.notify()
            return count
        }

        private func reap() async throws(PostgresError) -> (interrupted: Int, isLast: Bool) {
            try await change(on: side, reading: [Self.lockGone, Self.lockOrphans]) { rows, now in
                let items = rows[1].rows.map(SharedItem.init)
                var changes = ChangeSet(items, now: now)
                for item in items { _ = changes.apply(.lost, to: item.row.id) }
                let gone = rows[0].rows.compactMap { $0[0].text }
                return (
                    changes.statements + [PostgresStatement(Self.removeGone, .array(gone))],
                    (items.count { $0.life.state == .leased }, items.count < Self.reapedAtOnce)
                )
            }
        }

        private static let reapedAtOnce = 500

        private static let findOrphans = PostgresStatement(
            """
            SELECT EXISTS(SELECT FROM waybill.worker WHERE until <= (SELECT waybill.wb_now()))
                OR EXISTS(SELECT FROM waybill.item i WHERE i.token IS NOT NULL
                    AND NOT EXISTS(SELECT FROM waybill.worker w WHERE w.token = i.token))
            """)

        private static let gone =
            "SELECT token FROM waybill.worker WHERE until <= (SELECT waybill.wb_now()) FOR UPDATE SKIP LOCKED"

        // A worker that renews its leases now has locked its row and is skipped, or waits until this transaction ends.
        private static let lockGone = PostgresStatement(gone)

        // An item that is leased at this moment has a worker. If the lease took longer than 7/8 of its duration, the row of the
        // worker may be gone: the worker has given the item up then.
        private static let lockOrphans = PostgresStatement(
            """
            WITH gone AS MATERIALIZED (\(gone))
            SELECT \(SharedItem.ofItem("i")) FROM waybill.item i
            WHERE i.token IS NOT NULL AND (i.token IN (SELECT token FROM gone)
                OR NOT EXISTS(SELECT FROM waybill.worker w WHERE w.token = i.token))
            ORDER BY i.id LIMIT \(reapedAtOnce) FOR UPDATE OF i SKIP LOCKED
            """)

        // A worker whose items are left keeps its row, so that it does not seem to hold them under a new row.
        private static let removeGone = """
            DELETE FROM waybill.worker w WHERE w.token = ANY($1)
                AND NOT EXISTS(SELECT FROM waybill.item i WHERE i.token = w.token)
            """
    }
#endif
