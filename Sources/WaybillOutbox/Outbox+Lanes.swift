// Lanes.

/// The state of a lane, which is shared by its items.
public struct OutboxLane: Sendable, Hashable, Identifiable {
    /// The name: the server and the identity with which the items are sent.
    public var name: String
    /// The reason why the lane is blocked; `nil` if it is not.
    public var blocked: String?
    /// The time until which nothing is sent, in milliseconds since 1970; it may have passed. `nil` for no such time.
    public var suspendedUntil: Int64?
    /// The limit on the number of deliveries within a period; `nil` for no limit.
    public var rate: LaneRate?
    /// The time from which the limit lets the next delivery start, in milliseconds since 1970; it may have passed.
    /// `nil` without a limit, and before the first delivery.
    public var nextStart: Int64?
    /// The limit on the number of concurrent deliveries and verifications, of all workers of the outbox together; `nil`
    /// for no limit.
    public var maximumConcurrentDeliveries: Int?

    /// The name.
    public var id: String { name }
}

extension Outbox {
    /// Returns the lanes that are blocked or suspended, have had a failure since their last success, or have a limit,
    /// in the order of their names.
    public func lanes() async throws(OutboxError) -> [OutboxLane] {
        guard case .lanes(let lanes) = try await perform(.lanes) else { throw Self.unexpectedReply }
        return lanes.sorted { $0.key < $1.key }.map { name, life in
            OutboxLane(
                name: name, blocked: life.blocked, suspendedUntil: life.suspendedUntil > 0 ? life.suspendedUntil : nil,
                rate: life.rate, nextStart: life.nextStart,
                maximumConcurrentDeliveries: life.maxRunning)
        }
    }

    /// Limits the number of deliveries and verifications of a lane that start within a period.
    ///
    /// The limit is stored, as are its starts, so that a restart grants no additional ones. It applies to all workers of
    /// the outbox together.
    ///
    /// - Parameters:
    ///   - rate: The limit; `nil` to remove it.
    ///   - lane: The name of the lane, as in ``OutboxItem/lane``. The lane need not have items yet.
    /// - Throws: ``OutboxError``.
    public func setRate(_ rate: LaneRate?, lane: String) async throws(OutboxError) {
        _ = try await perform(.setRate(rate, lane: lane))
    }

    /// Limits the number of concurrent deliveries and verifications of a lane, of all workers of the outbox together.
    ///
    /// The limit is stored. It applies in addition to
    /// ``Configuration/maximumConcurrentDeliveriesPerLane``, which is a limit of each worker. If more deliveries are in
    /// progress, they continue, and none starts until enough have ended.
    ///
    /// - Parameters:
    ///   - count: The maximum number, from 1 to 1,000,000; other values are replaced by the nearest of these. `nil`
    ///     removes the limit.
    ///   - lane: The name of the lane, as in ``OutboxItem/lane``. The lane need not have items yet.
    /// - Throws: ``OutboxError``.
    public func setMaximumConcurrentDeliveries(_ count: Int?, lane: String) async throws(OutboxError) {
        _ = try await perform(.setMaximumConcurrentDeliveries(count, lane: lane))
    }
}
