/// The result of a purge.
public struct OutboxPurge: Sendable, Hashable {
    /// The number of removed items.
    public var items: Int
    /// The number of bytes that the outbox takes less on the disk than before; 0 if it has grown meanwhile.
    public var bytes: Int64
}

extension Outbox {
    /// Removes items that ended longer ago than a duration, with their results, acknowledged or not, and returns all
    /// unused space to the file system.
    ///
    /// A run removes items after ``Configuration/resultRetention``; use this to remove them earlier. Any process may call
    /// it, also while another one delivers. New items then grow the file again. A queue that release 0.1 created is
    /// rewritten once, which needs free space of twice its size; meanwhile, the outbox stores nothing.
    ///
    /// - Parameter age: The time since the end of an item.
    /// - Returns: The number of removed items, and of bytes.
    /// - Throws: ``OutboxError``.
    @discardableResult
    public func purge(olderThan age: Duration) async throws(OutboxError) -> OutboxPurge {
        let reply = try await perform(.purge(milliseconds: max(0, age.milliseconds)))
        guard case .purged(let items, let bytes) = reply else { throw Self.unexpectedReply }
        return OutboxPurge(items: items, bytes: bytes)
    }
}
