import FoundationEssentials
import Waybill

/// A row of the table, as far as events need it.
struct ItemRow {
    var id: Int64
    var kind: String
    var lane: String
    var spec: String
    var idempotencyKey: String
    var life: ItemLife
    var priority: Int
    var batch: String?
    var tags: [String]
    var dedupeKey: String?
    var after: Int64?
    var size: Int64?
    var resume: [UInt8]?
    var createdAt: Int64
    var endedAt: Int64?
    var sequence: Int64?
    /// Who holds the lease.
    var token: String?

    static let columns = """
        id, kind, lane, spec, idem_key, state, attempts, lease_no, verifying, asked, run_at, first_at, doubtful, vain, \
        reason, max_attempts, deadline, on_unknown, on_change, priority, batch, tags, dedupe_key, after, size, resume, \
        created_at, ended_at, seq, token
        """

    /// The columns of what is kept of an answer, for readers who put them behind ``columns``.
    static let answerColumns = "status, headers, body, message, changed_after"

    init(_ row: Prepared) {
        id = row[0]
        kind = row[1]
        lane = row[2]
        spec = row[3]
        idempotencyKey = row[4]
        var life = ItemLife(
            maxAttempts: row[15], deadline: row[16], onUnknown: UnknownPolicy(rawValue: row[17]) ?? .fail,
            onChange: SourceChangePolicy(rawValue: row[18]) ?? .fail)
        life.state = OutboxState(number: row[5])
        life.attempts = row[6]
        life.leaseNumber = row[7]
        life.isVerifying = row[8]
        life.asked = ItemLife.Asked(rawValue: row[9]) ?? .nothing
        life.runAt = row[10]
        life.firstAttemptAt = row[11]
        life.isDoubtful = row[12]
        life.vainQuestions = row[13]
        life.reason = row[14]
        self.life = life
        priority = row[19]
        batch = row[20]
        tags = Self.split(row[21])
        dedupeKey = row[22]
        after = row[23]
        size = row[24]
        resume = row[25]
        createdAt = row[26]
        endedAt = row[27]
        sequence = row[28]
        token = row[29]
    }

    /// What users see of it.
    var item: OutboxItem {
        OutboxItem(
            id: OutboxID(rawValue: id), kind: kind, lane: lane, state: life.state, reason: life.reason,
            attempts: life.attempts, isDoubtful: life.isDoubtful, batch: batch, tags: tags, priority: priority,
            dedupeKey: dedupeKey, idempotencyKey: idempotencyKey, size: size, createdAt: createdAt, endedAt: endedAt,
            dueAt: life.state == .waiting ? life.runAt : nil)
    }

    /// Names in one text, each between two separators, so that one can be looked for.
    static func join(_ tags: [String]) -> String {
        tags.isEmpty
            ? "" : separator + tags.map { $0.replacing(separator, with: " ") }.joined(separator: separator) + separator
    }

    private static func split(_ text: String) -> [String] {
        text.isEmpty ? [] : text.split(separator: separator).map(String.init)
    }

    static let separator = "\u{1F}"
}

extension KeptAnswer {
    /// Reads ``ItemRow/answerColumns``, which stand behind those of the item.
    init(_ row: Prepared) {
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

    /// The headers as they stand in the file.
    var headersText: String? {
        get throws {
            headers.isEmpty ? nil : try String(decoding: JSONEncoder().encode(headers), as: UTF8.self)
        }
    }
}
