#if Shared
    import FoundationEssentials
    import Waybill
    import WaybillCore
    import WaybillOutbox

    /// The change of one row, as parameters of ``ItemWrites``.
    struct ItemWrite: Sendable {
        /// The row after the change.
        var item: SharedItem
        /// The row before the change: as it must be, by its lease and its revision.
        let before: Boxed<SharedItem>
        var resume: [UInt8]?
        var spec: String?
        var response: StoredResponse?
        /// The history, or its texts before and after the times of an attempt that ends now.
        var history: (before: String, after: String?)?
        /// Whether the staged files are no longer needed.
        var isFreed = false

        init(_ item: SharedItem, before: Boxed<SharedItem>) {
            self.item = item
            self.before = before
        }

        /// The headers as JSON.
        var headers: String? {
            (try? response?.headersText)?.replacing("\\u0000", with: "\\ufffd")
        }
    }

    extension ColumnParameter where Row == Boxed<ItemWrite> {
        /// A parameter that is needed if its value changes in one row.
        fileprivate init(
            changing name: String, _ type: PostgresType, _ value: @escaping @Sendable (SharedItem) -> PostgresValue?
        ) {
            self.init(
                name, type, if: { value($0.value.item) != value($0.value.before.value) }, { value($0.value.item) })
        }
    }

    /// The statements that write rows. Each takes one array per column, so that any number of rows is one statement.
    ///
    /// A statement has only the columns that change in one of its rows. The others are as they were read: each statement
    /// checks the revision of a row.
    enum ItemWrites {
        private typealias Parameter = ColumnParameter<Boxed<ItemWrite>>

        private static let parameters: [Parameter] = [
            Parameter("id", .int8) { .int8($0.value.item.row.id) },
            Parameter("lease_before", .int8) { .int8($0.value.before.value.life.leaseNumber) },
            Parameter("rev_before", .int8) { .int8($0.value.before.value.revision) },
            Parameter(changing: "state", .int2) { .int2(Int16($0.life.state.number)) },
            Parameter(changing: "attempts", .int4) { .int4(Int32(clamping: $0.life.attempts)) },
            Parameter(changing: "lease_no", .int8) { .int8($0.life.leaseNumber) },
            Parameter(changing: "verifying", .bool) { .bool($0.life.isVerifying) },
            Parameter(changing: "asked", .int2) { .int2(Int16($0.life.pendingRequest.rawValue)) },
            Parameter(changing: "run_at", .int8) { .int8($0.life.runAt) },
            Parameter(changing: "first_at", .int8) { $0.life.firstAttemptAt.map(PostgresValue.int8) },
            Parameter(changing: "doubtful", .bool) { .bool($0.life.isDoubtful) },
            Parameter(changing: "vain", .int4) { .int4(Int32(clamping: $0.life.failedVerifications)) },
            Parameter(changing: "reason", .text) { ($0.life.reason?.withoutNUL).map(PostgresValue.text) },
            Parameter(changing: "deadline", .int8) { $0.life.deadline.map(PostgresValue.int8) },
            Parameter(changing: "not_before", .int8) { $0.life.notBefore.map(PostgresValue.int8) },
            Parameter(changing: "leased_at", .int8) { $0.life.leasedAt.map(PostgresValue.int8) },
            Parameter(changing: "token", .text) { $0.row.token.map(PostgresValue.text) },
            // A new or reopened row with a key is behind an item that does not exist.
            Parameter("after", .int8, if: { $0.value.item.row.deduplicationKey != nil }) {
                $0.value.item.row.after.map(PostgresValue.int8)
            },
            Parameter(adding: "resume", .bytea) { $0.value.resume.map(PostgresValue.bytea) },
            Parameter(adding: "spec", .text) { ($0.value.spec?.withoutNUL).map(PostgresValue.text) },
            Parameter("responded", .bool, if: { $0.value.response != nil }) { .bool($0.value.response != nil) },
            Parameter(adding: "status", .int2) { ($0.value.response?.status).map { .int2(Int16(clamping: $0)) } },
            Parameter(adding: "headers", .text) { $0.value.headers.map(PostgresValue.text) },
            Parameter(adding: "body", .bytea) { ($0.value.response?.body).map { .bytea(Array($0)) } },
            Parameter(adding: "message", .text) { ($0.value.response?.message?.withoutNUL).map(PostgresValue.text) },
            Parameter("changed_after", .bool, if: { $0.value.response?.sourceChangedAfterwards == true }) {
                .bool($0.value.response?.sourceChangedAfterwards ?? false)
            },
            Parameter("freed", .bool, if: \.value.isFreed) { .bool($0.value.isFreed) },
            Parameter(adding: "history", .text) { ($0.value.history?.before.withoutNUL).map(PostgresValue.text) },
            Parameter(adding: "history_end", .text) { ($0.value.history?.after?.withoutNUL).map(PostgresValue.text) },
        ]

        /// The columns of a response, and what they are without one.
        private static let ofResponse = [
            "status": "NULL", "headers": "NULL", "body": "NULL", "message": "NULL", "changed_after": "false",
        ]

        private enum Purpose: Hashable { case update, end, endInCleanLane }
        private static let texts = StatementTexts<Purpose>()

        private static func statement(
            _ purpose: Purpose, _ writes: [Boxed<ItemWrite>], last: PostgresValue? = nil
        ) -> PostgresStatement {
            texts.statement(purpose, parameters, writes, last: last) { table in
                purpose == .update ? updateText(table) : endText(table, purpose == .endInCleanLane)
            }
        }

        /// Returns the new value of a column: the parameter, or the value that the row `i` has.
        private static func value(_ column: String, _ names: Set<String>) -> String {
            if let none = ofResponse[column], names.contains("responded") {
                let value = names.contains(column) ? "u.\(column)\(column == "headers" ? "::jsonb" : "")" : none
                return "CASE WHEN u.responded THEN \(value) ELSE i.\(column) END"
            }
            if column == "staged", names.contains("freed") { return "CASE WHEN u.freed THEN '{}' ELSE i.staged END" }
            if column == "history", names.contains("history_end") {
                return """
                    CASE WHEN u.history_end IS NULL THEN coalesce(u.history, i.history)
                    ELSE u.history || least(i.leased_at, t) || ' ' || t - least(i.leased_at, t) || u.history_end END
                    """
            }
            guard names.contains(column) else { return "i.\(column)" }
            return ["spec", "resume", "history"].contains(column) ? "coalesce(u.\(column), i.\(column))" : "u.\(column)"
        }

        /// Writes rows that the transaction has locked.
        static func update(_ writes: [ItemWrite]) -> PostgresStatement { statement(.update, writes.map(Boxed.init)) }

        private static func updateText(_ table: ParameterTable) -> String {
            let names = Set(table.columns.map(\.name))
            let changes = SharedItem.names.map { ($0, value($0, names)) }.filter { $0.1 != "i.\($0.0)" && $0.0 != "id" }
                .map { "\($0.0) = \($0.1)" }
            return """
                UPDATE waybill.item i SET \((changes + ["rev = i.rev + 1"]).joined(separator: ", "))
                FROM \(table.text) WHERE \(table.first("i.id")) AND i.rev = u.rev_before
                """
        }

        /// Moves rows that the transaction has locked to `ended`, if they have the expected lease and revision, and returns
        /// their IDs.
        static func end(_ writes: [ItemWrite]) -> PostgresStatement { statement(.end, writes.map(Boxed.init)) }

        /// Locks rows, and moves them to `ended` unless their lane has failures or is blocked.
        ///
        /// - Parameter writes: The rows.
        /// - Returns: The statements. The last one returns the IDs.
        static func endInCleanLane(_ writes: [Boxed<ItemWrite>]) -> [PostgresStatement] {
            let lanes = Set(writes.map(\.value.item.row.lane)).sorted()
            let end = statement(.endInCleanLane, writes, last: .array(lanes))
            guard writes.count > 1 else { return [end] }
            // In the order of their IDs, whatever plan deletes them.
            let lock = "SELECT FROM waybill.item WHERE id = ANY($1) ORDER BY id FOR UPDATE"
            return [PostgresStatement(lock, .array(writes.map(\.value.item.row.id))), end]
        }

        // The number of an end is ordered by transactions, because readers see transactions as a whole: see `results(after:limit:)`.
        private static func endText(_ table: ParameterTable, _ needsCleanLane: Bool) -> String {
            let names = Set(table.columns.map(\.name))
            let columns = SharedItem.names + SharedItem.otherNames
            let values = columns.map { $0 == "after" ? "NULL::bigint" : value($0, names) }
            // An array that the server makes once, and that is usually empty.
            let clean = """
                 AND i.lane <> ALL(ARRAY(SELECT l.name FROM waybill.lane l
                    WHERE l.name = ANY($\(table.columns.count + 1)::text[])
                    AND (l.blocked IS NOT NULL OR l.failures > 0 OR l.refusals > 0)))
                """
            let needsNoBody = "gone.state <> \(OutboxState.failed.number)"
            let bodyOfOne = "WHERE b.item = (SELECT gone.id FROM gone WHERE \(needsNoBody))"
            let bodiesOfAll = "USING gone WHERE b.item = gone.id AND \(needsNoBody)"
            let countOfOne = "SELECT state, 1, coalesce(size, 0) FROM gone"
            let countOfAll = "SELECT state, count(*), \(sum("size")) FROM gone GROUP BY state"
            return """
                WITH clock AS MATERIALIZED (SELECT waybill.wb_now() AS t),
                gone AS (
                    DELETE FROM waybill.item i USING \(table.text), clock
                    WHERE \(table.first("i.id")) AND i.lease_no = u.lease_before AND i.rev = u.rev_before\(needsCleanLane ? clean : "")
                    RETURNING t, u.number, \(zip(values, columns).map { "\($0) AS \($1)" }.joined(separator: ", "))),
                kept AS (
                    INSERT INTO waybill.ended(day, seq, ended_at, \(columns.joined(separator: ", ")))
                    SELECT floor(t / 86400000.0)::int,
                        (SELECT value FROM waybill.meta WHERE name = 'seq_base')
                            + (pg_current_xact_id()::text::bigint << 20) + number,
                        t, \(columns.joined(separator: ", "))
                    FROM gone),
                counted AS (
                    INSERT INTO waybill.tally_delta(state, items, bytes)
                    \(table.hasOneRow ? countOfOne : countOfAll)),
                bodies AS (
                    DELETE FROM waybill.body b \(table.hasOneRow ? bodyOfOne : bodiesOfAll))
                SELECT id FROM gone
                """
        }

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
