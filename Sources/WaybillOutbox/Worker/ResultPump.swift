import Logging
import Waybill
import WaybillCore

/// Passes stored results to the program's closure: each at least once, in order. Of the workers of a shared store, one
/// does.
struct ResultPump: Sendable {
    private let core: OutboxCore
    private let configuration: Outbox.Configuration

    init(_ core: OutboxCore, _ configuration: Outbox.Configuration) {
        self.core = core
        self.configuration = configuration
    }

    /// Passes on existing and future results until the task is cancelled.
    func run() async {
        guard configuration.onResult != nil else { return }
        while !Task.isCancelled {
            let seen = core.signal.value
            guard await catchUp() else { continue }
            if let duration = core.store.leaseDuration {
                // The worker that passes on results may end without a signal.
                await core.signal.wait(atMost: duration / 2) { $0 != seen }
            } else {
                await core.signal.wait { $0 != seen }
            }
        }
    }

    /// Passes on existing results, unless another worker does.
    ///
    /// - Returns: `false` if an error occurred and the call should be repeated.
    @discardableResult
    func catchUp() async -> Bool {
        guard let onResult = configuration.onResult else { return true }
        do throws(OutboxError) {
            guard try await core.store.claim(OutboxClaim.results, token: core.token) else { return true }
            var processed = try await core.store.mark(OutboxMark.handled)
            while true {
                let page = try await core.store.results(after: processed, limit: 100)
                if page.isEmpty { return true }
                for result in page {
                    guard await pass(result, to: onResult) else { return false }
                    processed = result.sequence
                    try await core.store.raise(OutboxMark.handled, to: processed)
                }
            }
        } catch {
            guard error.code != .closed else { return true }
            try? await Task.sleep(for: .milliseconds(250))
            return false
        }
    }

    /// Passes on one result, repeatedly if the closure throws.
    ///
    /// - Returns: `false` if the task was cancelled before the result was accepted.
    private func pass(
        _ result: OutboxResult, to onResult: @Sendable (OutboxResult) async throws -> Void
    ) async -> Bool {
        for attempt in 1...Self.attempts {
            guard !Task.isCancelled else { return false }
            do {
                try await onResult(result)
                return true
            } catch {
                core.logger?.warning(
                    "the handler of a result failed",
                    metadata: ["item": "\(result.item.id)", "attempt": "\(attempt)", "error": "\(error)"])
            }
            guard (try? await Task.sleep(for: Self.backoff.delay(after: attempt))) != nil else { return false }
        }
        core.logger?.error(
            "a result was skipped after repeated failures of its handler", metadata: ["item": "\(result.item.id)"])
        return true
    }

    private static let attempts = 6
    private static let backoff = Backoff(from: .milliseconds(50), to: .seconds(2))
}
