#if Shared
    import WaybillOutbox

    /// The statements that lease items.
    enum LeaseStatements {
        /// The statements of a lease, for one transaction. ``read(_:_:)`` reads their rows.
        static func lease(_ request: LeaseRequest, host: String, for duration: Duration) -> [PostgresStatement] {
            let running = request.running.sorted { $0.key < $1.key }
            return [
                PostgresStatement(prepare, parameters: keeping(request.token, host, duration)),
                PostgresStatement(
                    choose, .text(request.token), .int4(Int32(clamping: max(0, request.slots))),
                    .int4(Int32(clamping: request.slotsPerLane)), .array(running.map(\.key)),
                    .array(of: .int4, running.map { .int4(Int32(clamping: $0.value)) }),
                    request.host.map(PostgresValue.text) ?? .null(.text)),
            ]
        }

        /// Keeps the leases of a worker for another lease duration. Writes nothing soon after the last time.
        static func keep(_ token: String, _ host: String, _ duration: Duration) -> PostgresStatement {
            PostgresStatement(keepText, parameters: keeping(token, host, duration))
        }

        private static func keeping(_ token: String, _ host: String, _ duration: Duration) -> [PostgresValue] {
            [.text(token), .text(host), .int8(Int64((duration / .milliseconds(1)).rounded()))]
        }

        private static let keepText = """
            INSERT INTO waybill.worker AS w (token, host, until) VALUES ($1, $2, waybill.wb_now() + $3)
            ON CONFLICT (token) DO UPDATE SET until = excluded.until WHERE w.until < excluded.until - $3 / 8
            """

        // Before the lease, in a statement of its own, whose changes and locks the next one then sees:
        // 1. `kept`: keeps the leases of the worker.
        // 2. `woken`: makes waiting items ready. Two ranges of each index, because `OR` would read all waiting items.
        // 3. Locks the lanes with a limit for all workers: the next statement sees the leases of those that held the locks,
        //    and their starts.
        private static let prepare = """
            WITH clock AS MATERIALIZED (SELECT waybill.wb_now() AS t),
            kept AS (\(keepText)),
            past AS MATERIALIZED (
                SELECT id FROM waybill.item
                WHERE state = 2 AND not_before IS NULL AND run_at <= (SELECT t FROM clock)
                ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED),
            ahead AS MATERIALIZED (
                SELECT id FROM waybill.item
                WHERE state = 2 AND not_before IS NULL AND run_at > (SELECT t FROM clock) + \(ItemLife.longestWait)
                ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED),
            delayed AS MATERIALIZED (
                SELECT id FROM waybill.item
                WHERE state = 2 AND not_before IS NOT NULL AND not_before <= (SELECT t FROM clock)
                ORDER BY not_before LIMIT 1000 FOR UPDATE SKIP LOCKED),
            beyond AS MATERIALIZED (
                SELECT id FROM waybill.item
                WHERE state = 2 AND not_before IS NOT NULL AND not_before > (SELECT t FROM clock) + \(ItemLife.longestDelay)
                ORDER BY not_before LIMIT 1000 FOR UPDATE SKIP LOCKED),
            woken AS (
                UPDATE waybill.item SET state = 0, not_before = NULL, rev = rev + 1
                WHERE id = ANY(ARRAY(SELECT id FROM past UNION ALL SELECT id FROM ahead
                    UNION ALL SELECT id FROM delayed UNION ALL SELECT id FROM beyond)))
            SELECT name FROM waybill.lane WHERE \(LaneStatements.isLimited) ORDER BY name FOR UPDATE
            """

        // What can be leased, in the table `i` for the lane `o`: items to be verified, ready items, and in a blocked lane
        // one item, first one that has not failed yet, because a failure may be specific to an item.
        private static let kinds: [(condition: String, order: String, place: String)] = [
            (
                "i.state = 3 AND NOT i.verifying AND \(isDue("i.run_at")) AND (i.host IS NULL OR i.host = $6)",
                "i.run_at, i.id", "i.run_at"
            ),
            ("i.state = 0 AND i.after IS NULL AND NOT o.is_blocked", "i.rank, i.id", "i.rank"),
            ("i.state = 0 AND i.after IS NULL AND o.is_blocked AND i.reason IS NULL", "i.rank, i.id", "i.rank"),
            ("i.state = 0 AND i.after IS NULL AND o.is_blocked", "i.rank, i.id", "i.rank"),
        ]

        private static func isDue(_ time: String) -> String {
            "(\(time) <= (SELECT t FROM clock) OR \(time) > (SELECT t FROM clock) + \(ItemLife.longestWait))"
        }

        /// Items of this machine, and items of other machines after their deadline, which a lease then ends.
        private static let isHere = "(i.host IS NULL OR i.host = $6 OR i.deadline < (SELECT t FROM clock))"

        // 1. `lanes`: the lanes that can be contacted, with their free slots.
        // 2. `picks`: how many items of each kind and lane are next, without locks.
        // 3. `chosen`: as many items, locked; those that other workers hold are skipped. Few columns: the time of a lease is
        //    that of the preparation of this statement, which grows with the columns of each part.
        // 4. `taken`: the lease, except of items past their deadline, which the caller ends. Its array leaves the planner
        //    no choice but the index of IDs: it expects far more rows than there are.
        // 5. `due`: the time, and the times at which the next item or lane can be tried: a row even if nothing is leased.
        private static let choose: String = {
            let found = kinds.enumerated().map { number, kind in
                """
                (SELECT \(number) AS kind, \(kind.place) AS place, i.id FROM waybill.item i
                    WHERE i.lane = o.name AND \(kind.condition) AND \(isHere)
                    ORDER BY \(kind.order) LIMIT o.free)
                """
            }
            let chosen = kinds.enumerated().map { number, kind in
                """
                (SELECT c.* FROM picks o, LATERAL (
                    SELECT i.id, i.state, \(kind.place) AS place FROM waybill.item i WHERE i.lane = o.name AND \(kind.condition) AND \(isHere)
                    ORDER BY \(kind.order) LIMIT o.count FOR UPDATE SKIP LOCKED) c
                    WHERE o.kind = \(number))
                """
            }
            return """
                WITH clock AS MATERIALIZED (SELECT waybill.wb_now() AS t),
                rated AS MATERIALIZED (\(LaneStatements.rated)),
                lanes AS MATERIALIZED (
                    SELECT l.name, l.blocked IS NOT NULL AS is_blocked,
                        least($2, CASE WHEN l.blocked IS NULL THEN $3 ELSE least(1, $3) END - coalesce(r.count, 0),
                            l.max_running - CASE WHEN l.max_running IS NULL THEN 0 ELSE (
                                SELECT count(*) FROM waybill.item i WHERE i.token IS NOT NULL AND i.lane = l.name)
                            END, q.free) AS free
                    FROM waybill.lane l LEFT JOIN rated q ON q.name = l.name
                    LEFT JOIN unnest($4::text[], $5::int4[]) AS r(name, count) ON r.name = l.name
                    WHERE \(isDue("l.rests_until"))),
                found AS MATERIALIZED (
                    SELECT o.name, o.is_blocked, o.free, f.kind, f.place, f.id,
                        row_number() OVER (PARTITION BY o.name ORDER BY f.kind, f.place, f.id) AS number
                    FROM lanes o, LATERAL (\(found.joined(separator: "\nUNION ALL\n"))) f
                    WHERE o.free > 0),
                picks AS MATERIALIZED (
                    SELECT name, is_blocked, kind, count(*) AS count FROM (
                        SELECT name, is_blocked, kind FROM found WHERE number <= free
                        ORDER BY kind > 0, place, id LIMIT $2) f
                    GROUP BY name, is_blocked, kind),
                chosen AS MATERIALIZED (\(chosen.joined(separator: "\nUNION ALL\n"))),
                taken AS (
                    UPDATE waybill.item i SET lease_no = i.lease_no + 1, token = $1, rev = i.rev + 1,
                        state = CASE WHEN i.state = 0 THEN 1 ELSE i.state END,
                        attempts = i.attempts + CASE WHEN i.state = 0 THEN 1 ELSE 0 END,
                        first_at = CASE WHEN i.state = 0 THEN coalesce(i.first_at, t) ELSE i.first_at END,
                        verifying = i.state = 3, leased_at = t
                    FROM clock
                    WHERE i.id = ANY(ARRAY(SELECT id FROM chosen)) AND NOT (i.state = 0 AND i.deadline IS NOT NULL AND i.deadline < t)
                    RETURNING \(SharedItem.names.map { "i.\($0)" }.joined(separator: ", "))),
                started AS MATERIALIZED (
                    SELECT q.*, (SELECT count(*) FROM taken k WHERE k.lane = q.name) AS starts FROM rated q),
                spent AS (
                    UPDATE waybill.lane l SET full_at = s.full_at + s.starts * s.step
                    FROM started s WHERE l.name = s.name AND s.starts > 0),
                due AS MATERIALIZED (\(due))
                SELECT \(SharedItem.ofItem("k")), t, c.id, c.state, c.place, next_due, next_probe
                FROM due LEFT JOIN (chosen c LEFT JOIN taken k ON k.id = c.id) ON true
                """
        }()

        private static let due: String = {
            func suspended(_ isBlocked: Bool) -> String {
                """
                (SELECT min(l.rests_until) FROM waybill.lane l
                    WHERE l.blocked IS \(isBlocked ? "NOT " : "")NULL AND l.rests_until > (SELECT t FROM clock)
                    AND (EXISTS(SELECT FROM waybill.item i WHERE i.lane = l.name AND i.state = 0 AND i.after IS NULL)
                    OR EXISTS(SELECT FROM waybill.item i WHERE i.lane = l.name AND i.state = 3 AND NOT i.verifying)))
                """
            }
            // Of lanes that have used up their rate. The items of this lease are still ready for this statement.
            func nextStart(_ isBlocked: Bool) -> String {
                """
                (SELECT min((s.full_at + (s.starts - s.burst + 1) * s.step + 999) / 1000) FROM started s
                    WHERE \(isBlocked ? "" : "NOT ")s.is_blocked AND s.free <= s.starts AND \(isDue("s.rests_until"))
                    AND EXISTS(SELECT FROM waybill.item i WHERE i.lane = s.name AND i.id <> ALL(ARRAY(SELECT id FROM chosen))
                        AND (i.state = 0 AND i.after IS NULL OR i.state = 3 AND NOT i.verifying)))
                """
            }
            return """
                SELECT t, least(
                    (SELECT min(run_at) FROM waybill.item WHERE state = 2 AND not_before IS NULL),
                    (SELECT min(run_at) FROM waybill.item
                        WHERE state = 3 AND NOT verifying AND run_at > (SELECT t FROM clock)),
                    \(suspended(false)), \(nextStart(false))) AS next_due,
                    least(
                        \(suspended(true)), \(nextStart(true)),
                        (SELECT min(not_before) FROM waybill.item WHERE state = 2 AND not_before IS NOT NULL)
                    ) AS next_probe
                FROM clock
                """
        }()

        /// What a lease has returned.
        struct Chosen: Sendable {
            var result = LeaseResult()
            /// The rows of the leased items.
            var rows: [SharedItem] = []
            /// Items past their deadline.
            var expired: [Int64] = []
        }

        /// Reads the rows of the statements of ``lease(_:host:for:)``.
        static func read(_ results: [PostgresRows], _ request: LeaseRequest) throws(PostgresError) -> Chosen {
            var chosen = Chosen()
            var places: [(isReady: Bool, place: Int64)] = []
            for values in results[1].rows {
                let lease = values[SharedItem.columnCount...].map { $0 }
                let now = lease[0].integer ?? 0
                chosen.result.nextDue = lease[4].integer.map { $0 - now }
                chosen.result.nextProbe = lease[5].integer.map { $0 - now }
                guard let id = lease[1].integer else { continue }
                guard values[0].integer != nil else {
                    chosen.expired.append(id)
                    continue
                }
                let item = SharedItem(values)
                let state = OutboxState(number: Int(lease[2].integer ?? 0))
                let effect = try effect(of: item, in: state, at: now, request.token)
                chosen.rows.append(item)
                chosen.result.items.append(LeasedItem(item.full, effect, at: now))
                places.append((state == .ready, lease[3].integer ?? 0))
            }
            let order = places.indices.sorted { first, second in
                let (one, other) = (places[first], places[second])
                if one.isReady != other.isReady { return other.isReady }
                return (one.place, chosen.rows[first].row.id) < (other.place, chosen.rows[second].row.id)
            }
            chosen.result.items = order.map { chosen.result.items[$0] }
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
