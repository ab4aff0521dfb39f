internal import CWaybillCurl
public import Logging
public import WaybillCore

/// The transport over libcurl: one thread, one multi handle, any number of attempts at once.
///
/// ```swift
/// let transport = CurlTransport()
/// let session = UploadSession(configuration: .init(), transport: transport)
/// ```
///
/// It runs what it is handed: it follows no redirect, repeats nothing, and reads no environment. An attempt costs its
/// upload buffer while it runs: 64 or 112 KiB under 1 MiB of body, 2 MiB for one of 64 MiB or more that runs alone, else
/// 512 KiB; over TLS 64 KiB under 1 MiB of body, else 256 KiB. When the transport is released, running attempts go on to
/// their end.
public final class CurlTransport: UploadTransport {
    /// How the transport is set up.
    public struct Configuration: Sendable {
        /// How many connections are kept open for uploads to come, 0 or more; those at work don't count. 16 by default.
        ///
        /// With one for each upload that runs at once, no connection is made twice, however the uploads fall together; a
        /// session that makes its own transport sees to that. With fewer, those of uploads that end in the same moment are
        /// closed beyond that number, or a little later (`CURLMOPT_MAXCONNECTS`).
        public var maximumIdleConnections = 16

        /// The defaults.
        public init() {}
    }

    private let configuration: Configuration
    /// Made with the transport, or with the first attempt that finds none and for which a descriptor and a thread are free.
    private let engine = Locked<CurlEngine?>(nil)
    private let logger: Logger?

    /// Starts the engine's thread.
    ///
    /// - Parameters:
    ///   - configuration: How the transport is set up.
    ///   - logger: Where attempts are logged, at `debug` and, for what endangers the user, at `warning`. Silent by default.
    public init(configuration: Configuration = Configuration(), logger: Logger? = nil) {
        let code = wb_global_init()
        precondition(code == CURLE_OK, "libcurl could not be initialised: \(CurlFailure.quote(code))")
        self.configuration = configuration
        self.logger = logger
        _ = post(nil)
    }

    deinit { closeIdleConnections() }

    /// Closes the connections that are kept open. Running attempts go on to their end; the next one starts a thread of its own.
    public func closeIdleConnections() {
        engine.withLock { $0.take() }?.inbox.post(.close)
    }

    /// Posts a command to the engine, and starts the engine if it does not run. Under the lock: what is posted here comes before a
    /// ``EngineCommand/close``, after which nothing is heard.
    ///
    /// - Returns: `nil` if no engine could be made.
    private func post(_ command: EngineCommand?) -> EngineInbox? {
        engine.withLock { engine in
            if engine == nil, let made = CurlEngine(maximumIdleConnections: configuration.maximumIdleConnections),
                made.run()
            {
                engine = made
            }
            if let command { engine?.inbox.post(command) }
            return engine?.inbox
        }
    }

    /// Starts an attempt at once. See ``UploadTransport/start(_:sink:)``.
    public func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        if request.options.tls.insecureSkipVerification {
            logger?.warning("certificate not verified", metadata: ["upload": "\(request.id)"])
        }
        logger?.debug("attempt started", metadata: ["upload": "\(request.id)", "method": "\(request.method)"])
        let transfer = CurlTransfer(request, sink: sink)
        guard let inbox = post(.start(transfer)) else {
            transfer.tell(CurlFailure.withoutEngine(request))
            return NoTransferControl()
        }
        return CurlTransferControl(transfer: transfer, inbox: inbox)
    }
}

/// Controls an attempt that has ended before it began.
private struct NoTransferControl: TransferControl {
    func cancel() {}
    func pause() {}
    func resume() {}
    func limit(to rate: ByteCount?) {}
}

/// Turns calls into commands. The inbox keeps their order, so a cancel never overtakes its start.
private final class CurlTransferControl: TransferControl {
    private let transfer: CurlTransfer
    private let inbox: EngineInbox

    init(transfer: CurlTransfer, inbox: EngineInbox) {
        self.transfer = transfer
        self.inbox = inbox
    }

    func cancel() { inbox.post(.cancel(transfer)) }
    func pause() { inbox.post(.pause(transfer)) }
    func resume() { inbox.post(.resume(transfer)) }
    func limit(to rate: ByteCount?) { inbox.post(.limit(transfer, rate)) }
}
