import FoundationEssentials
import Waybill

/// The columns of an item that events use.
package struct ItemRow: Sendable {
    package var id: Int64
    package var lane: String
    package var life: ItemLife
    package var deduplicationKey: String?
    /// The item with the same deduplication key that has to end first.
    package var after: Int64?
    package var size: Int64?
    package var endedAt: Int64?
    package var sequence: Int64?
    /// The token of the lease holder.
    package var token: String?
    package var history = AttemptHistory()
    package var keyPeriod: Int64?

    package init(id: Int64, lane: String, life: ItemLife) {
        self.id = id
        self.lane = lane
        self.life = life
    }

    /// Handles an event; the caller saves the row.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - now: The time of the store.
    ///   - token: The token of the worker that leases the item with this event.
    /// - Returns: The effects of the event.
    package mutating func handle(_ event: ItemLife.Event, at now: Int64, token: String? = nil) -> [ItemLife.Effect] {
        let wasTerminal = life.state.isTerminal
        let effects = life.handle(event, at: now)
        if life.state.isTerminal != wasTerminal { endedAt = life.state.isTerminal ? now : nil }
        let isLeased = life.state == .leased || life.isVerifying
        self.token = isLeased ? token ?? self.token : nil
        return effects
    }

    static let columns = """
        id, lane, state, attempts, lease_no, verifying, asked, run_at, first_at, doubtful, vain, reason, max_attempts, \
        deadline, on_unknown, on_change, dedupe_key, after, size, ended_at, seq, token, not_before, \
        leased_at, history, key_period
        """

    init(_ row: PreparedStatement) {
        id = row[0]
        lane = row[1]
        var life = ItemLife(
            maxAttempts: row[12], deadline: row[13], onUnknown: UnknownPolicy(rawValue: row[14]) ?? .fail,
            onChange: SourceChangePolicy(rawValue: row[15]) ?? .fail)
        life.state = OutboxState(number: row[2])
        life.attempts = row[3]
        life.leaseNumber = row[4]
        life.isVerifying = row[5]
        life.pendingRequest = ItemLife.PendingRequest(rawValue: row[6]) ?? .nothing
        life.runAt = row[7]
        life.firstAttemptAt = row[8]
        life.isDoubtful = row[9]
        life.failedVerifications = row[10]
        life.reason = row[11]
        life.notBefore = row[22]
        life.leasedAt = row[23]
        self.life = life
        deduplicationKey = row[16]
        after = row[17]
        size = row[18]
        endedAt = row[19]
        sequence = row[20]
        token = row[21]
        history = AttemptHistory(text: row[24])
        keyPeriod = row[25]
    }
}

/// A row with the columns that events do not use.
package struct FullItemRow: Sendable {
    package var row: ItemRow
    package var kind: String
    package var spec: String
    package var idempotencyKey: String
    package var priority: Int
    package var batch: String?
    package var tags: [String]
    package var resume: [UInt8]?
    package var createdAt: Int64
    /// The only machine that can deliver the item.
    package var host: String?

    package init(
        _ row: ItemRow, kind: String, spec: String, idempotencyKey: String, priority: Int, batch: String?,
        tags: [String], resume: [UInt8]?, createdAt: Int64
    ) {
        self.row = row
        self.kind = kind
        self.spec = spec
        self.idempotencyKey = idempotencyKey
        self.priority = priority
        self.batch = batch
        self.tags = tags
        self.resume = resume
        self.createdAt = createdAt
    }

    static let columns = "\(ItemRow.columns), kind, spec, idem_key, priority, batch, tags, resume, created_at"

    /// The columns of a stored response; queries append them after ``columns``.
    static let responseColumns = "status, headers, body, message, changed_after"

    init(_ row: PreparedStatement) {
        self.row = ItemRow(row)
        kind = row[26]
        spec = row[27]
        idempotencyKey = row[28]
        priority = row[29]
        batch = row[30]
        tags = Self.split(row[31])
        resume = row[32]
        createdAt = row[33]
    }

    /// The public representation of the item.
    package var item: OutboxItem {
        OutboxItem(
            id: OutboxID(rawValue: row.id), kind: kind, lane: row.lane, state: row.life.state, reason: row.life.reason,
            attempts: row.life.attempts, isDoubtful: row.life.isDoubtful, batch: batch, tags: tags,
            priorityNumber: priority,
            deduplicationKey: row.deduplicationKey, idempotencyKey: idempotencyKey, size: row.size,
            createdAt: createdAt,
            endedAt: row.endedAt, dueAt: row.life.dueAt, host: host)
    }

    /// Joins tags, each between two separators, so that a single tag can be searched for.
    static func join(_ tags: [String]) -> String {
        tags.isEmpty
            ? "" : separator + tags.map { $0.replacing(separator, with: " ") }.joined(separator: separator) + separator
    }

    private static func split(_ text: String) -> [String] {
        text.isEmpty ? [] : text.split(separator: separator).map(String.init)
    }

    static let separator = "\u{1F}"
}

extension LeasedItem {
    /// - Parameters:
    ///   - item: The row, after the lease.
    ///   - effect: The effect of the lease.
    ///   - now: The time of the lease.
    package init(_ item: FullItemRow, _ effect: ItemLife.Effect, at now: Int64) {
        self.init(
            id: item.row.id, kind: item.kind, lane: item.row.lane, spec: item.spec, life: item.row.life,
            effect: effect, idempotencyKey: item.idempotencyKey, resume: item.resume, size: item.row.size,
            batch: item.batch, sinceFirstAttempt: item.row.life.sinceFirstAttempt(at: now))
    }
}

extension StoredDetail {
    package init(_ found: FullItemRow, _ response: StoredResponse) {
        self.init(
            item: found.item, spec: found.spec, sequence: found.row.sequence, response: response,
            deadline: found.row.life.deadline, maxAttempts: found.row.life.maxAttempts,
            onUnknown: found.row.life.onUnknown, onChange: found.row.life.onChange,
            attempts: found.row.history.attempts)
    }
}

extension OutboxResult {
    package init(_ found: FullItemRow, _ response: StoredResponse) {
        self.init(
            sequence: found.row.sequence ?? 0, item: found.item, status: response.status, headers: response.headers,
            body: response.body, message: response.message,
            sourceChangedAfterwards: response.sourceChangedAfterwards)
    }
}

extension StoredResponse {
    /// Reads ``FullItemRow/responseColumns``, which follow the columns of the item.
    init(_ row: PreparedStatement) {
        self.init()
        status = row[34]
        setHeaders(row[35])
        body = Data((row[36] as [UInt8]?) ?? [])
        message = row[37]
        sourceChangedAfterwards = row[38]
    }

    /// The headers as stored: JSON, or `nil` if there are none.
    package var headersText: String? {
        get throws {
            headers.isEmpty ? nil : try String(decoding: JSONEncoder().encode(headers), as: UTF8.self)
        }
    }

    /// Replaces the headers by stored ones.
    package mutating func setHeaders(_ text: String?) {
        headers = text.flatMap { try? JSONDecoder().decode([OutboxResult.Header].self, from: Data($0.utf8)) } ?? []
    }
}
