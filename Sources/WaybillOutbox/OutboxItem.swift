public import FoundationEssentials
public import Waybill

/// The ID of an item. Later items have larger IDs, and no ID is reused.
public struct OutboxID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int64

    /// Creates an ID from a number.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The decimal digits of the number.
    public var description: String { "\(rawValue)" }
    /// Compares IDs by number.
    public static func < (lhs: OutboxID, rhs: OutboxID) -> Bool { lhs.rawValue < rhs.rawValue }

    /// Decodes the number.
    public init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Encodes the number.
    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(rawValue)
    }
}

/// A snapshot of an item.
public struct OutboxItem: Sendable, Codable, Identifiable {
    /// The ID of the item.
    public var id: OutboxID
    /// The type of upload: ``/Waybill/DurableUpload/kind``.
    public var kind: String
    /// The lane: the server and the identity with which the item is sent.
    public var lane: String
    /// The current state.
    public var state: OutboxState
    /// The reason for the state: the code of the last failure, `outcomeUnknown` or `deadlinePassed`; `nil` if there was
    /// no failure.
    public var reason: String?
    /// The number of attempts that count.
    public var attempts: Int
    /// Whether the item may have been delivered, but its outcome is unknown.
    public var isDoubtful: Bool
    /// The batch of the item.
    public var batch: String?
    /// The tags of the item.
    public var tags: [String]
    /// The priority of the item.
    public var priority: UploadPriority {
        get { UploadPriority(number: priorityNumber) }
        set { priorityNumber = newValue.number }
    }
    var priorityNumber: Int
    /// The key that identifies duplicates.
    public var deduplicationKey: String?
    /// The idempotency key that is sent with each attempt.
    public var idempotencyKey: String
    /// The total size of the files in bytes, as far as it is known.
    public var size: Int64?
    /// The time at which the item was enqueued, in milliseconds since 1970.
    public var createdAt: Int64
    /// The time at which the item ended.
    public var endedAt: Int64?
    /// The time of the next attempt while the item waits.
    public var dueAt: Int64?
    /// The only machine that can deliver the item, because it has its files; `nil` if every worker can. See
    /// ``EnqueueOptions/allowsPinning``.
    public var host: String?

    /// The coding keys of release 0.1, which are used between processes.
    private enum CodingKeys: String, CodingKey {
        case id, kind, lane, state, reason, attempts, isDoubtful, batch, tags, idempotencyKey, size, createdAt, endedAt,
            dueAt, host
        case priorityNumber = "priority"
        case deduplicationKey = "dedupeKey"
    }
}

/// The result of an item, kept for ``Outbox/Configuration/resultRetention``.
public struct OutboxResult: Sendable, Codable {
    /// The sequence number among the results of all items, for ``Outbox/acknowledge(through:)``.
    public var sequence: Int64
    /// The item.
    public var item: OutboxItem
    /// The status of the last response, if there was one.
    public var status: Int?
    /// The header fields of the response, without cookies.
    public var headers: [Header]
    /// The beginning of the response body, at most 64 KiB.
    public var body: Data
    /// A description of the error for people.
    public var message: String?
    /// Whether a source file changed between its last byte and the response. The upload itself has the content as
    /// enqueued.
    public var sourceChangedAfterwards: Bool

    /// A header field.
    public struct Header: Sendable, Hashable, Codable {
        /// The name, as the server wrote it.
        public var name: String
        /// The value.
        public var value: String
    }

    /// Whether the item was delivered.
    public var isDelivered: Bool { item.state == .done }
    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// The part of a response that is stored with an item.
package struct StoredResponse: Sendable, Codable, Hashable {
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
    /// The number in the queue file: 1 to 9 in steps of two, lowest for the most urgent. Release 0.1 stored 0 to 9.
    package var number: Int { 5 - 2 * rawValue }

    package init(number: Int) {
        self = UploadPriority(rawValue: (5 - min(max(number, 1), 9)) / 2) ?? .normal
    }
}
