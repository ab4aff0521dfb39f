import Foundation
public import WaybillOutbox

/// The answer of the backend, as the queue has kept it.
public struct Stored: Decodable, Sendable {
    /// The part behind the envelope.
    public struct Content: Decodable, Sendable {
        /// The number under which the side is kept.
        public let NUMBER: Int
        /// SHA-256 of the picture.
        public let SHA256: String
    }

    /// What was stored.
    public let DATA: Content
}

extension OutboxResult {
    /// The answer; `nil` when it was not delivered, or the answer says something else.
    public var stored: Stored? { isDelivered ? try? JSONDecoder().decode(Stored.self, from: body) : nil }

    /// How it ended, for people.
    public var words: String {
        guard let content = stored?.DATA else { return message ?? item.reason ?? item.state.rawValue }
        return "stored as number \(content.NUMBER), sha256 \(content.SHA256.prefix(16))…"
    }
}
