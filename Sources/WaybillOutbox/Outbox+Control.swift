public import WaybillCore

// Queries and commands for items.

extension Outbox {
    /// Pauses items. Stops a delivery in progress; if it may have arrived, the item is verified first.
    ///
    /// - Returns: The number of items that changed.
    @discardableResult
    public func pause(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.pause, selection)
    }

    /// Resumes paused items. Items with an unknown outcome are verified again.
    @discardableResult
    public func resume(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.resume, selection)
    }

    /// Cancels items.
    @discardableResult
    public func cancel(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.cancel, selection)
    }

    /// Sends items that failed, wait or are paused again from the start, including items that may already have been
    /// delivered; that risk is the caller's decision.
    @discardableResult
    public func retry(_ selection: ItemSelection) async throws(OutboxError) -> Int {
        try await control(.retry, selection)
    }

    /// Immediately unblocks a lane that was blocked by an expired credential or an untrusted certificate. Otherwise,
    /// the lane is probed with one item after half a minute, and then less and less often.
    public func unblock(lane: String) async throws(OutboxError) { _ = try await perform(.unblock(lane)) }

    /// Returns the names of the blocked lanes, with the reasons.
    public func blockedLanes() async throws(OutboxError) -> [String: String] {
        guard case .lanes(let lanes) = try await perform(.lanes) else { throw Self.unexpectedReply }
        return lanes.compactMapValues(\.blocked)
    }

    /// Returns an item.
    ///
    /// - Returns: `nil` if the item does not exist or was removed.
    public func item(_ id: OutboxID) async throws(OutboxError) -> OutboxItem? {
        try await page(.item(id), after: nil, limit: 1).first
    }

    /// Returns items in the order of their IDs. They are read in pages during iteration, so that 100,000 items take no
    /// more memory than a few hundred.
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

    /// Returns the number of items in each state.
    public func tally(batch: String? = nil) async throws(OutboxError) -> OutboxTally {
        guard case .tally(let tally) = try await perform(.tally(batch: batch)) else { throw Self.unexpectedReply }
        return tally
    }

    /// Returns the deliveries in progress. Those of other machines, with a shared store, have no acknowledged bytes.
    public func running() async throws(OutboxError) -> [RunningItem] {
        guard case .running(let items) = try await perform(.running) else { throw Self.unexpectedReply }
        return items
    }

    /// Checks the queue file for damage.
    ///
    /// - Returns: `ok`, or a description of the damage.
    package func checkIntegrity() async throws(OutboxError) -> String {
        guard let core = try await takeOver() else {
            throw OutboxError(.ownedByAnother, "Another process owns the outbox. Stop it before checking the queue.")
        }
        return try await core.store.checkIntegrity()
    }

    /// Returns one page of items after a given item.
    func page(_ selection: ItemSelection, after: OutboxID?, limit: Int) async throws(OutboxError) -> [OutboxItem] {
        let request = OutboxRequest.items(selection, after: after?.rawValue ?? 0, limit: limit)
        guard case .items(let items) = try await perform(request) else { throw Self.unexpectedReply }
        return items
    }

    func control(_ event: ItemLife.Event, _ selection: ItemSelection) async throws(OutboxError) -> Int {
        guard case .controlled(let result) = try await perform(.control(event, selection)) else {
            throw Self.unexpectedReply
        }
        return result.changed
    }
}
