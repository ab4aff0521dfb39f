import Foundation
public import WaybillOutbox

/// The response of the backend, as the queue recorded it.
public struct StoredResponse: Decodable, Sendable {
    /// The payload of the envelope.
    public struct Content: Decodable, Sendable {
        /// The number of the stored side.
        public let NUMBER: Int
        /// The SHA-256 of the image.
        public let SHA256: String
    }

    /// The payload.
    public let DATA: Content
}

extension OutboxResult {
    /// The response; `nil` if the item was not delivered or the response has another form.
    public var storedResponse: StoredResponse? {
        isDelivered ? try? JSONDecoder().decode(StoredResponse.self, from: body) : nil
    }

    /// A readable description of the result.
    public var summary: String {
        guard let content = storedResponse?.DATA else { return message ?? item.reason ?? item.state.rawValue }
        return "stored as number \(content.NUMBER), sha256 \(content.SHA256.prefix(16))…"
    }
}
