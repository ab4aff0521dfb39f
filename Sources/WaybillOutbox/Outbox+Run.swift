public import Waybill
import WaybillCore

extension Outbox {
    /// Delivers until the task is cancelled: a service in the shape that swift-service-lifecycle and others run.
    ///
    /// Deliveries under way are stopped by the cancel; what of them the server had whole is verified at the next start.
    /// ``drain(atMost:)`` lets them come to their end. A lane that was blocked gets a new chance by the start.
    ///
    /// - Parameter session: What to send with. It is neither changed nor closed; its slots should not be fewer than the
    ///   outbox's.
    /// - Throws: ``OutboxError``. With ``OutboxError/Code/ownedByAnother`` if another process delivers from this outbox.
    public func run(session: UploadSession = .shared) async throws(OutboxError) {
        try await work(session, untilIdle: false)
    }

    /// Delivers until nothing is left that waits for anything but a person: for a timer that starts a program now and then.
    ///
    /// Items that are to be tried again are waited for; paused ones and those of blocked lanes are not.
    public func runUntilIdle(session: UploadSession = .shared) async throws(OutboxError) {
        try await work(session, untilIdle: true)
    }

    /// Takes nothing new any more: what is being sent comes to its end, and then ``run(session:)`` returns.
    ///
    /// What a signal or a graceful shutdown should do. An upload that is stopped after its last byte and before its answer is in
    /// doubt, and where the server doesn't know idempotency keys a person has to decide about it; one that has the time for
    /// its answer is not. Cancel the task that runs to stop at once.
    ///
    /// It is for good: an outbox that was drained still takes uploads, and delivers when it is opened again. If nothing is being
    /// delivered, a later ``run(session:)`` returns at once.
    ///
    /// - Parameter limit: After this time, what is still being sent is stopped as by a cancel. `nil`: however long it takes.
    public func drain(atMost limit: Duration? = nil) {
        drain.begin()
        owner?.ring()
        guard let limit else { return }
        Task { [weak self] in
            try? await Task.sleep(for: limit)
            self?.drain.end()
            self?.owner?.stopRunning()
        }
    }

    /// Whether this process has deliveries under way.
    package var isSending: Bool { owner?.running.withLock { !$0.isEmpty } ?? false }

    private func work(_ session: UploadSession, untilIdle: Bool) async throws(OutboxError) {
        let core = try await own()
        let isFirst = core.isDelivering.withLock { isDelivering in
            defer { isDelivering = true }
            return !isDelivering
        }
        guard isFirst else {
            throw OutboxError(.ownedByAnother, "this process delivers from the outbox already: once is enough")
        }
        defer { core.isDelivering.withLock { $0 = false } }
        try await Worker(core, session, registry, configuration, drain).run(untilIdle: untilIdle)
    }

    /// Takes the queue, from another process too if that only has it and doesn't deliver.
    private func own() async throws(OutboxError) -> OutboxCore {
        for _ in 0..<Self.patience {
            if let core = try await takeOver() { return core }
            _ = try await OwnerGuest.ask(.yield, in: folder)
            do { try await Task.sleep(for: .milliseconds(20)) } catch {
                throw OutboxError(.cancelled, "the task was cancelled before the outbox was free")
            }
        }
        throw OutboxError(.ownedByAnother, "another process has the outbox \(path) and does not give it back")
    }

    private static let patience = 250
}
