#if Shared
    import WaybillOutbox

    /// The function that leases items.
    ///
    /// It performs only the statements that the queue needs at the moment, and those that lock rows name one table. If the
    /// lease were one statement, the server would prepare all its parts for each lease, and once more whenever another
    /// worker has taken an item first.
    enum LeaseFunction {
        static let statements = [lease]

        /// The columns after those of an item: first the place of an item in the queue, then those of the last row, which
        /// is not an item.
        private static let otherColumns = [
            "place bigint", "now_ms bigint", "next_due bigint", "next_probe bigint", "expired bigint[]",
        ]

        /// Keeps the leases of the worker $1 on the machine $2 for another $3 milliseconds. Writes nothing soon after the
        /// last time.
        static let keep = """
            INSERT INTO waybill.worker AS w (token, host, until) VALUES ($1, $2, waybill.wb_now() + $3)
            ON CONFLICT (token) DO UPDATE SET until = excluded.until WHERE w.until < excluded.until - $3 / 8
            """

        // 1. Read what there is to do. Usually one lane has items, and nothing hinders it.
        // 2. Keep the leases of the worker.
        // 3. Make waiting items ready.
        // 4. Lock the lanes with a limit for all workers: later statements see the leases of those that held the locks, and
        //    their starts.
        // 5. Find how many items of each kind and lane are next, without locks.
        // 6. Lock as many; those that other workers hold are skipped.
        // 7. Lease them, except those past their deadline, which the caller ends.
        // 8. Return the time, and the times at which the next item or lane can be tried.
        private static let lease = """
            CREATE FUNCTION waybill.wb_lease(
                worker text, machine text, lease_time bigint, slots int, lane_slots int, busy_lanes text[],
                busy_counts int[], here text
            ) RETURNS TABLE(\((SharedItem.namesForLease.map(SchemaStatements.declaration) + otherColumns).joined(separator: ", ")))
            LANGUAGE plpgsql VOLATILE AS $$
            #variable_conflict use_column
            DECLARE
                first_wait bigint;
                last_wait bigint;
                first_delay bigint;
                last_delay bigint;
                is_kept bool;
                is_limited bool;
                is_simple bool;
                only_lane text;
                pick record;
                chosen bigint[] := '{}';
                taken bigint;
            BEGIN
                now_ms := waybill.wb_now();
                SELECT (\(first("run_at", waits))),
                    (\(first("not_before", isDelayed))),
                    \(isKept), EXISTS(SELECT FROM waybill.lane WHERE \(LaneStatements.isLimited)),
                    first_lane = last_lane AND NOT EXISTS(SELECT FROM waybill.item i WHERE \(isInDoubt)) AND EXISTS(
                        SELECT FROM waybill.lane l
                        WHERE l.name = first_lane AND l.blocked IS NULL AND \(isDue("l.rests_until"))),
                    first_lane
                FROM (
                    SELECT (
                        SELECT i.lane FROM waybill.item i WHERE \(isReady) ORDER BY i.lane, i.rank, i.id LIMIT 1
                    ) AS first_lane, (
                        SELECT i.lane FROM waybill.item i WHERE \(isReady) ORDER BY i.lane DESC, i.rank DESC, i.id DESC LIMIT 1
                    ) AS last_lane OFFSET 0
                ) lanes
                INTO first_wait, first_delay, is_kept, is_limited, is_simple, only_lane;
                IF NOT is_kept THEN
                    \(keep);
                    -- The lanes may have changed while it waited for another worker.
                    now_ms := waybill.wb_now();
                    is_simple := false;
                    SELECT (\(last("run_at", waits))),
                        (\(last("not_before", isDelayed)))
                    INTO last_wait, last_delay;
                END IF;
                IF first_wait <= now_ms OR last_wait > now_ms + \(ItemLife.longestWait)
                    OR first_delay <= now_ms OR last_delay > now_ms + \(ItemLife.longestDelay)
                THEN
                    \(wake);
                    SELECT (\(first("run_at", waits))),
                        (\(first("not_before", isDelayed)))
                    INTO first_wait, first_delay;
                    is_simple := false;
                END IF;
                IF is_limited THEN
                    is_simple := false;
                    PERFORM FROM waybill.lane WHERE \(LaneStatements.isLimited) ORDER BY name FOR UPDATE;
                    now_ms := waybill.wb_now();
                END IF;
                IF is_simple THEN
                    \(take(kinds[1], "only_lane", "greatest(0, least(slots, \(freeSlots("only_lane"))))"))
                ELSE
                    FOR pick IN \(find) LOOP
                        CASE pick.kind \(takeEach)
                        END CASE;
                    END LOOP;
                END IF;
                IF chosen <> '{}' THEN
                    RETURN QUERY \(leaseChosen);
                    GET DIAGNOSTICS taken = ROW_COUNT;
                    IF taken < cardinality(chosen) THEN
                        expired := ARRAY(
                            SELECT i.id FROM waybill.item i WHERE i.id = ANY(chosen) AND i.token IS DISTINCT FROM worker);
                    END IF;
                    IF is_limited THEN \(spend); END IF;
                END IF;
                IF is_simple THEN
                    next_due := first_wait;
                    next_probe := first_delay;
                ELSE
                    \(due);
                END IF;
                RETURN NEXT;
            END $$
            """

        // If the clock was set back, the time of the row is later than that of any new one.
        private static let isKept = """
            EXISTS(SELECT FROM waybill.worker w WHERE w.token = worker AND w.until >= now_ms + lease_time - lease_time / 8
                AND w.until <= now_ms + lease_time)
            """

        // MARK: Waiting items

        private static let waits = "state = 2 AND not_before IS NULL"
        private static let isDelayed = "state = 2 AND not_before IS NOT NULL"

        // Not `min` and `max`: with statistics of an empty table, they would read all waiting items.
        private static func first(_ column: String, _ condition: String, _ order: String = "") -> String {
            "SELECT \(column) FROM waybill.item WHERE \(condition) ORDER BY \(column)\(order) LIMIT 1"
        }

        private static func last(_ column: String, _ condition: String) -> String { first(column, condition, " DESC") }

        // Two ranges of each index, because `OR` would read all waiting items. A time is too late only after the clock was
        // set back.
        private static let wake: String = {
            let ranges = [
                (waits, "run_at", "<= now_ms"), (waits, "run_at", "> now_ms + \(ItemLife.longestWait)"),
                (isDelayed, "not_before", "<= now_ms"),
                (isDelayed, "not_before", "> now_ms + \(ItemLife.longestDelay)"),
            ]
            let parts = ranges.map { condition, column, range in
                """
                ARRAY(SELECT id FROM waybill.item WHERE \(condition) AND \(column) \(range)
                    ORDER BY \(column) LIMIT 1000 FOR UPDATE SKIP LOCKED)
                """
            }
            return """
                UPDATE waybill.item SET state = 0, not_before = NULL, rev = rev + 1
                WHERE id = ANY(\(parts.joined(separator: " || ")))
                """
        }()

        // MARK: Items and lanes

        private static let isReady = "i.state = 0 AND i.after IS NULL"
        private static let isInDoubt = "i.state = 3 AND NOT i.verifying"

        // With an offset, the planner must look for one item. Otherwise, it would read those of all lanes first.
        private static func exists(_ condition: String, _ lane: String) -> String {
            "EXISTS(SELECT FROM waybill.item i WHERE i.lane = \(lane) AND \(condition) OFFSET 0)"
        }

        private static func isDue(_ time: String) -> String {
            "(\(time) <= now_ms OR \(time) > now_ms + \(ItemLife.longestWait))"
        }

        // What can be leased, in the table `i`: items to be verified, ready items, and in a blocked lane one item, first
        // one that has not failed yet, because a failure may be specific to an item.
        private static let kinds: [(condition: String, isBlocked: String, place: String)] = [
            ("\(isInDoubt) AND \(isDue("i.run_at")) AND (i.host IS NULL OR i.host = here)", "true", "i.run_at"),
            ("\(isReady) AND \(isHere)", "NOT o.is_blocked", "i.rank"),
            ("\(isReady) AND i.reason IS NULL AND \(isHere)", "o.is_blocked", "i.rank"),
            ("\(isReady) AND \(isHere)", "o.is_blocked", "i.rank"),
        ]

        /// Items of this machine, and items of other machines after their deadline, which a lease then ends.
        private static let isHere = "(i.host IS NULL OR i.host = here OR i.deadline < now_ms)"

        private static func freeSlots(_ lane: String) -> String {
            "lane_slots - coalesce(busy_counts[array_position(busy_lanes, \(lane))], 0)"
        }

        /// Selects how many items of each kind and lane are next.
        // With an offset, `free` is computed once for each lane.
        private static let find: String = {
            let found = kinds.enumerated().map { number, kind in
                """
                (SELECT \(number) AS kind, \(kind.place) AS place, i.id FROM waybill.item i
                    WHERE i.lane = o.name AND \(kind.isBlocked) AND \(kind.condition)
                    ORDER BY \(kind.place), i.id LIMIT o.free)
                """
            }
            return """
                SELECT name, kind, count(*) AS count FROM (
                    SELECT name, kind FROM (
                        SELECT o.name, o.free, f.kind, f.place, f.id,
                            row_number() OVER (PARTITION BY o.name ORDER BY f.kind, f.place, f.id) AS number
                        FROM (
                            SELECT l.name, l.blocked IS NOT NULL AS is_blocked,
                                least(slots,
                                    CASE WHEN l.blocked IS NULL THEN lane_slots ELSE least(1, lane_slots) END
                                        - (lane_slots - (\(freeSlots("l.name")))),
                                    l.max_running - CASE WHEN l.max_running IS NULL THEN 0 ELSE (
                                        SELECT count(*) FROM waybill.item i WHERE i.token IS NOT NULL AND i.lane = l.name)
                                    END, q.free) AS free
                            FROM waybill.lane l LEFT JOIN (\(LaneStatements.rated)) q ON q.name = l.name
                            WHERE \(isDue("l.rests_until")) OFFSET 0
                        ) o, LATERAL (\(found.joined(separator: "\nUNION ALL\n"))) f
                        WHERE o.free > 0
                    ) f WHERE number <= free ORDER BY kind > 0, place, id LIMIT slots
                ) f GROUP BY name, kind ORDER BY kind, name
                """
        }()

        /// Locks items of a lane and adds them to those that were chosen.
        private static func take(
            _ kind: (condition: String, isBlocked: String, place: String), _ lane: String, _ count: String
        ) -> String {
            """
            chosen := chosen || ARRAY(
                SELECT i.id FROM waybill.item i WHERE i.lane = \(lane) AND \(kind.condition)
                ORDER BY \(kind.place), i.id LIMIT \(count) FOR UPDATE SKIP LOCKED);
            """
        }

        private static let takeEach = kinds.enumerated().map { number, kind in
            "WHEN \(number) THEN \(take(kind, "pick.name", "pick.count"))"
        }.joined(separator: "\n")

        private static let leaseChosen = """
            UPDATE waybill.item i SET lease_no = i.lease_no + 1, token = worker, rev = i.rev + 1,
                state = CASE WHEN i.state = 0 THEN 1 ELSE i.state END,
                attempts = i.attempts + CASE WHEN i.state = 0 THEN 1 ELSE 0 END,
                first_at = CASE WHEN i.state = 0 THEN coalesce(i.first_at, now_ms) ELSE i.first_at END,
                verifying = i.state = 3, leased_at = now_ms
            WHERE i.id = ANY(chosen) AND NOT (i.state = 0 AND i.deadline IS NOT NULL AND i.deadline < now_ms)
            RETURNING \(SharedItem.namesForLease.map { "i.\($0)" }.joined(separator: ", ")),
                CASE WHEN i.verifying THEN i.run_at ELSE i.rank END, now_ms, NULL::bigint, NULL::bigint, NULL::bigint[]
            """

        /// Counts the starts of lanes with a rate.
        private static let spend = """
            UPDATE waybill.lane l SET full_at = q.full_at + s.starts * q.step
            FROM (\(LaneStatements.rated)) q, (
                SELECT i.lane, count(*) AS starts FROM waybill.item i WHERE i.id = ANY(chosen) AND i.token = worker GROUP BY 1
            ) s WHERE l.name = q.name AND s.lane = q.name
            """

        // MARK: The next time

        private static let due: String = {
            func suspended(_ isBlocked: Bool) -> String {
                """
                (SELECT min(l.rests_until) FROM waybill.lane l
                    WHERE l.blocked IS \(isBlocked ? "NOT " : "")NULL AND l.rests_until > now_ms
                    AND (\(exists(isReady, "l.name")) OR \(exists(isInDoubt, "l.name"))))
                """
            }
            // Of lanes that have used up their rate.
            func nextStart(_ isBlocked: Bool) -> String {
                """
                (SELECT min((q.full_at - (q.burst - 1) * q.step + 999) / 1000) FROM (\(LaneStatements.rated)) q
                    WHERE \(isBlocked ? "" : "NOT ")q.is_blocked AND q.free <= 0 AND \(isDue("q.rests_until"))
                    AND (\(exists("\(isReady) AND i.id <> ALL(chosen)", "q.name"))
                        OR \(exists("\(isInDoubt) AND i.id <> ALL(chosen)", "q.name"))))
                """
            }
            return """
                SELECT least(first_wait,
                        (SELECT min(i.run_at) FROM waybill.item i WHERE \(isInDoubt) AND i.run_at > now_ms),
                        \(suspended(false)), \(nextStart(false))),
                    least(first_delay, \(suspended(true)), \(nextStart(true)))
                INTO next_due, next_probe
                """
        }()
    }
#endif
