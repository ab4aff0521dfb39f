#if Shared
    import Waybill
    import WaybillOutbox

    /// The statements that create the functions by which programs in other languages enqueue, cancel and read items.
    ///
    /// The functions check what a worker could only report much later. `enqueue` inserts what `Outbox.enqueue` inserts for
    /// the same form. They are executed with the rights of the owner of the tables, and no other role may call them by
    /// default.
    enum SQLFunctions {
        static let statements =
            SQLForms.statements + [settings, partition, wake, cancelItems] + SQLEnqueue.statements
            + [cancel, stateName, state, items, results, revoke]

        /// The codes of errors, as `SQLSTATE`: a class that neither the SQL standard nor PostgreSQL uses.
        static let invalidArgument = "WB001"
        static let tooLarge = "WB002"
        static let containsCredential = "WB003"

        // The sessions of other programs have other settings than those of Waybill: objects of other schemas must not be
        // used, and the planner must not read the whole queue.
        static let access = """
            SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
            SET standard_conforming_strings = on
            """

        /// The number of bytes of files that are stored with an item, as a row that the operator may change.
        private static let settings = "INSERT INTO waybill.meta VALUES ('sql_inline_limit', 1048576)"

        // MARK: Cancel

        // As `PostgresStore.makePartitions()` does; without a worker, the partition of the day may be missing.
        private static let partition = """
            CREATE FUNCTION waybill.wb_make_partition(day int) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
            DECLARE
                name text := 'ended_' || CASE WHEN day < 0 THEN 'm' || -day ELSE day::text END;
            BEGIN
                IF to_regclass('waybill.' || name) IS NOT NULL THEN RETURN; END IF;
                PERFORM pg_advisory_xact_lock(\(SharedSchema.lockNumber));
                IF to_regclass('waybill.' || name) IS NOT NULL THEN RETURN; END IF;
                EXECUTE format('CREATE TABLE waybill.%I (LIKE waybill.ended INCLUDING DEFAULTS)', name);
                EXECUTE format('ALTER TABLE waybill.ended ATTACH PARTITION waybill.%I FOR VALUES FROM (%s) TO (%s)',
                    name, day, day + 1);
            END $$
            """

        // NOTIFY takes a lock of the whole cluster at commit. One transaction at a time sends it, so that many that enqueue
        // do not wait for each other; workers poll for the items of the others.
        private static let wake = """
            CREATE FUNCTION waybill.wb_wake() RETURNS void LANGUAGE plpgsql VOLATILE AS $$ BEGIN
                IF pg_try_advisory_xact_lock(824318752, 0) THEN PERFORM pg_notify('waybill', ''); END IF;
            END $$
            """

        // What `ItemLife` does for a cancellation: tests compare both. Other items with the key of an ended one move up.
        private static let cancelItems: String = {
            let columns = SharedItem.names + SharedItem.otherNames
            var doubtful = ItemLife()
            doubtful.isDoubtful = true
            _ = doubtful.handle(.cancel, at: 0)
            let values = columns.map { [doubtful] column in
                switch column {
                case "state": "\(OutboxState.cancelled.number)"
                case "asked": "0"
                case "verifying": "false"
                case "reason": "CASE WHEN i.doubtful THEN '\(doubtful.reason ?? "")' END"
                case "after", "token": "NULL"
                case "staged": "'{}'"
                default: "i.\(column)"
                }
            }
            let idle = numbers(.ready, .waiting, .paused)
            let busy = numbers(.leased, .verify)
            let cancel = ItemLife.PendingRequest.cancel.rawValue
            return """
                CREATE FUNCTION waybill.wb_cancel(ids bigint[]) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
                DECLARE
                    keys text[] := ARRAY(SELECT i.dedupe_key FROM waybill.item i
                        WHERE i.id = ANY(ids) AND i.dedupe_key IS NOT NULL);
                    old waybill.item;
                    one bigint;
                    now bigint;
                    day int;
                    first_seq bigint;
                    next_seq bigint;
                    changed bigint := 0;
                BEGIN
                    PERFORM pg_advisory_xact_lock(824318751, k.b)
                    FROM (SELECT DISTINCT hashtext(key) & 63 AS b FROM unnest(keys) AS key ORDER BY 1) k;
                    PERFORM FROM waybill.item i WHERE i.id IN (
                        SELECT unnest(ids) UNION SELECT o.id FROM waybill.item o WHERE o.dedupe_key = ANY(keys))
                    ORDER BY i.id FOR UPDATE;
                    now := waybill.wb_now();
                    day := floor(now / 86400000.0);
                    FOR one IN SELECT DISTINCT u FROM unnest(ids) AS u ORDER BY u LOOP
                        UPDATE waybill.item i SET asked = \(cancel), rev = i.rev + 1
                        WHERE i.id = one AND i.state IN (\(busy)) AND i.asked <> \(cancel);
                        IF FOUND THEN
                            changed := changed + 1;
                            CONTINUE;
                        END IF;
                        DELETE FROM waybill.item i WHERE i.id = one AND i.state IN (\(idle)) RETURNING i.* INTO old;
                        CONTINUE WHEN NOT FOUND;
                        changed := changed + 1;
                        IF next_seq IS NULL THEN
                            PERFORM waybill.wb_make_partition(day);
                            first_seq := (SELECT m.value FROM waybill.meta m WHERE m.name = 'seq_base')
                                + (pg_current_xact_id()::text::bigint << 20);
                            next_seq := (SELECT coalesce(max(e.seq), first_seq) FROM waybill.ended e
                                WHERE e.seq >= first_seq AND e.seq < first_seq + (1 << 20));
                        END IF;
                        next_seq := next_seq + 1;
                        IF next_seq >= first_seq + (1 << 20) THEN
                            RAISE EXCEPTION USING ERRCODE = 'program_limit_exceeded',
                                MESSAGE = 'A transaction can end 1048575 items. Use several transactions.';
                        END IF;
                        INSERT INTO waybill.ended(day, seq, ended_at, \(columns.joined(separator: ", ")))
                        SELECT day, next_seq, now, \(values.joined(separator: ", ")) FROM (SELECT old.*) i;
                        INSERT INTO waybill.tally_delta(state, items, bytes)
                        VALUES (\(OutboxState.cancelled.number), 1, coalesce(old.size, 0));
                        DELETE FROM waybill.body b WHERE b.item = one;
                        UPDATE waybill.item i SET after = old.after, rev = i.rev + 1 WHERE i.after = one;
                    END LOOP;
                    RETURN changed;
                END $$
                """
        }()

        private static func numbers(_ states: OutboxState...) -> String {
            states.map { "\($0.number)" }.joined(separator: ", ")
        }

        private static let cancel = #"""
            CREATE FUNCTION waybill.cancel(
                id bigint DEFAULT NULL, idempotency_key text DEFAULT NULL, deduplication_key text DEFAULT NULL
            ) RETURNS bigint LANGUAGE plpgsql VOLATILE \#(access) AS $$
            DECLARE
                changed bigint;
            BEGIN
                IF num_nonnulls(id, idempotency_key, deduplication_key) <> 1 THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)',
                        'cancel needs exactly one of id, idempotency_key and deduplication_key. Pass one of them.');
                END IF;
                changed := waybill.wb_cancel(ARRAY(
                    SELECT i.id FROM waybill.item i WHERE i.id = cancel.id
                    UNION ALL SELECT i.id FROM waybill.item i WHERE i.idem_key = cancel.idempotency_key
                    UNION ALL SELECT i.id FROM waybill.item i WHERE i.dedupe_key = cancel.deduplication_key));
                IF changed > 0 THEN PERFORM waybill.wb_wake(); END IF;
                RETURN changed;
            END $$
            """#

        // MARK: Read

        private static let stateName: String = {
            let names = OutboxState.allCases.sorted { $0.number < $1.number }.map { "'\($0.rawValue)'" }
            return """
                CREATE FUNCTION waybill.wb_state_name(state smallint) RETURNS text LANGUAGE sql IMMUTABLE AS
                $$ SELECT (ARRAY[\(names.joined(separator: ", "))])[state + 1] $$
                """
        }()

        private static let state = """
            CREATE FUNCTION waybill.state(id bigint) RETURNS text LANGUAGE sql STABLE \(access) AS $$
                SELECT waybill.wb_state_name(i.state) FROM waybill.item i WHERE i.id = $1
                UNION ALL SELECT waybill.wb_state_name(e.state) FROM waybill.ended e WHERE e.id = $1 LIMIT 1
            $$
            """

        private static func columns(_ alias: String, _ endedAt: String, _ sequence: String) -> String {
            """
            \(alias).id, waybill.wb_state_name(\(alias).state) AS state, \(alias).reason, \(alias).lane,
            \(alias).priority, \(alias).batch, \(alias).tags, \(alias).dedupe_key AS deduplication_key,
            \(alias).idem_key AS idempotency_key, \(alias).size, \(alias).attempts,
            to_timestamp(\(alias).created_at / 1000.0) AS created_at,
            CASE WHEN \(alias).state = \(OutboxState.waiting.number) THEN to_timestamp(\(alias).run_at / 1000.0) END
                AS next_attempt_at,
            to_timestamp(\(endedAt) / 1000.0) AS ended_at, \(sequence) AS sequence, \(alias).status AS response_status,
            \(alias).headers AS response_headers, \(alias).body AS response_body, \(alias).message
            """
        }

        private static let items = """
            CREATE VIEW waybill.items AS
            SELECT \(columns("i", "NULL", "NULL::bigint")) FROM waybill.item i
            UNION ALL SELECT \(columns("e", "e.ended_at", "e.seq")) FROM waybill.ended e
            """

        // Without the limit, a reader would miss the ends of transactions that commit later.
        private static let results = """
            CREATE FUNCTION waybill.results(after bigint DEFAULT 0, max_rows int DEFAULT 100) RETURNS SETOF waybill.items
            LANGUAGE sql STABLE \(access) AS $$
                SELECT v.* FROM waybill.items v
                WHERE v.sequence > $1 AND v.sequence < (SELECT \(PostgresStore.horizon)) ORDER BY v.sequence LIMIT $2
            $$
            """

        // The function `file` reads nothing.
        private static let revoke = """
            REVOKE ALL ON FUNCTION waybill.enqueue, waybill.cancel, waybill.state, waybill.results, waybill.wb_wake,
                waybill.wb_find, waybill.wb_last, waybill.wb_cancel, waybill.wb_make_partition, waybill.wb_parts FROM PUBLIC
            """
    }
#endif
