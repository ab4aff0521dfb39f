#if Shared
    import Waybill
    import WaybillCore
    import WaybillOutbox

    /// The statements that insert items.
    enum ItemInserts {
        private static let columns = [
            ("id", "int8"), ("kind", "text"), ("lane", "text"), ("spec", "text"), ("idem_key", "text"),
            ("state", "int2"),
            ("run_at", "int8"), ("max_attempts", "int4"), ("deadline", "int8"), ("time_limit", "int8"),
            ("on_unknown", "text"), ("on_change", "text"), ("priority", "int2"), ("rank", "int8"), ("batch", "text"),
            ("tags", "text"), ("dedupe_key", "text"), ("size", "int8"), ("staged", "text"), ("host", "text"),
            ("not_before", "int8"), ("key_period", "int8"),
        ]

        /// Inserts items, and returns their IDs with their idempotency keys.
        ///
        /// - Parameters:
        ///   - items: The items.
        ///   - ids: Their IDs, or `nil` to assign them. With IDs, an existing idempotency key is an error; without, its item
        ///     is not inserted.
        /// - Returns: The statement.
        static func insert(_ items: [NewItem], ids: [Int64]?) -> PostgresStatement {
            PostgresStatement(
                ids == nil ? text + " ON CONFLICT DO NOTHING" + returning : text + returning,
                parameters: parameters(items, ids))
        }

        private static let returning = " RETURNING id, idem_key"

        private static func parameters(_ items: [NewItem], _ ids: [Int64]?) -> [PostgresValue] {
            func texts(_ value: (NewItem) -> String?) -> PostgresValue { .array(items.map(value)) }
            func numbers(_ value: (NewItem) -> Int64?) -> PostgresValue { .array(items.map(value)) }
            return [
                .array(ids.map { $0.map(Optional.some) } ?? items.map { _ in nil }), texts(\.kind), texts(\.lane),
                texts(\.spec), texts(\.idempotencyKey),
                .array(of: .int2, items.map { .int2(Int16($0.life(at: 0).state.number)) }), numbers(\.life.runAt),
                .array(of: .int4, items.map { .int4(Int32(clamping: $0.life.maxAttempts)) }),
                numbers(\.life.deadline), numbers { $0.timeLimit == nil ? nil : $0.deadline(0) },
                texts(\.life.onUnknown.rawValue), texts(\.life.onChange.rawValue),
                .array(of: .int2, items.map { .int2(Int16(clamping: $0.priority)) }), numbers { $0.rank(0) },
                texts(\.batch), texts { json($0.tags) }, texts(\.deduplicationKey), numbers(\.size),
                texts { json($0.staged) }, texts(\.host),
                numbers { $0.life(at: 0).notBefore }, numbers(\.keyPeriod),
            ]
        }

        // Arrays of arrays would have to be of equal length.
        private static func json(_ texts: [String]) -> String? {
            texts.isEmpty ? nil : "[\(texts.map { JSONText.quoted($0) }.joined(separator: ","))]"
        }

        // Creates lanes that do not exist, too. Items with a deduplication key are inserted behind an item that does not
        // exist; the transaction then writes their place.
        private static let text: String = {
            let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.1)[]" }.joined(separator: ", ")
            let names = columns.map(\.0).filter { $0 != "time_limit" }
            let values = names.map { name in
                switch name {
                case "id": "coalesce(u.id, nextval('waybill.item_id_seq'))"
                case "deadline": "coalesce(t + u.time_limit, u.deadline)"
                case "rank", "not_before": "t + u.\(name)"
                case "tags", "staged":
                    "CASE WHEN u.\(name) IS NULL THEN '{}'"
                        + " ELSE ARRAY(SELECT jsonb_array_elements_text(u.\(name)::jsonb)) END"
                default: "u.\(name)"
                }
            }
            return """
                WITH clock AS MATERIALIZED (SELECT waybill.wb_now() AS t),
                u AS MATERIALIZED (
                    SELECT * FROM unnest(\(arrays)) WITH ORDINALITY AS u(\(columns.map(\.0).joined(separator: ", ")), number)),
                lanes AS (
                    INSERT INTO waybill.lane(name) SELECT DISTINCT u.lane FROM u
                    WHERE NOT EXISTS(SELECT FROM waybill.lane l WHERE l.name = u.lane) ORDER BY 1
                    ON CONFLICT DO NOTHING)
                INSERT INTO waybill.item(\(names.joined(separator: ", ")), after, created_at)
                SELECT \(values.joined(separator: ", ")), CASE WHEN u.dedupe_key IS NULL THEN NULL ELSE 0 END, t
                FROM u, clock
                ORDER BY u.number
                """
        }()

        /// Inserts the bodies of those items that this transaction has inserted; `nil` if there are none.
        static func insertBodies(_ items: [NewItem]) -> PostgresStatement? {
            let bodies = items.flatMap { item in item.bodies.map { (key: item.idempotencyKey, body: $0) } }
            guard !bodies.isEmpty else { return nil }
            return PostgresStatement(
                """
                INSERT INTO waybill.body(name, item, bytes)
                SELECT b.name, i.id, b.bytes FROM unnest($1::text[], $2::text[], $3::bytea[]) AS b(name, idem_key, bytes)
                JOIN waybill.item i ON i.idem_key = b.idem_key
                WHERE i.xmin = pg_current_xact_id()::xid ON CONFLICT DO NOTHING
                """, .array(bodies.map(\.body.name)), .array(bodies.map(\.key)),
                .array(of: .bytea, bodies.map { .bytea($0.body.bytes) }))
        }

        /// Deletes items that this transaction has inserted, if an item with their key has ended, and returns their keys:
        /// that is certain only after the insertion, which waits for a transaction that ends an item with the same key.
        static func deleteKnown(_ keys: [String]) -> PostgresStatement {
            PostgresStatement(
                """
                DELETE FROM waybill.item i USING waybill.ended e
                WHERE i.idem_key = ANY($1) AND i.xmin = pg_current_xact_id()::xid AND e.idem_key = i.idem_key
                RETURNING i.idem_key
                """, .array(keys))
        }

        /// Selects the items with the given idempotency keys.
        static func selectKnown(_ keys: [String]) -> PostgresStatement {
            PostgresStatement(selectKnownText, .array(keys))
        }

        /// Also selects the reservations of deduplication keys: rows without a specification.
        static func selectKnown(_ keys: [String], reserved: [String]) -> PostgresStatement {
            PostgresStatement(
                """
                \(selectKnownText)
                UNION ALL SELECT item, key, NULL, NULL FROM waybill.reservation
                    WHERE key = ANY($2) AND until > waybill.wb_now()
                """, .array(keys), .array(reserved))
        }

        private static let selectKnownText = """
            SELECT id, idem_key, spec, staged FROM waybill.item WHERE idem_key = ANY($1)
            UNION ALL SELECT id, idem_key, spec, staged FROM waybill.ended WHERE idem_key = ANY($1)
            """
    }

    /// An item with a known idempotency key.
    struct KnownItem: Sendable {
        var id: Int64
        var spec: String
        var staged: [String]

        /// - Parameter row: A row of ``ItemInserts/selectKnown(_:)``.
        init(_ row: [PostgresValue]) {
            id = row[0].integer ?? 0
            spec = row[2].text ?? ""
            staged = row[3].elements?.compactMap(\.text) ?? []
        }

        init(_ item: NewItem, id: Int64) {
            (self.id, spec, staged) = (id, item.spec, item.staged)
        }

        /// Returns the result of enqueuing an item with the same key. A caller that did not receive the response repeats an
        /// identical request; otherwise, a reused key belongs to the first item.
        func result(for item: NewItem) -> EnqueuedItem {
            EnqueuedItem(
                id: id, isNew: spec == item.spec || !staged.isEmpty && Set(staged) == Set(item.staged))
        }
    }
#endif
