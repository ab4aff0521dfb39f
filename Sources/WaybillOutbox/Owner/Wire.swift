import FoundationEssentials

/// A request to the owner of the queue, in this process or through the socket.
package enum OutboxRequest: Sendable, Codable {
    case enqueue([NewItem])
    case control(ItemLife.Event, ItemSelection)
    case items(ItemSelection, after: Int64, limit: Int)
    case detail(Int64)
    case tally(batch: String?)
    case results(after: Int64, limit: Int)
    case mark(String)
    case raise(String, to: Int64)
    case lanes
    case unblock(String)
    case setRate(LaneRate?, lane: String)
    case setMaximumConcurrentDeliveries(Int?, lane: String)
    case purge(milliseconds: Int64)
    case backUp(String)
    case running
    /// Another process wants to deliver: an owner that does not deliver releases the queue.
    case yield
}

extension OutboxRequest {
    /// The time within which the owner responds.
    var timeLimit: Duration {
        switch self {
        // Depends on the number of items.
        case .purge, .backUp: .seconds(3_600)
        default: .seconds(120)
        }
    }
}

/// The owner's reply to a request.
package enum OutboxReply: Sendable, Codable {
    case enqueued([EnqueuedItem])
    case controlled(ControlResult)
    case items([OutboxItem])
    case detail(StoredDetail?)
    case tally(OutboxTally)
    case results([OutboxResult])
    case number(Int64)
    case purged(items: Int, bytes: Int64)
    case backedUp(OutboxBackup)
    case lanes([String: LaneLife])
    case running([RunningItem])
    case nothing
    case failed(code: String, message: String)
}

/// A delivery in progress.
public struct RunningItem: Sendable, Hashable, Codable, Identifiable {
    /// The ID of the item.
    public var id: OutboxID
    /// The number of the attempt, from 1.
    public var attempt: Int
    /// Whether the outcome of the item is being verified, without sending it.
    public var isVerifying: Bool
    /// The number of bytes acknowledged by the peer. 0 for a delivery of another machine, which does not report it.
    public var acknowledged: Int64
    /// The total number of bytes, once it is known.
    public var total: Int64?
    /// The rate of acknowledged bytes per second.
    public var bytesPerSecond: Double
    /// The batch of the item.
    public var batch: String?
}

extension RunningItem {
    /// Creates the delivery of another machine from its item.
    init(_ item: OutboxItem) {
        self.init(
            id: item.id, attempt: item.attempts, isVerifying: false, acknowledged: 0, total: item.size,
            bytesPerSecond: 0, batch: item.batch)
    }
}

/// The frames of the protocol: a four-byte length in big-endian order, followed by JSON.
enum Wire {
    static let largestFrame = 64 * 1_048_576

    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let json = try JSONEncoder().encode(value)
        guard json.count <= largestFrame else {
            throw OutboxError(
                .storageFailed, "The message of \(json.count) bytes is too large. Process fewer items at a time.")
        }
        let count = UInt32(json.count)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> UInt32($0)) } + json
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
