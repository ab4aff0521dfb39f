public import FoundationEssentials
public import Waybill

/// The number of an item. Later items have larger numbers, and none is used twice.
public struct OutboxID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int64

    /// The id of a number.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The digits.
    public var description: String { "\(rawValue)" }
    /// By number.
    public static func < (lhs: OutboxID, rhs: OutboxID) -> Bool { lhs.rawValue < rhs.rawValue }

    /// Reads a number.
    public init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Writes the number.
    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(rawValue)
    }
}

/// An item as it stands.
public struct OutboxItem: Sendable, Codable, Identifiable {
    /// Its number.
    public var id: OutboxID
    /// What it is: ``/Waybill/DurableUpload/kind``.
    public var kind: String
    /// Whom it goes to, as whom.
    public var lane: String
    /// Where it stands.
    public var state: OutboxState
    /// Why it stands there: the code of the last failure, `outcomeUnknown`, `deadlinePassed`; `nil` when all went well.
    public var reason: String?
    /// Attempts that count.
    public var attempts: Int
    /// Whether it may have been delivered and nobody could say.
    public var isDoubtful: Bool
    /// The batch it belongs to.
    public var batch: String?
    /// The names that it was given.
    public var tags: [String]
    /// Which items are sent first.
    public var priority: UploadPriority {
        get { UploadPriority(number: priorityNumber) }
        set { priorityNumber = newValue.number }
    }
    var priorityNumber: Int
    /// The key that makes it the same as another.
    public var deduplicationKey: String?
    /// The key that goes along with each attempt.
    public var idempotencyKey: String
    /// The bytes of its files, as far as they are known.
    public var size: Int64?
    /// When it was handed over, in milliseconds since 1970.
    public var createdAt: Int64
    /// When it ended.
    public var endedAt: Int64?
    /// When the next attempt is due, while it waits.
    public var dueAt: Int64?

    /// The names that release 0.1 uses between processes.
    private enum CodingKeys: String, CodingKey {
        case id, kind, lane, state, reason, attempts, isDoubtful, batch, tags, idempotencyKey, size, createdAt, endedAt,
            dueAt
        case priorityNumber = "priority"
        case deduplicationKey = "dedupeKey"
    }
}

/// How an item ended, kept until it is acknowledged and for thirty days.
public struct OutboxResult: Sendable, Codable {
    /// Its place among the ends of all items: what ``Outbox/acknowledge(through:)`` takes.
    public var sequence: Int64
    /// The item.
    public var item: OutboxItem
    /// The status of the last answer, if there was one.
    public var status: Int?
    /// Its header fields, without cookies.
    public var headers: [Header]
    /// The beginning of its body, at most 64 KiB.
    public var body: Data
    /// What went wrong, for people.
    public var message: String?
    /// Whether a source file was changed between its last byte and the answer. What was sent is what was handed over.
    public var sourceChangedAfterwards: Bool

    /// A header field.
    public struct Header: Sendable, Hashable, Codable {
        /// The name, as the server wrote it.
        public var name: String
        /// The value.
        public var value: String
    }

    /// Whether it was delivered.
    public var isDelivered: Bool { item.state == .done }
    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// What of an answer is kept with an item.
package struct KeptAnswer: Sendable, Codable, Hashable {
    package var status: Int?
    package var headers: [OutboxResult.Header] = []
    package var body = Data()
    package var message: String?
    package var sourceChangedAfterwards = false

    package init() {}

    package init(_ response: UploadResponse) {
        status = response.status.code
        headers = response.headers.filter { $0.name != .setCookie }.prefix(64).map {
            OutboxResult.Header(name: $0.name.rawName, value: $0.value)
        }
        body = Data(response.body.prefix(65_536))
    }

    package init(_ error: UploadError) {
        if let response = error.response { self.init(response) } else { self.init() }
        message = error.message
    }
}

extension UploadPriority {
    /// The number in the queue file: 1 to 9 in steps of two, the most urgent first. Release 0.1 stored 0 to 9.
    package var number: Int { 5 - 2 * rawValue }

    package init(number: Int) {
        self = UploadPriority(rawValue: (5 - min(max(number, 1), 9)) / 2) ?? .normal
    }
}
