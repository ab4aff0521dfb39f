#if Shared
    import FoundationEssentials
    import Waybill
    import WaybillOutbox

    /// A row of `item` or `ended`, with all its columns.
    struct SharedItem: Sendable {
        var full: FullItemRow
        /// The names of the staged files that the item still needs.
        var staged: [String]
        /// The number of changes of the row.
        var revision: Int64
        var response: StoredResponse

        var row: ItemRow { full.row }
        var life: ItemLife { full.row.life }

        /// The columns that both tables have, in the order in which they are read.
        static let names = namesForLease + ["status", "headers", "body", "message", "changed_after"]

        /// Those that a worker needs: all but the last response.
        static let namesForLease = [
            "id", "lane", "state", "attempts", "lease_no", "verifying", "asked", "run_at", "first_at", "doubtful",
            "vain",
            "reason", "max_attempts", "deadline", "on_unknown", "on_change", "dedupe_key", "after", "size", "token",
            "kind",
            "spec", "idem_key", "priority", "batch", "tags", "resume", "created_at", "staged", "rev", "host",
            "not_before", "leased_at", "history", "key_period",
        ]

        /// Columns of `item` that are copied to `ended`, but are not read.
        static let otherNames = ["rank"]

        /// The list for `SELECT` from an alias of `item`.
        static func ofItem(_ alias: String) -> String {
            (names.map { "\(alias).\($0)" } + ["NULL::int8 AS ended_at", "NULL::int8 AS seq"]).joined(separator: ", ")
        }

        /// The list for `SELECT` from an alias of `ended`.
        static func ofEnded(_ alias: String) -> String {
            (names + ["ended_at", "seq"]).map { "\(alias).\($0)" }.joined(separator: ", ")
        }

        static let columnCount = names.count + 2

        /// - Parameter values: The columns of ``ofItem(_:)`` or ``ofEnded(_:)``, or those of ``namesForLease``.
        init(_ values: some Sequence<PostgresValue>) {
            var next = values.makeIterator()
            func number() -> Int64? { next.next()?.integer }
            func whole() -> Int { Int(number() ?? 0) }
            func flag() -> Bool { next.next()?.bool ?? false }
            func text() -> String? { next.next()?.text }
            func texts() -> [String] { next.next()?.elements?.compactMap(\.text) ?? [] }
            var row = ItemRow(id: number() ?? 0, lane: text() ?? "", life: ItemLife())
            row.life.state = OutboxState(number: whole())
            row.life.attempts = whole()
            row.life.leaseNumber = number() ?? 0
            row.life.isVerifying = flag()
            row.life.pendingRequest = ItemLife.PendingRequest(rawValue: whole()) ?? .nothing
            row.life.runAt = number() ?? 0
            row.life.firstAttemptAt = number()
            row.life.isDoubtful = flag()
            row.life.failedVerifications = whole()
            row.life.reason = text()
            row.life.maxAttempts = whole()
            row.life.deadline = number()
            row.life.onUnknown = UnknownPolicy(rawValue: text() ?? "") ?? .fail
            row.life.onChange = SourceChangePolicy(rawValue: text() ?? "") ?? .fail
            row.deduplicationKey = text()
            row.after = number()
            row.size = number()
            row.token = text()
            full = FullItemRow(
                row, kind: text() ?? "", spec: text() ?? "", idempotencyKey: text() ?? "", priority: whole(),
                batch: text(), tags: texts(), resume: next.next()?.bytes, createdAt: number() ?? 0)
            staged = texts()
            revision = number() ?? 0
            full.host = text()
            full.row.life.notBefore = number()
            full.row.life.leasedAt = number()
            full.row.history = AttemptHistory(text: text())
            full.row.keyPeriod = number()
            response = StoredResponse()
            response.status = number().map(Int.init)
            response.setHeaders(text())
            response.body = Data(next.next()?.bytes ?? [])
            response.message = text()
            response.sourceChangedAfterwards = flag()
            full.row.endedAt = number()
            full.row.sequence = number()
        }

        /// The row as the store keeps it until the end of its lease, which does not need the specification.
        consuming func held() -> Boxed<SharedItem> {
            full.spec = ""
            return Boxed(self)
        }

        /// - Parameters:
        ///   - item: The new item.
        ///   - id: Its ID.
        ///   - now: The time of its insertion.
        init(_ item: NewItem, id: Int64, now: Int64) {
            var row = ItemRow(id: id, lane: item.lane, life: item.life(at: now))
            row.deduplicationKey = item.deduplicationKey
            row.keyPeriod = item.keyPeriod
            row.size = item.size
            full = FullItemRow(
                row, kind: item.kind, spec: item.spec, idempotencyKey: item.idempotencyKey, priority: item.priority,
                batch: item.batch, tags: item.tags, resume: nil, createdAt: now)
            full.host = item.host
            staged = item.staged
            revision = 0
            response = StoredResponse()
        }
    }

    extension String {
        /// The text without the character NUL, which PostgreSQL does not store.
        var withoutNUL: String { containsNUL ? replacing("\0", with: "\u{FFFD}") : self }
    }
#endif
