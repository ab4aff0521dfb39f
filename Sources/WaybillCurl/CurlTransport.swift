internal import CWaybillCurl
public import Logging
public import WaybillCore

/// A transport on connections that libcurl makes: one thread, any number of concurrent attempts.
///
/// ```swift
/// let transport = CurlTransport()
/// let session = UploadSession(configuration: .init(), transport: transport)
/// ```
///
/// It runs attempts unchanged: it follows no redirects, repeats nothing, and reads no environment variables. libcurl
/// resolves names, connects, and negotiates TLS. The messages of HTTP/1.1 are exchanged without it, except if a request
/// uses Digest, an HTTP proxy without a tunnel, a ``CurlOption``, or a URL with user information.
///
/// A running attempt uses one buffer while bytes are sent: 128 KiB for a body below 1 MiB, 2 MiB for a body of 64 MiB or
/// more that runs alone, and 512 KiB otherwise; over TLS 256 KiB from 1 MiB. When the transport is released, running
/// attempts continue to their end.
public final class CurlTransport: UploadTransport {
    /// The configuration of the transport.
    public struct Configuration: Sendable {
        /// The number of idle connections that are kept open for later uploads, 0 or more. Connections in use don't
        /// count. The default is 16.
        ///
        /// If it is at least the number of concurrent uploads, connections are always reused, however the uploads
        /// coincide; a session that creates its own transport sets it accordingly. If it is lower, the connections that
        /// were idle longest are closed. A connection that was idle for 118 seconds is closed, too.
        public var maximumIdleConnections = 16

        /// Creates the default configuration.
        public init() {}
    }

    private let engine: EngineReference
    private let logger: Logger?

    /// An executor on the thread of the transport. See ``UploadTransport/executor``.
    public let executor: (any TaskExecutor)?

    /// Creates a transport and starts the engine's thread.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the transport.
    ///   - logger: The logger for attempts (`debug`) and security risks (`warning`). By default, nothing is logged.
    public init(configuration: Configuration = Configuration(), logger: Logger? = nil) {
        let code = wb_global_init()
        precondition(code == CURLE_OK, "Initializing libcurl failed: \(CurlFailure.quote(code)).")
        let engine = EngineReference(maximumIdleConnections: configuration.maximumIdleConnections)
        self.engine = engine
        self.logger = logger
        executor = EngineExecutor { engine.post($0) != nil }
        _ = engine.post(nil)
    }

    deinit { closeIdleConnections() }

    /// Closes the idle connections. Running attempts continue to their end; the next attempt starts a new thread.
    public func closeIdleConnections() { engine.close() }

    /// Starts an attempt immediately. See ``UploadTransport/start(_:sink:)``.
    public func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        if request.options.tls.insecureSkipVerification {
            logger?.warning("certificate not verified", metadata: ["upload": "\(request.id)"])
        }
        logger?.debug("attempt started", metadata: ["upload": "\(request.id)", "method": "\(request.method)"])
        let transfer =
            request.isForHTTP1Transfer ? HTTP1Transfer(request, sink: sink) : CurlTransfer(request, sink: sink)
        guard let inbox = engine.post(.start(transfer)) else {
            transfer.reportEnd(CurlFailure.withoutEngine(request))
            return NoTransferControl()
        }
        return CurlTransferControl(transfer: transfer, inbox: inbox)
    }
}

/// The engine of a transport. It is created with the transport, or by a later command as soon as file descriptors and a
/// thread are available.
private final class EngineReference: Sendable {
    private let engine = Locked<CurlEngine?>(nil)
    private let maximumIdleConnections: Int

    init(maximumIdleConnections: Int) {
        self.maximumIdleConnections = maximumIdleConnections
    }

    /// An executor may outlive the transport and start another engine.
    deinit { close() }

    /// Posts a command to the engine, and starts the engine if necessary. The lock ensures that the command precedes an
    /// ``EngineCommand/close``, after which commands are ignored.
    ///
    /// - Returns: `nil` if no engine could be created.
    func post(_ command: EngineCommand?) -> EngineInbox? {
        engine.withLock { engine in
            if engine == nil, let made = CurlEngine(maximumIdleConnections: maximumIdleConnections), made.run() {
                engine = made
            }
            if let command { engine?.inbox.post(command) }
            return engine?.inbox
        }
    }

    func close() {
        engine.withLock { $0.take() }?.inbox.post(.close)
    }
}

/// The control of an attempt that failed before it was started.
private struct NoTransferControl: TransferControl {
    func cancel() {}
    func pause() {}
    func resume() {}
    func limit(to rate: ByteCount?) {}
}

/// Posts a command for each call. The inbox keeps their order, so a cancel never overtakes its start.
private final class CurlTransferControl: TransferControl {
    private let transfer: Transfer
    private let inbox: EngineInbox

    init(transfer: Transfer, inbox: EngineInbox) {
        self.transfer = transfer
        self.inbox = inbox
    }

    func cancel() { inbox.post(.cancel(transfer)) }
    func pause() { inbox.post(.pause(transfer)) }
    func resume() { inbox.post(.resume(transfer)) }
    func limit(to rate: ByteCount?) { inbox.post(.limit(transfer, rate)) }
}
