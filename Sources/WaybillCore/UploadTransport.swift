public import HTTPTypes

/// What moves bytes: runs one attempt as it is told and says what happened.
///
/// The real one is libcurl's, the double `ScriptedTransport` of WaybillTesting.
public protocol UploadTransport: Sendable {
    /// Starts an attempt at once and returns.
    ///
    /// - Parameters:
    ///   - request: The attempt. It is started whatever else is running: whoever calls bounds the number.
    ///   - sink: Who is told. It gets any number of events and exactly one ``TransferEvent/ended(_:)``, the last.
    /// - Returns: The handle to steer the attempt by.
    func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl

    /// Closes the connections that are kept open for attempts to come, at once or soon. Running attempts go on. Does nothing
    /// unless the transport says otherwise.
    func closeIdleConnections()
}

extension UploadTransport {
    /// Does nothing: this transport keeps no connections, or does not let them be closed.
    public func closeIdleConnections() {}
}

/// The handle of a running attempt. All calls are safe from any thread, at any time, any number of times; after the
/// end they do nothing.
public protocol TransferControl: Sendable {
    /// Closes the connection. The attempt ends with ``TransferError/Code/cancelled`` within 200 ms.
    func cancel()
    /// Stops sending and receiving; the connection stays open.
    func pause()
    /// Goes on after ``pause()``.
    func resume()
    /// Sets the most body bytes per second, from now on; `nil` for no limit.
    func limit(to rate: ByteCount?)
}

/// Who is told what an attempt does. Called on the transport's own thread, so it must return quickly and never block.
public protocol TransferSink: AnyObject, Sendable {
    /// Something happened.
    func transfer(_ event: TransferEvent)

    /// Whether progress is worth reporting at the moment. Asked up to twenty times a second; `false` saves the work.
    var wantsProgress: Bool { get }
}

/// What happens in the course of an attempt, in this order; each of the first four at most once, progress often.
public enum TransferEvent: Sendable {
    /// A connection is at hand, fresh or kept alive, and the request goes out.
    case connected(TransferConnection)
    /// The position in the body, at most twenty times a second, plus the first and the last.
    case progress(TransferProgress)
    /// The peer's TCP has acknowledged the last byte of the body.
    case bodyAcknowledged
    /// A complete head of a final response was read (not 1xx).
    indirect case responseHead(HTTPResponse)
    /// The end; nothing follows.
    indirect case ended(TransferEnd)
}

/// The connection of an attempt.
public struct TransferConnection: Sendable, Hashable {
    /// Whether it had carried an earlier request.
    public var isReused: Bool
    /// The peer's address, as text.
    public var peerAddress: String
    /// The peer's port.
    public var peerPort: Int

    /// Describes a connection.
    public init(isReused: Bool, peerAddress: String, peerPort: Int) {
        self.isReused = isReused
        self.peerAddress = peerAddress
        self.peerPort = peerPort
    }
}

/// The position of an attempt in its body.
public struct TransferProgress: Sendable, Hashable {
    /// Body bytes handed to the kernel.
    public var sent: Int64
    /// Body bytes that the peer's TCP has acknowledged. The peer's program may have read fewer: its receive buffer lies
    /// between.
    public var acknowledged: Int64
    /// What `acknowledged` is worth.
    public var accuracy: ProgressAccuracy

    /// Describes a position.
    public init(sent: Int64, acknowledged: Int64, accuracy: ProgressAccuracy) {
        self.sent = sent
        self.acknowledged = acknowledged
        self.accuracy = accuracy
    }
}

/// What a count of acknowledged bytes is worth.
public enum ProgressAccuracy: Sendable, Hashable {
    /// The kernel's own count on a plain connection to the server.
    case exact
    /// Exact, but the peer is a proxy, which may hold bytes back from the server.
    case acknowledgedByProxy
    /// Worked out from encrypted or multiplexed bytes; true within the size of a record or of a frame.
    case estimated
}
