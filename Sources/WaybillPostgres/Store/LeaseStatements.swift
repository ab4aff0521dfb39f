#if Shared
    import WaybillOutbox

    /// The statements that lease items.
    enum LeaseStatements {
        /// The statement of a lease. ``read(_:_:)`` reads its rows.
        static func lease(_ request: LeaseRequest, host: String, for duration: Duration) -> PostgresStatement {
            let running = request.running.sorted { $0.key < $1.key }
            return PostgresStatement(
                "SELECT * FROM waybill.wb_lease($1, $2, $3, $4, $5, $6, $7, $8)",
                parameters: keeping(request.token, host, duration) + [
                    .int4(Int32(clamping: max(0, request.slots))), .int4(Int32(clamping: request.slotsPerLane)),
                    .array(running.map(\.key)), .array(of: .int4, running.map { .int4(Int32(clamping: $0.value)) }),
                    request.host.map(PostgresValue.text) ?? .null(.text),
                ])
        }

        /// The settings of ``PostgresConfiguration`` for one transaction, because a pooler does not pass them on. The plans of
        /// the function stay in the sessions of the pooler: made for a short queue, they would read all of a long one.
        static let settings = PostgresStatement(
            """
            SELECT \(PostgresConfiguration.planning.map { "set_config('\($0)', '\($1)', true)" }.joined(separator: ", "))
            """)

        /// Keeps the leases of a worker for another lease duration. Writes nothing soon after the last time.
        static func keep(_ token: String, _ host: String, _ duration: Duration) -> PostgresStatement {
            PostgresStatement(LeaseFunction.keep, parameters: keeping(token, host, duration))
        }

        private static func keeping(_ token: String, _ host: String, _ duration: Duration) -> [PostgresValue] {
            [.text(token), .text(host), .int8(Int64((duration / .milliseconds(1)).rounded()))]
        }

        /// What a lease has returned.
        struct Chosen: Sendable {
            var result = LeaseResult()
            /// The rows of the leased items.
            var rows: [Boxed<SharedItem>] = []
            /// Items past their deadline.
            var expired: [Int64] = []
        }

        /// Reads the rows of the statement of ``lease(_:host:for:)``.
        static func read(_ rows: PostgresRows, _ request: LeaseRequest) throws(PostgresError) -> Chosen {
            var chosen = Chosen()
            var places: [(isReady: Bool, place: Int64)] = []
            for values in rows.rows {
                let other = values[SharedItem.namesForLease.count...].map { $0 }
                let now = other[1].integer ?? 0
                guard values[0].integer != nil else {
                    chosen.result.nextDue = other[2].integer.map { $0 - now }
                    chosen.result.nextProbe = other[3].integer.map { $0 - now }
                    chosen.expired = other[4].elements?.compactMap(\.integer) ?? []
                    continue
                }
                let item = SharedItem(values.prefix(SharedItem.namesForLease.count))
                let isReady = item.life.state != .verify
                let effect = try effect(of: item, in: isReady ? .ready : .verify, at: now, request.token)
                chosen.result.items.append(LeasedItem(item.full, effect, at: now))
                chosen.rows.append(item.held())
                places.append((isReady, other[0].integer ?? 0))
            }
            let items = chosen.result.items
            let order = places.indices.sorted { first, second in
                let (one, other) = (places[first], places[second])
                if one.isReady != other.isReady { return other.isReady }
                return (one.place, items[first].id) < (other.place, items[second].id)
            }
            chosen.result.items = order.map { items[$0] }
            return chosen
        }

        /// Returns the effect of a lease.
        ///
        /// - Parameters:
        ///   - item: The item after the lease.
        ///   - state: Its state before the lease.
        ///   - now: The time of the lease.
        ///   - token: The worker.
        /// - Returns: The effect.
        /// - Throws: ``PostgresError`` if the statement and the state machine do not apply the same rule.
        private static func effect(
            of item: SharedItem, in state: OutboxState, at now: Int64, _ token: String
        ) throws(PostgresError) -> ItemLife.Effect {
            var row = item.row
            row.token = nil
            row.life.state = state
            row.life.isVerifying = false
            row.life.leasedAt = nil
            row.life.leaseNumber -= 1
            if state == .ready { row.life.attempts -= 1 }
            let effects = row.handle(.lease, at: now, token: token)
            guard let effect = effects.first, row.life == item.life, row.token == item.row.token else {
                throw PostgresError(.rejected, "The lease of item \(row.id) contradicts its rules.")
            }
            return effect
        }
    }
#endif
