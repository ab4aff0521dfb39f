#if Shared
    import Waybill
    import WaybillCore
    import WaybillOutbox

    /// The statements that insert items.
    enum ItemInserts {
        /// An item, with its ID unless the server assigns it.
        private final class Row: Sendable {
            let item: NewItem
            let id: Int64?

            init(_ item: NewItem, _ id: Int64?) { (self.item, self.id) = (item, id) }
        }

        private typealias Parameter = ColumnParameter<Row>

        private static let parameters: [Parameter] = [
            number("id", \.id),
            Parameter("kind", .text) { .text($0.item.kind) },
            Parameter("lane", .text) { .text($0.item.lane) },
            Parameter("spec", .text) { .text($0.item.spec) },
            Parameter("idem_key", .text) { .text($0.item.idempotencyKey) },
            Parameter("state", .int2, if: { $0.item.life(at: 0).state != .ready }) {
                .int2(Int16($0.item.life(at: 0).state.number))
            },
            Parameter("run_at", .int8, if: { $0.item.life.runAt != 0 }) { .int8($0.item.life.runAt) },
            Parameter("max_attempts", .int4) { .int4(Int32(clamping: $0.item.life.maxAttempts)) },
            number("deadline", \.item.life.deadline),
            number("time_limit") { $0.item.timeLimit == nil ? nil : $0.item.deadline(0) },
            Parameter("on_unknown", .text) { .text($0.item.life.onUnknown.rawValue) },
            Parameter("on_change", .text) { .text($0.item.life.onChange.rawValue) },
            Parameter("priority", .int2) { .int2(Int16(clamping: $0.item.priority)) },
            Parameter("rank", .int8) { .int8($0.item.rank(0)) },
            text("batch", \.item.batch),
            text("tags") { json($0.item.tags) },
            text("dedupe_key", \.item.deduplicationKey),
            number("size", \.item.size),
            text("staged") { json($0.item.staged) },
            text("host", \.item.host),
            number("not_before") { $0.item.life(at: 0).notBefore },
            number("key_period", \.item.keyPeriod),
        ]

        private static func text(_ name: String, _ value: @escaping @Sendable (Row) -> String?) -> Parameter {
            Parameter(adding: name, .text) { value($0).map(PostgresValue.text) }
        }

        private static func number(_ name: String, _ value: @escaping @Sendable (Row) -> Int64?) -> Parameter {
            Parameter(adding: name, .int8) { value($0).map(PostgresValue.int8) }
        }

        /// What happens to an item whose idempotency key exists.
        enum Known {
            /// The statement fails.
            case fail
            /// The item is not inserted.
            case skip
        }

        private static let texts = StatementTexts<Known>()

        /// Inserts items, and returns their IDs with their idempotency keys, in the order of the items.
        ///
        /// - Parameters:
        ///   - items: The items.
        ///   - ids: Their IDs, or `nil` to assign them.
        ///   - known: What happens to an item whose idempotency key exists.
        /// - Returns: The statement.
        static func insert(_ items: [NewItem], ids: [Int64]? = nil, known: Known) -> PostgresStatement {
            let rows = items.enumerated().map { Row($1, ids?[$0]) }
            let lanes = PostgresValue.array(Set(items.map(\.lane)).sorted())
            return texts.statement(known, parameters, rows, last: lanes) { table in
                text(table) + (known == .skip ? " ON CONFLICT DO NOTHING" : "") + " RETURNING id, idem_key"
            }
        }

        /// The time, which the statement reads once. Not a table of the join: the rows would have to be sorted.
        private static let now = "(SELECT t FROM clock)"

        // Arrays of arrays would have to be of equal length.
        private static func json(_ texts: [String]) -> String? {
            texts.isEmpty ? nil : "[\(texts.map { JSONText.quoted($0) }.joined(separator: ","))]"
        }

        // Creates lanes that do not exist, too. Items with a deduplication key are inserted behind an item that does not
        // exist; the transaction then writes their place.
        private static func text(_ table: ParameterTable) -> String {
            var values = Dictionary(uniqueKeysWithValues: table.columns.map { ($0.name, "u.\($0.name)") })
            for name in ["rank", "not_before"] where values[name] != nil { values[name] = "\(now) + u.\(name)" }
            for name in ["tags", "staged"] where values[name] != nil {
                values[name] =
                    "CASE WHEN u.\(name) IS NULL THEN '{}'"
                    + " ELSE ARRAY(SELECT jsonb_array_elements_text(u.\(name)::jsonb)) END"
            }
            if values.removeValue(forKey: "time_limit") != nil {
                values["deadline"] = "coalesce(\(now) + u.time_limit, \(values["deadline"] ?? "NULL"))"
            }
            if values["dedupe_key"] != nil { values["after"] = "CASE WHEN u.dedupe_key IS NULL THEN NULL ELSE 0 END" }
            let columns = values.sorted { $0.key < $1.key }
            return """
                WITH clock AS MATERIALIZED (SELECT waybill.wb_now() AS t),
                lanes AS (
                    INSERT INTO waybill.lane(name) SELECT n.name FROM unnest($\(table.columns.count + 1)::text[]) AS n(name)
                    WHERE NOT EXISTS(SELECT FROM waybill.lane l WHERE l.name = n.name) ON CONFLICT DO NOTHING)
                INSERT INTO waybill.item(\(columns.map(\.key).joined(separator: ", ")), created_at)
                SELECT \(columns.map(\.value).joined(separator: ", ")), \(now)
                FROM \(table.text) ORDER BY u.number
                """
        }

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
