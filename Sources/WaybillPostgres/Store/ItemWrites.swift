#if Shared
    import FoundationEssentials
    import Waybill
    import WaybillOutbox

    /// The change of one row, as parameters of ``ItemWrites``.
    struct ItemWrite: Sendable {
        /// The row after the change.
        var item: SharedItem
        /// The lease and the revision that the row must have.
        let leaseBefore: Int64
        let revisionBefore: Int64
        var resume: [UInt8]?
        var spec: String?
        var response: StoredResponse?
        /// Whether the staged files are no longer needed.
        var isFreed = false

        init(_ item: SharedItem) {
            self.item = item
            leaseBefore = item.life.leaseNumber
            revisionBefore = item.revision
        }
    }

    /// The statements that write rows. Each takes one array per column, so that any number of rows is one statement.
    enum ItemWrites {
        /// The columns of ``ItemLife`` and their types, in the order of the parameters.
        private static let life = [
            ("state", "int2"), ("attempts", "int4"), ("lease_no", "int8"), ("verifying", "bool"), ("asked", "int2"),
            ("run_at", "int8"), ("first_at", "int8"), ("doubtful", "bool"), ("vain", "int4"), ("reason", "text"),
            ("deadline", "int8"),
        ]

        private static let others = [
            ("id", "int8"), ("lease_before", "int8"), ("rev_before", "int8"), ("after", "int8"), ("token", "text"),
            ("resume", "bytea"), ("spec", "text"), ("responded", "bool"), ("status", "int2"), ("headers", "text"),
            ("body", "bytea"), ("message", "text"), ("changed_after", "bool"), ("freed", "bool"),
        ]

        /// The parameters as a table `u`, with a column `number` for their order.
        private static let table: String = {
            let columns = life + others
            let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.1)[]" }.joined(separator: ", ")
            return "unnest(\(arrays)) WITH ORDINALITY AS u(\(columns.map(\.0).joined(separator: ", ")), number)"
        }()

        /// The parameter with the IDs: repeated as a condition, because then the planner uses the index.
        private static let ids = "$\(life.count + 1)"

        private static let count = life.count + others.count

        private static func parameters(_ writes: [ItemWrite]) -> [PostgresValue] {
            func column(_ type: PostgresType, _ value: (ItemWrite) -> PostgresValue?) -> PostgresValue {
                .array(of: type, writes.map { value($0) ?? .null(type) })
            }
            let headers = writes.map { (try? $0.response?.headersText)?.replacing("\\u0000", with: "\\ufffd") }
            return [
                column(.int2) { .int2(Int16($0.item.life.state.number)) },
                column(.int4) { .int4(Int32(clamping: $0.item.life.attempts)) },
                column(.int8) { .int8($0.item.life.leaseNumber) },
                column(.bool) { .bool($0.item.life.isVerifying) },
                column(.int2) { .int2(Int16($0.item.life.pendingRequest.rawValue)) },
                column(.int8) { .int8($0.item.life.runAt) },
                column(.int8) { $0.item.life.firstAttemptAt.map(PostgresValue.int8) },
                column(.bool) { .bool($0.item.life.isDoubtful) },
                column(.int4) { .int4(Int32(clamping: $0.item.life.failedVerifications)) },
                column(.text) { ($0.item.life.reason?.withoutNUL).map(PostgresValue.text) },
                column(.int8) { $0.item.life.deadline.map(PostgresValue.int8) },
                column(.int8) { .int8($0.item.row.id) },
                column(.int8) { .int8($0.leaseBefore) },
                column(.int8) { .int8($0.revisionBefore) },
                column(.int8) { $0.item.row.after.map(PostgresValue.int8) },
                column(.text) { $0.item.row.token.map(PostgresValue.text) },
                column(.bytea) { $0.resume.map(PostgresValue.bytea) },
                column(.text) { ($0.spec?.withoutNUL).map(PostgresValue.text) },
                column(.bool) { .bool($0.response != nil) },
                column(.int2) { ($0.response?.status).map { .int2(Int16(clamping: $0)) } },
                .array(headers),
                column(.bytea) { ($0.response?.body).map { .bytea(Array($0)) } },
                column(.text) { ($0.response?.message?.withoutNUL).map(PostgresValue.text) },
                column(.bool) { .bool($0.response?.sourceChangedAfterwards ?? false) },
                column(.bool) { .bool($0.isFreed) },
            ]
        }

        /// Returns the new value of a column: the parameter, or the value that the row `i` has.
        private static func value(_ column: String) -> String {
            switch column {
            case "spec", "resume": "coalesce(u.\(column), i.\(column))"
            case "headers": "CASE WHEN u.responded THEN u.headers::jsonb ELSE i.headers END"
            case "status", "body", "message", "changed_after":
                "CASE WHEN u.responded THEN u.\(column) ELSE i.\(column) END"
            case "staged": "CASE WHEN u.freed THEN '{}' ELSE i.staged END"
            default: "u.\(column)"
            }
        }

        private static let attached = [
            "spec", "resume", "headers", "status", "body", "message", "changed_after", "staged",
        ]
        private static let changed = life.map(\.0) + attached

        /// Writes rows that the transaction has locked.
        static func update(_ writes: [ItemWrite]) -> PostgresStatement {
            PostgresStatement(updateText, parameters: parameters(writes))
        }

        private static let updateText = """
            UPDATE waybill.item i
            SET \((changed + ["after", "token"]).map { "\($0) = \(value($0))" }.joined(separator: ", ")), rev = i.rev + 1
            FROM \(table) WHERE i.id = u.id AND i.id = ANY(\(ids)) AND i.rev = u.rev_before
            """

        /// Moves rows to `ended` that have the expected lease and revision, and returns their IDs.
        ///
        /// - Parameters:
        ///   - writes: The rows, whose IDs ascend.
        ///   - needsCleanLane: Whether an item stays if its lane has failures or is blocked.
        /// - Returns: The statement.
        static func end(_ writes: [ItemWrite], needsCleanLane: Bool = false) -> PostgresStatement {
            PostgresStatement(endText, parameters: parameters(writes) + [.bool(needsCleanLane)])
        }

        // The rows are locked in the order of their IDs, whatever plan deletes them. The number of an end is ordered by
        // transactions, because readers see transactions as a whole: see `results(after:limit:)`.
        private static let endText: String = {
            let columns = SharedItem.names + SharedItem.otherNames
            let values = columns.map { column in
                switch column {
                case "after": "NULL"
                case _ where changed.contains(column): value(column)
                default: "i.\(column)"
                }
            }
            return """
                WITH u AS MATERIALIZED (SELECT u.* FROM \(table)),
                clock AS MATERIALIZED (SELECT waybill.wb_now() AS t),
                locked AS MATERIALIZED (
                    SELECT i.id FROM waybill.item i JOIN u ON i.id = u.id
                    WHERE i.id = ANY(\(ids)) AND i.lease_no = u.lease_before AND i.rev = u.rev_before AND NOT ($\(count + 1) AND EXISTS (
                        SELECT FROM waybill.lane l
                        WHERE l.name = i.lane AND (l.blocked IS NOT NULL OR l.failures > 0 OR l.refusals > 0)))
                    ORDER BY i.id FOR UPDATE OF i),
                i AS (DELETE FROM waybill.item WHERE id = ANY(ARRAY(SELECT id FROM locked)) RETURNING *),
                kept AS (
                    INSERT INTO waybill.ended(day, seq, ended_at, \(columns.joined(separator: ", ")))
                    SELECT floor(t / 86400000.0)::int,
                        (SELECT value FROM waybill.meta WHERE name = 'seq_base')
                            + (pg_current_xact_id()::text::bigint << 20) + u.number,
                        t, \(values.joined(separator: ", "))
                    FROM i JOIN u ON u.id = i.id, clock
                    RETURNING id, state, size),
                counted AS (
                    INSERT INTO waybill.tally_delta(state, items, bytes)
                    SELECT state, count(*), \(sum("size")) FROM kept GROUP BY state),
                bodies AS (
                    DELETE FROM waybill.body b USING kept
                    WHERE b.item = kept.id AND kept.state <> \(OutboxState.failed.number))
                SELECT id FROM kept
                """
        }()

        /// Moves ended rows back, in front of no other item with their key; the caller updates them.
        static func reopen(_ ids: [Int64]) -> PostgresStatement {
            PostgresStatement(reopenText, .array(ids))
        }

        private static let reopenText: String = {
            let columns = SharedItem.names + SharedItem.otherNames
            let values = columns.map { $0 == "after" ? "CASE WHEN dedupe_key IS NULL THEN NULL ELSE 0 END" : $0 }
            return """
                WITH gone AS (DELETE FROM waybill.ended WHERE id = ANY($1) RETURNING *),
                counted AS (
                    INSERT INTO waybill.tally_delta(state, items, bytes)
                    SELECT state, -count(*), -\(sum("size")) FROM gone GROUP BY state)
                INSERT INTO waybill.item(\(columns.joined(separator: ", ")))
                SELECT \(values.joined(separator: ", ")) FROM gone
                """
        }()

        /// A sum of bytes. Sizes come from files of other programs: a sum that is too large must not be an error.
        static func sum(_ column: String) -> String {
            "least(coalesce(sum(\(column)), 0), \(Int64.max))::bigint"
        }
    }
#endif
