public import ServiceLifecycle
public import Waybill
public import WaybillOutbox

/// An outbox in the shape that swift-service-lifecycle runs: beside your server, with its signals.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [server, OutboxService(outbox)], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A graceful shutdown ends it at once. What was being sent stays in the queue, and is found out about at the next start before
/// anything is sent again. The outbox is closed then, so that the next program has it without waiting.
public struct OutboxService: Service {
    private let outbox: Outbox
    private let session: UploadSession

    /// Wraps an outbox and what it sends with.
    public init(_ outbox: Outbox, session: UploadSession = .shared) {
        self.outbox = outbox
        self.session = session
    }

    /// Delivers until the service group wants to end.
    ///
    /// - Throws: `OutboxError`, for one when another process delivers from this outbox: the group ends with it.
    public func run() async throws {
        let (outbox, session) = (outbox, session)
        try await cancelWhenGracefulShutdown { try await outbox.run(session: session) }
        await outbox.close()
    }
}
