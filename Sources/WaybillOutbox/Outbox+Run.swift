public import Waybill
import WaybillCore

extension Outbox {
    /// Delivers until the task is cancelled: a service in the shape that swift-service-lifecycle and others run.
    ///
    /// Deliveries under way are stopped by the cancel; what of them the server had whole is verified at the next start. A
    /// lane that was blocked gets a new chance by the start.
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
        try await Worker(core, session, registry, configuration).run(untilIdle: untilIdle)
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
