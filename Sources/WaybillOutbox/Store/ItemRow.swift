import FoundationEssentials
import Waybill

/// The columns of an item that events use.
struct ItemRow {
    var id: Int64
    var lane: String
    var life: ItemLife
    var deduplicationKey: String?
    var after: Int64?
    var size: Int64?
    var endedAt: Int64?
    var sequence: Int64?
    /// The token of the lease holder.
    var token: String?

    static let columns = """
        id, lane, state, attempts, lease_no, verifying, asked, run_at, first_at, doubtful, vain, reason, max_attempts, \
        deadline, on_unknown, on_change, dedupe_key, after, size, ended_at, seq, token
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
        self.life = life
        deduplicationKey = row[16]
        after = row[17]
        size = row[18]
        endedAt = row[19]
        sequence = row[20]
        token = row[21]
    }
}

/// A row with the columns that events do not use.
struct FullItemRow {
    var row: ItemRow
    var kind: String
    var spec: String
    var idempotencyKey: String
    var priority: Int
    var batch: String?
    var tags: [String]
    var resume: [UInt8]?
    var createdAt: Int64

    static let columns = "\(ItemRow.columns), kind, spec, idem_key, priority, batch, tags, resume, created_at"

    /// The columns of a stored response; queries append them after ``columns``.
    static let responseColumns = "status, headers, body, message, changed_after"

    init(_ row: PreparedStatement) {
        self.row = ItemRow(row)
        kind = row[22]
        spec = row[23]
        idempotencyKey = row[24]
        priority = row[25]
        batch = row[26]
        tags = Self.split(row[27])
        resume = row[28]
        createdAt = row[29]
    }

    /// The public representation of the item.
    var item: OutboxItem {
        OutboxItem(
            id: OutboxID(rawValue: row.id), kind: kind, lane: row.lane, state: row.life.state, reason: row.life.reason,
            attempts: row.life.attempts, isDoubtful: row.life.isDoubtful, batch: batch, tags: tags,
            priorityNumber: priority,
            deduplicationKey: row.deduplicationKey, idempotencyKey: idempotencyKey, size: row.size,
            createdAt: createdAt,
            endedAt: row.endedAt, dueAt: row.life.state == .waiting ? row.life.runAt : nil)
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

extension StoredResponse {
    /// Reads ``FullItemRow/responseColumns``, which follow the columns of the item.
    init(_ row: PreparedStatement) {
        self.init()
        status = row[30]
        headers =
            (row[31] as String?).flatMap {
                try? JSONDecoder().decode([OutboxResult.Header].self, from: Data($0.utf8))
            } ?? []
        body = Data((row[32] as [UInt8]?) ?? [])
        message = row[33]
        sourceChangedAfterwards = row[34]
    }

    /// The headers as stored in the file.
    var headersText: String? {
        get throws {
            headers.isEmpty ? nil : try String(decoding: JSONEncoder().encode(headers), as: UTF8.self)
        }
    }
}
