#if Shared
    import Waybill
    import WaybillOutbox

    /// The statements that create `waybill.enqueue`.
    enum SQLEnqueue {
        static let statements = [newKey, random, find, last, parts, enqueue]

        private static let invalidArgument = SQLFunctions.invalidArgument
        private static let tooLarge = SQLFunctions.tooLarge
        private static let access = SQLFunctions.access

        // A function with a time: version 7 of RFC 9562, as `Delivery.newIdempotencyKey()` returns.
        private static let newKey = """
            CREATE FUNCTION waybill.wb_new_key() RETURNS text LANGUAGE sql VOLATILE AS $$
                SELECT left(h, 8) || '-' || right(h, 4) || '-7' || substr(gen_random_uuid()::text, 16)
                FROM lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') AS h
            $$
            """

        // The random bits of two UUIDs, as hexadecimal digits: 128, like `MultipartBoundary.random()`.
        private static let random = """
            CREATE FUNCTION waybill.wb_random() RETURNS text LANGUAGE sql VOLATILE AS $$
                SELECT left(a, 12) || right(a, 12) || left(b, 8)
                FROM replace(gen_random_uuid()::text, '-', '') AS a, replace(gen_random_uuid()::text, '-', '') AS b
            $$
            """

        private static let find = """
            CREATE FUNCTION waybill.wb_find(key text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
                SELECT i.id FROM waybill.item i WHERE i.idem_key = key
                UNION ALL SELECT e.id FROM waybill.ended e WHERE e.idem_key = key LIMIT 1
            $$
            """

        // The unfinished item with the key that no other one waits for.
        private static let last = """
            CREATE FUNCTION waybill.wb_last(key text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$ BEGIN
                PERFORM FROM waybill.item i WHERE i.dedupe_key = key ORDER BY i.id FOR UPDATE;
                RETURN (SELECT max(i.id) FROM waybill.item i WHERE i.dedupe_key = key AND NOT EXISTS (
                    SELECT FROM waybill.item o WHERE o.after = i.id));
            END $$
            """

        // Contents of up to 16 KiB are part of the specification, as in a form that Swift enqueues.
        private static let parts = #"""
            CREATE FUNCTION waybill.wb_parts(
                fields jsonb, files waybill.form_file[], OUT parts text[], OUT names text[], OUT contents bytea[]
            ) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
            DECLARE
                entry record;
                body_name text;
                size bigint := 0;
                size_limit bigint;
            BEGIN
                parts := '{}'; names := '{}'; contents := '{}';
                FOR entry IN
                    SELECT true AS is_text, p.pair_name AS name, NULL AS file_name, NULL AS content_type,
                        p.pair_value AS value, convert_to(
                            regexp_replace(p.pair_value #>> '{}', E'\r\n|\r|\n', E'\r\n', 'g'), 'UTF8') AS content
                    FROM waybill.wb_pairs('fields', fields) p
                    UNION ALL
                    SELECT false, f.name, f.file_name,
                        coalesce(f.content_type, waybill.wb_content_type(f.file_name)), NULL, f.content
                    FROM unnest(files) f
                LOOP
                    PERFORM waybill.wb_check_name('The name of a part', entry.name);
                    IF jsonb_typeof(entry.value) = 'object' THEN
                        IF NOT entry.value ? 'credential' OR entry.value - 'credential' <> '{}'
                            OR jsonb_typeof(entry.value -> 'credential') <> 'string'
                        THEN
                            PERFORM waybill.wb_refuse('\#(invalidArgument)', format(
                                'The value of %s in fields is a JSON object. Use a string, or {"credential": "name"}.',
                                to_json(entry.name)));
                        END IF;
                        PERFORM waybill.wb_check_text('The name of a credential', entry.value ->> 'credential');
                        parts := parts || waybill.wb_part(entry.name, NULL, NULL, true,
                            '{"credential":' || to_json(entry.value ->> 'credential') || '}');
                        CONTINUE;
                    END IF;
                    IF entry.content IS NULL THEN
                        PERFORM waybill.wb_refuse('\#(invalidArgument)', format(
                            'The file %s has no content. Use an empty bytea for an empty file.', to_json(entry.name)));
                    END IF;
                    IF entry.file_name IS NOT NULL THEN
                        PERFORM waybill.wb_check_name('file_name', entry.file_name);
                    END IF;
                    PERFORM waybill.wb_check_text('content_type', entry.content_type);
                    body_name := NULL;
                    IF octet_length(entry.content) > 16384 THEN
                        body_name := gen_random_uuid();
                        names := names || body_name;
                        contents := contents || entry.content;
                        size := size + octet_length(entry.content);
                    END IF;
                    parts := parts || waybill.wb_part(entry.name, entry.file_name, entry.content_type, entry.is_text,
                        waybill.wb_source(entry.content, body_name));
                END LOOP;
                size_limit := least((SELECT m.value FROM waybill.meta m WHERE m.name = 'sql_inline_limit'), 8388608);
                IF size > size_limit THEN
                    PERFORM waybill.wb_refuse('\#(tooLarge)', format(
                        'The contents have %s bytes, and at most %s are stored with an item. Raise sql_inline_limit in '
                        'waybill.meta to up to 8388608, or enqueue the form with Waybill and a shared directory.',
                        size, size_limit));
                END IF;
            END $$
            """#

        private static let enqueue = #"""
            CREATE FUNCTION waybill.enqueue(
                url text,
                fields jsonb DEFAULT '{}',
                files waybill.form_file[] DEFAULT '{}',
                method text DEFAULT 'POST',
                headers jsonb DEFAULT '{}',
                credential text DEFAULT NULL,
                credential_field text DEFAULT NULL,
                idempotency_key text DEFAULT NULL,
                idempotency_window interval DEFAULT NULL,
                deduplication_key text DEFAULT NULL,
                duplicates text DEFAULT 'keep',
                deduplication_period interval DEFAULT NULL,
                lane text DEFAULT NULL,
                priority int DEFAULT 5,
                batch text DEFAULT NULL,
                tags text[] DEFAULT '{}',
                deadline interval DEFAULT '7 days',
                delay interval DEFAULT NULL,
                max_attempts int DEFAULT 10,
                on_unknown text DEFAULT 'fail',
                wakes_workers boolean DEFAULT true,
                OUT id bigint,
                OUT is_new boolean
            ) LANGUAGE plpgsql VOLATILE \#(access) AS $$
            DECLARE
                form record;
                spec text;
                item_key text := coalesce(idempotency_key, waybill.wb_new_key());
                time_limit numeric := floor(extract(epoch FROM deadline) * 1000);
                wait numeric := ceil(extract(epoch FROM coalesce(delay, '0')) * 1000);
                key_period numeric := floor(extract(epoch FROM deduplication_period) * 1000);
                start bigint;
                now bigint;
                last_item bigint;
                others bigint[];
            BEGIN
                duplicates := coalesce(duplicates, 'keep');
                priority := coalesce(priority, 5);
                max_attempts := coalesce(max_attempts, 10);
                on_unknown := coalesce(on_unknown, 'fail');
                -- least() would ignore NULL, which means that there is no deadline.
                IF time_limit > \#(Int64.max / 4) THEN time_limit := \#(Int64.max / 4); END IF;
                IF key_period > \#(Int64.max / 4) THEN key_period := \#(Int64.max / 4); END IF;
                PERFORM waybill.wb_check_text('credential', credential);
                lane := coalesce(lane, waybill.wb_lane(url, credential));
                PERFORM waybill.wb_check_text(a.name, a.value) FROM (VALUES
                    ('lane', lane), ('batch', batch), ('deduplication_key', deduplication_key)) AS a(name, value);
                PERFORM waybill.wb_check_text('A tag', t) FROM unnest(tags) AS t;
                PERFORM waybill.wb_refuse('\#(invalidArgument)', a.message) FROM (VALUES
                    (item_key !~ '^[!#-\[\]-~]{1,255}$',
                        'idempotency_key must have 1 to 255 printable ASCII characters other than space, " and \. Correct it.'),
                    (duplicates NOT IN ('keep', 'append', 'replace'),
                        'duplicates must be keep, append or replace. Correct it.'),
                    (on_unknown NOT IN ('fail', 'retry', 'ask'), 'on_unknown must be fail, retry or ask. Correct it.'),
                    (priority NOT BETWEEN 0 AND 9, 'priority must be between 0 and 9; 0 is sent first. Correct it.'),
                    (max_attempts < 1, 'max_attempts must be at least 1. Correct it.'),
                    (time_limit <= 0, 'deadline must be positive. Use an interval such as 1 day, or NULL for no deadline.'),
                    (wait NOT BETWEEN 0 AND \#(ItemLife.longestDelay),
                        'delay must be between 0 and 366 days. Correct it.'),
                    (key_period <= 0, 'deduplication_period must be positive. Use an interval such as 1 day.'),
                    (key_period IS NOT NULL AND deduplication_key IS NULL,
                        'deduplication_period needs a deduplication_key. Pass one.'),
                    (array_position(tags, NULL) IS NOT NULL OR cardinality(tags) > 100,
                        'tags must be at most 100 texts, none of which is NULL. Correct them.')
                ) AS a(is_wrong, message) WHERE a.is_wrong;
                form := waybill.wb_parts(coalesce(fields, '{}'), coalesce(files, '{}'));
                spec := '{"boundary":' || to_json('----Waybill' || waybill.wb_random()) || ',"compatibility":"standard",'
                    || '"parts":[' || array_to_string(form.parts, ',') || '],"target":' || waybill.wb_target(
                        url, coalesce(method, 'POST'), coalesce(headers, '{}'), credential, credential_field,
                        idempotency_window) || '}';
                IF octet_length(spec) > 8388608 THEN
                    PERFORM waybill.wb_refuse('\#(tooLarge)', format(
                        'The fields and small files have %s bytes, and at most 8388608 are stored. Send fewer or smaller ones.',
                        octet_length(spec)));
                END IF;

                -- The order of locks is that of workers.
                INSERT INTO waybill.lane(name) SELECT enqueue.lane
                WHERE NOT EXISTS (SELECT FROM waybill.lane l WHERE l.name = enqueue.lane) ON CONFLICT DO NOTHING;
                IF deduplication_key IS NOT NULL THEN
                    PERFORM pg_advisory_xact_lock(824318751, hashtext(deduplication_key) & 63);
                END IF;
                FOR attempt IN 1..3 LOOP
                    is_new := false;
                    IF idempotency_key IS NOT NULL THEN
                        id := waybill.wb_find(item_key);
                        EXIT WHEN id IS NOT NULL;
                    END IF;
                    IF deduplication_key IS NOT NULL THEN
                        last_item := waybill.wb_last(deduplication_key);
                        IF last_item IS NOT NULL AND duplicates = 'keep' THEN
                            id := last_item;
                            EXIT;
                        ELSIF last_item IS NOT NULL AND duplicates = 'replace' THEN
                            others := ARRAY(SELECT i.id FROM waybill.item i WHERE i.dedupe_key = deduplication_key);
                            PERFORM waybill.wb_cancel(others);
                            last_item := waybill.wb_last(deduplication_key);
                        ELSIF duplicates = 'keep' THEN
                            id := (SELECT r.item FROM waybill.reservation r
                                WHERE r.key = deduplication_key AND r.until > waybill.wb_now());
                            EXIT WHEN id IS NOT NULL;
                        END IF;
                    END IF;
                    now := waybill.wb_now();
                    start := now + wait::bigint;
                    INSERT INTO waybill.item AS i (
                        kind, lane, spec, idem_key, max_attempts, deadline, on_unknown, on_change, priority, rank, batch,
                        tags, dedupe_key, after, size, created_at, state, not_before, key_period)
                    VALUES ('form', lane, spec, item_key, max_attempts, start + time_limit::bigint,
                        on_unknown, 'fail', priority, start + priority * 300000, batch, coalesce(tags, '{}'),
                        deduplication_key, last_item,
                        (SELECT coalesce(sum(octet_length(c)), 0) FROM unnest(form.contents) AS c), now,
                        CASE WHEN wait > 0 THEN \#(OutboxState.waiting.number) ELSE 0 END,
                        CASE WHEN wait > 0 THEN start END, key_period::bigint)
                    ON CONFLICT (idem_key) DO NOTHING RETURNING i.id INTO id;
                    -- Only now it is certain whether an item with this key has ended.
                    IF id IS NOT NULL AND idempotency_key IS NOT NULL
                        AND EXISTS (SELECT FROM waybill.ended e WHERE e.idem_key = item_key)
                    THEN
                        DELETE FROM waybill.item i WHERE i.id = enqueue.id;
                        CONTINUE;
                    END IF;
                    is_new := id IS NOT NULL;
                    EXIT WHEN is_new;
                END LOOP;
                IF id IS NULL THEN
                    RAISE EXCEPTION USING ERRCODE = 'serialization_failure',
                        MESSAGE = 'An item with the same idempotency_key was removed meanwhile. Repeat the transaction.';
                END IF;
                IF is_new THEN
                    INSERT INTO waybill.body(name, item, bytes)
                    SELECT b.name, enqueue.id, b.content FROM unnest(form.names, form.contents) AS b(name, content);
                    IF wakes_workers THEN PERFORM waybill.wb_wake(); END IF;
                END IF;
            END $$
            """#
    }
#endif
