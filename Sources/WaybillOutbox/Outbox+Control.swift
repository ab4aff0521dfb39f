public import WaybillCore

// What can be asked of items, and done to them.

extension Outbox {
    /// Pauses items. One that is being sent is stopped; if it can't be said whether it had arrived, that is found out first.
    ///
    /// - Returns: How many items are not what they were.
    @discardableResult
    public func pause(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.pause, selection)
    }

    /// Lets paused items go on. One of which nobody knew whether it was delivered is verified once more.
    @discardableResult
    public func resume(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.resume, selection)
    }

    /// Calls items off.
    @discardableResult
    public func cancel(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.cancel, selection)
    }

    /// Has items that failed, wait or are paused sent from the start, also those that may have been delivered: that is
    /// your decision.
    @discardableResult
    public func retry(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.retry, selection)
    }

    /// Opens a lane at once that was blocked by an expired credential or a certificate. By itself, it is tried with one item
    /// after half a minute, and then less often.
    public func unblock(lane: String) async throws(OutboxError) { _ = try await perform(.unblock(lane)) }

    /// The lanes that are blocked, by name, with the reason.
    public func blockedLanes() async throws(OutboxError) -> [String: String] {
        guard case .lanes(let lanes) = try await perform(.lanes) else { throw Self.nonsense }
        return lanes.compactMapValues(\.blocked)
    }

    /// An item.
    ///
    /// - Returns: `nil` if there is none, or none any more.
    public func item(_ id: OutboxID) async throws(OutboxError) -> OutboxItem? {
        try await page(.item(id), after: nil, limit: 1).first
    }

    /// Items in the order of their numbers, read in pages while they are listed: a hundred thousand take no more memory than
    /// a few hundred.
    public func items(_ selection: ItemSelection = .all) -> AsyncValues<OutboxItem, OutboxError> {
        AsyncValues { [self] in
            let pageSize = 500
            var page: [OutboxItem] = []
            var last: OutboxID?
            var isLastPage = false
            return { () async throws(OutboxError) in
                if page.isEmpty {
                    guard !isLastPage else { return nil }
                    page = try await self.page(selection, after: last, limit: pageSize).reversed()
                    isLastPage = page.count < pageSize
                }
                guard let item = page.popLast() else { return nil }
                last = item.id
                return item
            }
        }
    }

    /// How many items are in which state.
    public func tally(batch: String? = nil) async throws(OutboxError) -> OutboxTally {
        guard case .tally(let tally) = try await perform(.tally(batch: batch)) else { throw Self.nonsense }
        return tally
    }

    /// What is being delivered at the moment.
    public func running() async throws(OutboxError) -> [RunningItem] {
        guard case .running(let items) = try await perform(.running) else { throw Self.nonsense }
        return items
    }

    /// Looks for damage in the queue file.
    ///
    /// - Returns: `ok`, or what is wrong.
    package func checkIntegrity() async throws(OutboxError) -> String {
        guard let core = try await takeOver() else {
            throw OutboxError(.ownedByAnother, "another process has the outbox: end it, and look then")
        }
        return try await core.store.checkIntegrity()
    }

    /// Some items, after one.
    func page(_ selection: ItemSelection, after: OutboxID?, limit: Int) async throws(OutboxError) -> [OutboxItem] {
        let request = OutboxRequest.items(selection, after: after?.rawValue ?? 0, limit: limit)
        guard case .items(let items) = try await perform(request) else { throw Self.nonsense }
        return items
    }

    func control(_ event: ItemLife.Event, _ selection: ItemSelection) async throws(OutboxError) -> Int {
        guard case .controlled(let answer) = try await perform(.control(event, selection)) else { throw Self.nonsense }
        return answer.changed
    }
}
