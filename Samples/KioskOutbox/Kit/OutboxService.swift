public import ServiceLifecycle
public import Waybill
public import WaybillOutbox

/// An adapter that runs an outbox in a `ServiceGroup` of swift-service-lifecycle, beside your server.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [server, OutboxService(outbox)], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A graceful shutdown starts no new uploads and gives running ones a grace period. Uploads that exceed it are
/// interrupted and stay queued; the next start determines their outcome before it sends them again. The outbox is then
/// closed, so that the next process can open it without waiting.
public struct OutboxService: Service {
    private let outbox: Outbox
    private let session: UploadSession
    private let gracePeriod: Duration

    /// Creates a service that delivers from an outbox.
    ///
    /// - Parameters:
    ///   - outbox: The outbox.
    ///   - session: The session that sends.
    ///   - gracePeriod: The time a graceful shutdown waits for running uploads. It must be less than the
    ///     timeout of the service manager.
    public init(_ outbox: Outbox, session: UploadSession = .shared, gracePeriod: Duration = .seconds(20)) {
        self.outbox = outbox
        self.gracePeriod = gracePeriod
        self.session = session
    }

    /// Delivers until the service group shuts down.
    ///
    /// - Throws: `OutboxError`, for example if another process delivers from this outbox. It ends the group.
    public func run() async throws {
        let (outbox, session, gracePeriod) = (outbox, session, gracePeriod)
        try await withGracefulShutdownHandler {
            try await outbox.run(session: session)
        } onGracefulShutdown: {
            outbox.drain(atMost: gracePeriod)
        }
        await outbox.close()
    }
}
