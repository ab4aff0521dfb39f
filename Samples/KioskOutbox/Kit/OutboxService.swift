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
/// At a graceful shutdown nothing new is begun, and what is being sent has some seconds to come to its end. What has not by then
/// stays in the queue, and is found out about at the next start before anything is sent again. The outbox is closed then, so
/// that the next program has it without waiting.
public struct OutboxService: Service {
    private let outbox: Outbox
    private let session: UploadSession
    private let patience: Duration

    /// Wraps an outbox and what it sends with.
    ///
    /// - Parameters:
    ///   - outbox: What to deliver from.
    ///   - session: What to send with.
    ///   - patience: How long a graceful shutdown waits for what is being sent. Less than the service manager waits.
    public init(_ outbox: Outbox, session: UploadSession = .shared, patience: Duration = .seconds(20)) {
        self.outbox = outbox
        self.patience = patience
        self.session = session
    }

    /// Delivers until the service group wants to end.
    ///
    /// - Throws: `OutboxError`, for one when another process delivers from this outbox: the group ends with it.
    public func run() async throws {
        let (outbox, session, patience) = (outbox, session, patience)
        try await withGracefulShutdownHandler {
            try await outbox.run(session: session)
        } onGracefulShutdown: {
            outbox.drain(atMost: patience)
        }
        await outbox.close()
    }
}
