import WaybillCore

// Results of items.

extension Outbox {
    /// Returns results in order: those that were not acknowledged yet, or those after a sequence number. Use this to
    /// process results that a program missed while it was not running. Sequence numbers increase; those of a shared store
    /// are not consecutive.
    ///
    /// ```swift
    /// let missed = try await outbox.results()
    /// for result in missed { book(result) }
    /// if let last = missed.last { try await outbox.acknowledge(through: last.sequence) }
    /// ```
    ///
    /// - Parameters:
    ///   - sequence: The sequence number after which to begin; `nil` for the last acknowledged one.
    ///   - limit: The maximum number of results, up to 200.
    /// - Returns: The results; fewer than the limit if there are no more.
    /// - Throws: ``OutboxError``.
    public func results(after sequence: Int64? = nil, limit: Int = 200) async throws(OutboxError) -> [OutboxResult] {
        let start: Int64
        if let sequence { start = sequence } else { start = try await number(.mark(OutboxMark.acknowledged)) }
        guard case .results(let results) = try await perform(.results(after: start, limit: limit)) else {
            throw Self.unexpectedReply
        }
        return results
    }

    /// Acknowledges all results up to a sequence number. They remain available by sequence number until they are
    /// removed after ``Configuration/resultRetention``.
    public func acknowledge(through sequence: Int64) async throws(OutboxError) {
        _ = try await perform(.raise(OutboxMark.acknowledged, to: sequence))
    }

    /// Returns the results that a consumer has not acknowledged yet, in order. Each consumer has its own mark, which is
    /// independent of ``acknowledge(through:)``; a new consumer begins with the oldest result that is kept.
    ///
    /// - Parameters:
    ///   - consumer: The name of the consumer.
    ///   - limit: The maximum number of results, up to 200.
    /// - Returns: The results; fewer than the limit if there are no more.
    /// - Throws: ``OutboxError``.
    public func results(for consumer: String, limit: Int = 200) async throws(OutboxError) -> [OutboxResult] {
        try await results(after: try await number(.mark(OutboxMark.consumer(consumer))), limit: limit)
    }

    /// Acknowledges all results up to a sequence number for a consumer.
    public func acknowledge(through sequence: Int64, for consumer: String) async throws(OutboxError) {
        _ = try await perform(.raise(OutboxMark.consumer(consumer), to: sequence))
    }

    /// Waits until this process changes items after a moment, or for a second if another process owns the outbox.
    ///
    /// - Parameter moment: The result of ``changes`` at that moment.
    package func waitForChange(since moment: Int?) async {
        guard let signal = owner?.signal, let moment else { return _ = try? await Task.sleep(for: .seconds(1)) }
        await signal.wait { $0 != moment }
    }

    /// The number of changes by this process; `nil` if another process owns the outbox.
    package var changes: Int? { owner?.signal.value }

    /// Returns the last acknowledged sequence number; 0 at first.
    public func acknowledgedThrough() async throws(OutboxError) -> Int64 {
        try await number(.mark(OutboxMark.acknowledged))
    }

    /// Returns the sequence number of the last result; 0 before the first. `results(after:)` of it returns later ones.
    public func lastSequence() async throws(OutboxError) -> Int64 {
        try await number(.mark(OutboxMark.sequence))
    }

    private func number(_ request: OutboxRequest) async throws(OutboxError) -> Int64 {
        guard case .number(let number) = try await perform(request) else { throw Self.unexpectedReply }
        return number
    }
}
