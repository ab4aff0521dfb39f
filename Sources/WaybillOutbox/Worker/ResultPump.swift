import Logging
import Waybill
import WaybillCore

/// Tells the program of ends, after they were written down: each at least once, in their order.
struct ResultPump: Sendable {
    private let core: OutboxCore
    private let configuration: Outbox.Configuration

    init(_ core: OutboxCore, _ configuration: Outbox.Configuration) {
        self.core = core
        self.configuration = configuration
    }

    /// Tells of what there is and what comes, until the task is cancelled.
    func run() async {
        guard configuration.onResult != nil else { return }
        while !Task.isCancelled {
            let seen = core.signal.value
            if await catchUp() { await core.signal.wait { $0 != seen } }
        }
    }

    /// Tells of what there is.
    ///
    /// - Returns: `false` if something went wrong, and it should be tried again.
    @discardableResult
    func catchUp() async -> Bool {
        guard let onResult = configuration.onResult else { return true }
        do throws(OutboxError) {
            var told = try await core.store.mark(OutboxMark.hooked)
            while true {
                let page = try await core.store.results(after: told, limit: 100)
                if page.isEmpty { return true }
                for result in page {
                    guard await tell(result, onResult) else { return false }
                    told = result.sequence
                    try await core.store.raise(OutboxMark.hooked, to: told)
                }
            }
        } catch {
            guard error.code != .closed else { return true }
            try? await Task.sleep(for: .milliseconds(250))
            return false
        }
    }

    /// - Returns: `false` when the task was cancelled before it could be told.
    private func tell(
        _ result: OutboxResult, _ onResult: @Sendable (OutboxResult) async throws -> Void
    ) async -> Bool {
        for attempt in 1...Self.attempts {
            guard !Task.isCancelled else { return false }
            do {
                try await onResult(result)
                return true
            } catch {
                core.logger?.warning(
                    "a result could not be handed to the program",
                    metadata: ["item": "\(result.item.id)", "attempt": "\(attempt)", "error": "\(error)"])
            }
            guard (try? await Task.sleep(for: Self.backoff.time(after: attempt))) != nil else { return false }
        }
        core.logger?.error("a result was passed over", metadata: ["item": "\(result.item.id)"])
        return true
    }

    private static let attempts = 6
    private static let backoff = Backoff(from: .milliseconds(50), to: .seconds(2))
}
