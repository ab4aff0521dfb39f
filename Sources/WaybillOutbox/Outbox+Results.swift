// How items ended.

extension Outbox {
    /// Ends that were not acknowledged yet, or those after a number, in their order: what a program that was started anew
    /// has missed.
    ///
    /// ```swift
    /// let missed = try await outbox.results()
    /// for result in missed { book(result) }
    /// if let last = missed.last { try await outbox.acknowledge(through: last.sequence) }
    /// ```
    ///
    /// - Parameters:
    ///   - sequence: The number after which to begin; `nil` for the last one that was acknowledged.
    ///   - limit: The most to give at once, up to 200.
    /// - Returns: The ends, fewer than the limit if there are no more.
    /// - Throws: ``OutboxError``.
    public func results(after sequence: Int64? = nil, limit: Int = 200) async throws(OutboxError) -> [OutboxResult] {
        let start: Int64
        if let sequence { start = sequence } else { start = try await number(.mark(OutboxMark.acknowledged)) }
        guard case .results(let results) = try await perform(.results(after: start, limit: limit)) else {
            throw Self.nonsense
        }
        return results
    }

    /// Says that all ends up to a number were taken in. They are still listed by their numbers until they are thirty days
    /// old.
    public func acknowledge(through sequence: Int64) async throws(OutboxError) {
        _ = try await perform(.raise(OutboxMark.acknowledged, to: sequence))
    }

    /// The number up to which ends were acknowledged; 0 at first.
    public func acknowledgedThrough() async throws(OutboxError) -> Int64 {
        try await number(.mark(OutboxMark.acknowledged))
    }

    /// The number of the last end; 0 before the first. What ends from now on is in `results(after:)` of it.
    public func lastSequence() async throws(OutboxError) -> Int64 {
        try await number(.mark(OutboxMark.sequence))
    }

    private func number(_ request: OutboxRequest) async throws(OutboxError) -> Int64 {
        guard case .number(let number) = try await perform(request) else { throw Self.nonsense }
        return number
    }
}
