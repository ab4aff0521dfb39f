public import Waybill
import WaybillCore

extension Outbox {
    /// Delivers until the task is cancelled. Suitable as a service for swift-service-lifecycle and similar packages.
    ///
    /// Cancellation stops the deliveries in progress; those that the server may have received completely are verified
    /// at the next start. Use ``drain(atMost:)`` to let them finish. Starting a run unblocks all blocked lanes.
    ///
    /// With a shared store, any number of processes run. A start tries each blocked lane with one item, and while the
    /// store cannot be reached, the run waits for it.
    ///
    /// - Parameter session: The session that sends; not changed or closed. Needs at least as many slots as the outbox.
    /// - Throws: ``OutboxError``; ``OutboxError/Code/ownedByAnother`` if another process delivers from this directory.
    public func run(session: UploadSession = .shared) async throws(OutboxError) {
        try await work(session, untilIdle: false)
    }

    /// Delivers until no item can make progress without user action: for programs that a timer starts periodically.
    ///
    /// Waits for items that are to be retried, but not for paused items and those of blocked lanes, nor for deliveries by
    /// other machines.
    public func runUntilIdle(session: UploadSession = .shared) async throws(OutboxError) {
        try await work(session, untilIdle: true)
    }

    /// Stops leasing new items: deliveries in progress finish, and then ``run(session:)`` returns.
    ///
    /// Call this on a termination signal or for a graceful shutdown. An upload that is stopped after its last byte and
    /// before its response has an unknown outcome, and a person has to decide about it if the server does not support
    /// idempotency keys; an upload that has time for its response does not. To stop immediately, cancel the running
    /// task.
    ///
    /// Draining is permanent: a drained outbox still accepts uploads, and delivers them after it is opened again. If
    /// nothing is being delivered, a later ``run(session:)`` returns immediately.
    ///
    /// - Parameter limit: The time after which deliveries still in progress are stopped as by cancellation. `nil` means
    ///   no limit.
    public func drain(atMost limit: Duration? = nil) {
        drain.begin()
        owner?.signalChange()
        guard let limit else { return }
        Task { [weak self] in
            try? await Task.sleep(for: limit)
            self?.drain.end()
            self?.owner?.stopRunning()
            self?.owner?.signalChange()
        }
    }

    /// Whether this process has deliveries in progress.
    package var isSending: Bool { owner?.running.withLock { !$0.isEmpty } ?? false }

    private func work(_ session: UploadSession, untilIdle: Bool) async throws(OutboxError) {
        let core = try await own()
        let isFirst = core.isDelivering.withLock { isDelivering in
            defer { isDelivering = true }
            return !isDelivering
        }
        guard isFirst else {
            throw OutboxError(.ownedByAnother, "This process already delivers from the outbox. Start only one run.")
        }
        defer { core.isDelivering.withLock { $0 = false } }
        try await Worker(core, session, registry, configuration, drain).run(untilIdle: untilIdle)
    }

    /// Takes ownership of the queue, also from another process that owns it but does not deliver.
    private func own() async throws(OutboxError) -> OutboxCore {
        for _ in 0..<Self.maxTakeoverAttempts {
            if let core = try await takeOver() { return core }
            _ = try await sendToOwner(.yield)
            do { try await Task.sleep(for: .milliseconds(20)) } catch {
                throw OutboxError(.cancelled, "The task was cancelled while waiting for the outbox.")
            }
        }
        throw OutboxError(
            .ownedByAnother, "Another process owns the outbox \(path) and does not release it. Stop that process.")
    }

    private static let maxTakeoverAttempts = 250
}
