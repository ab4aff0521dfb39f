import WaybillCore
import Waybill
import WaybillOutbox

/// Finds the items that wait for their next attempt, and returns each wait once.
///
/// Items that were already waiting at the start are not returned. If more than ``maxItems`` items wait, only the first are
/// returned; the progress bar and lines count all of them.
final class OutboxRetries: Sendable {
    private struct State {
        var tally: OutboxTally?
        /// The times at which the returned attempts are due.
        var due: [OutboxID: Int64] = [:]
    }

    /// The maximum number of items that are examined.
    private static var maxItems: Int { 256 }

    private let outbox: Outbox
    private let batch: String?
    private let state = Locked(State())

    init(_ outbox: Outbox, batch: String?) {
        (self.outbox, self.batch) = (outbox, batch)
    }

    /// Returns the waits that began since the last call.
    func newRetries(_ tally: OutboxTally) async throws(CommandFailure) -> [(id: OutboxID, retry: UploadRetry)] {
        let (isFirst, hasChanged) = state.withLock { state in
            defer { state.tally = tally }
            return (state.tally == nil, state.tally != tally)
        }
        guard hasChanged else { return [] }
        let (outbox, batch) = (outbox, batch)
        let waiting = try await mappingOutboxErrors { () async throws(OutboxError) -> [OutboxItem] in
            guard tally[.waiting] > 0 else { return [] }
            var items: [OutboxItem] = []
            for try await item in outbox.items(ItemSelection(batch: batch, states: [.waiting])) {
                items.append(item)
                if items.count == Self.maxItems { break }
            }
            return items
        }
        let new = state.withLock { state in
            let before = state.due
            state.due = Dictionary(waiting.map { ($0.id, $0.dueAt ?? 0) }) { _, last in last }
            return isFirst ? [] : waiting.filter { before[$0.id] != $0.dueAt ?? 0 }
        }
        var found: [(OutboxID, UploadRetry)] = []
        for item in new {
            let details = try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.details(of: item.id)
            }
            if let details, let retry = Self.retry(details) { found.append((item.id, retry)) }
        }
        return found
    }

    private static func retry(_ details: OutboxDetails) -> UploadRetry? {
        guard details.item.state == .waiting, let due = details.item.dueAt else { return nil }
        let left = Duration.milliseconds(max(0, due - OutboxTime.now))
        let status = details.last.status.map { "status \($0)" }
        let reason = status ?? details.last.message ?? details.item.reason ?? "unknown"
        return UploadRetry(
            reason: reason, delay: left, timeLeft: left, number: details.item.attempts, limit: details.maxAttempts - 1)
    }
}
