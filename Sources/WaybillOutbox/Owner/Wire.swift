import FoundationEssentials

/// What is asked of whoever has the queue, by this process or by another one through the socket.
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
    case running
    /// Somebody wants to deliver: whoever has the queue and doesn't, gives it back.
    case yield
}

/// What is answered.
package enum OutboxReply: Sendable, Codable {
    case enqueued([EnqueuedItem])
    case controlled(ControlAnswer)
    case items([OutboxItem])
    case detail(StoredDetail?)
    case tally(OutboxTally)
    case results([OutboxResult])
    case number(Int64)
    case lanes([String: LaneLife])
    case running([RunningItem])
    case nothing
    case failed(code: String, message: String)
}

/// An item that is being delivered.
public struct RunningItem: Sendable, Hashable, Codable, Identifiable {
    /// The item.
    public var id: OutboxID
    /// The attempt, from 1.
    public var attempt: Int
    /// Whether it is being found out what became of it, and nothing is sent.
    public var isVerifying: Bool
    /// Bytes that the server's side acknowledged.
    public var acknowledged: Int64
    /// All bytes, once they are known.
    public var total: Int64?
    /// Acknowledged bytes per second.
    public var bytesPerSecond: Double
    /// The batch it belongs to.
    public var batch: String?
}

/// Frames on the socket: four bytes that say how many follow, largest first, then JSON.
enum Wire {
    static let largestFrame = 64 * 1_048_576

    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let json = try JSONEncoder().encode(value)
        guard json.count <= largestFrame else {
            throw OutboxError(.storageFailed, "too much at once: \(json.count) bytes")
        }
        let count = UInt32(json.count)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> UInt32($0)) } + json
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
