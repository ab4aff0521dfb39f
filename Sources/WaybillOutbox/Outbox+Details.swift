public import Waybill

/// The complete stored state of an item, for diagnosis.
public struct OutboxDetails: Sendable {
    /// The item.
    public var item: OutboxItem
    /// A one-line description without secrets: method, URL without its query, and content. `nil` for a type of upload
    /// that this program does not know.
    public var summary: String?
    /// The files that are read during delivery.
    public var files: [DurableFile]
    /// The response or error of the last attempt; its sequence number is 0 until the item has ended.
    public var last: OutboxResult
    /// The newest attempts, up to 20, the oldest first.
    public var attempts: [OutboxAttempt]
    /// The time after which no attempt is started, in milliseconds since 1970.
    public var deadline: Int64?
    /// The maximum number of attempts.
    public var maxAttempts: Int
    /// The policy for an unknown outcome.
    public var onUnknown: UnknownPolicy
    /// The policy for a changed source file.
    public var onChange: SourceChangePolicy
}

/// The stored state of an item, as sent between processes.
package struct StoredDetail: Sendable, Codable {
    package var item: OutboxItem
    package var spec: String
    package var sequence: Int64?
    package var response: StoredResponse
    package var deadline: Int64?
    package var maxAttempts: Int
    package var onUnknown: UnknownPolicy
    package var onChange: SourceChangePolicy
    /// The newest attempts; `nil` from a process of an older release.
    package var attempts: [OutboxAttempt]?

    /// The coding keys of release 0.1, which are used between processes.
    private enum CodingKeys: String, CodingKey {
        case item, spec, sequence, deadline, maxAttempts, onUnknown, onChange, attempts
        case response = "answer"
    }
}

extension Outbox {
    /// Returns the complete stored state of an item.
    ///
    /// - Returns: `nil` if the item does not exist or was removed.
    public func details(of id: OutboxID) async throws(OutboxError) -> OutboxDetails? {
        guard case .detail(let found) = try await perform(.detail(id.rawValue)) else { throw Self.unexpectedReply }
        guard let found else { return nil }
        let upload = try? registry.decode(found.item.kind, found.spec)
        let response = found.response
        return OutboxDetails(
            item: found.item, summary: upload.map { "\($0)" }, files: upload?.files ?? [],
            last: OutboxResult(
                sequence: found.sequence ?? 0, item: found.item, status: response.status, headers: response.headers,
                body: response.body, message: response.message,
                sourceChangedAfterwards: response.sourceChangedAfterwards),
            attempts: found.attempts ?? [], deadline: found.deadline, maxAttempts: found.maxAttempts,
            onUnknown: found.onUnknown,
            onChange: found.onChange)
    }

    /// Verifies items with an unknown outcome with their servers again: items that are paused or failed for this
    /// reason, and items that wait for verification.
    ///
    /// - Returns: The number of items that changed.
    @discardableResult
    public func verify(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.verify, selection)
    }
}
