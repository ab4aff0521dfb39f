public import Waybill

/// All that is kept of an item, for somebody who looks into it.
public struct OutboxDetails: Sendable {
    /// The item.
    public var item: OutboxItem
    /// What it is, in a line without secrets: method, URL without its query, and what goes there. `nil` for a kind that
    /// this program doesn't know.
    public var summary: String?
    /// The files that it reads when it is delivered.
    public var files: [DurableFile]
    /// The last answer, or what went wrong in the last attempt; its sequence is 0 until the item has ended.
    public var last: OutboxResult
    /// After this time no attempt is begun, in milliseconds since 1970.
    public var deadline: Int64?
    /// The most attempts.
    public var maxAttempts: Int
    /// What is done when nobody can say whether it was delivered.
    public var onUnknown: UnknownPolicy
    /// What is done when a file is not what it was.
    public var onChange: SourceChangePolicy
}

/// An item as it is written down.
package struct StoredDetail: Sendable, Codable {
    package var item: OutboxItem
    package var spec: String
    package var sequence: Int64?
    package var answer: KeptAnswer
    package var deadline: Int64?
    package var maxAttempts: Int
    package var onUnknown: UnknownPolicy
    package var onChange: SourceChangePolicy
}

extension Outbox {
    /// All that is kept of an item.
    ///
    /// - Returns: `nil` if there is none, or none any more.
    public func details(of id: OutboxID) async throws(OutboxError) -> OutboxDetails? {
        guard case .detail(let found) = try await perform(.detail(id.rawValue)) else { throw Self.nonsense }
        guard let found else { return nil }
        let upload = try? registry.decode(found.item.kind, found.spec)
        let answer = found.answer
        return OutboxDetails(
            item: found.item, summary: upload.map { "\($0)" }, files: upload?.files ?? [],
            last: OutboxResult(
                sequence: found.sequence ?? 0, item: found.item, status: answer.status, headers: answer.headers,
                body: answer.body, message: answer.message, sourceChangedAfterwards: answer.sourceChangedAfterwards),
            deadline: found.deadline, maxAttempts: found.maxAttempts, onUnknown: found.onUnknown,
            onChange: found.onChange)
    }

    /// Has the servers asked once more about items of which nobody knew whether they were delivered: those that are
    /// paused for it, those that failed for it, and those that wait to be asked about.
    ///
    /// - Returns: How many items are not what they were.
    @discardableResult
    public func verify(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.verify, selection)
    }
}
