public import HTTPTypes

/// A transport, which runs single attempts and reports their events.
///
/// The production transport uses libcurl; the fake for tests is `ScriptedTransport` of WaybillTesting.
public protocol UploadTransport: Sendable {
    /// Starts an attempt immediately and returns.
    ///
    /// - Parameters:
    ///   - request: The attempt. It is started regardless of other running attempts: the caller limits their number.
    ///   - sink: The receiver of the events. It receives any number of events and exactly one
    ///     ``TransferEvent/ended(_:)``, the last.
    /// - Returns: A handle that controls the attempt.
    func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl

    /// Closes the connections that are kept open for later attempts, immediately or soon. Running attempts continue.
    /// The default implementation does nothing.
    func closeIdleConnections()

    /// An executor on the transport's thread, or `nil` if it has none. A task that prefers it starts attempts and
    /// continues after their end without a change of threads. The default implementation returns `nil`.
    var executor: (any TaskExecutor)? { get }
}

extension UploadTransport {
    /// `nil`: this transport has no thread for tasks.
    public var executor: (any TaskExecutor)? { nil }
    /// Does nothing: this transport keeps no connections, or does not support closing them.
    public func closeIdleConnections() {}
}

/// The handle of a running attempt. All methods are safe to call from any thread, at any time, any number of times;
/// after the end of the attempt they do nothing.
public protocol TransferControl: Sendable {
    /// Closes the connection. The attempt ends with ``TransferError/Code/cancelled`` within 200 ms.
    func cancel()
    /// Stops sending and receiving; the connection stays open.
    func pause()
    /// Continues after ``pause()``.
    func resume()
    /// Sets the maximum number of body bytes per second from now on; `nil` for no limit.
    func limit(to rate: ByteCount?)
}

/// The receiver of an attempt's events. Called on the transport's thread, so it must never block.
public protocol TransferSink: AnyObject, Sendable {
    /// Receives an event.
    func transfer(_ event: TransferEvent)

    /// Whether progress should be reported now. Read up to twenty times a second; `false` saves the work.
    var wantsProgress: Bool { get }
}

/// The events of an attempt, in this order. Each occurs at most once unless stated otherwise.
public enum TransferEvent: Sendable {
    /// A connection is ready, new or reused, and the request is being sent.
    case connected(TransferConnection)
    /// The position in the body, any number of times, but at most twenty times a second, and at the first and the last
    /// byte.
    case progress(TransferProgress)
    /// The peer's TCP has acknowledged the last byte of the body.
    case bodyAcknowledged
    /// The head of an interim response with the status 104 was read, which reports the state of a resumable upload. May
    /// occur any number of times, before and after the body is sent. Of several heads that arrive at once, a transport
    /// may report only the last, and the last one with a `Location` field.
    indirect case interimHead(HTTPResponse)
    /// The server's program reported how much of the body it has stored. Only resumable uploads report it. May occur any
    /// number of times, and the number can decrease.
    case stored(StoredProgress)
    /// The complete head of a final response (not 1xx) was read.
    indirect case responseHead(HTTPResponse)
    /// The attempt ended. This is the last event.
    indirect case ended(TransferEnd)
}

/// The connection of an attempt.
public struct TransferConnection: Sendable, Hashable {
    /// Whether the connection has carried an earlier request.
    public var isReused: Bool
    /// The peer's IP address as text.
    public var peerAddress: String
    /// The peer's port.
    public var peerPort: Int

    /// Creates a connection.
    public init(isReused: Bool, peerAddress: String, peerPort: Int) {
        self.isReused = isReused
        self.peerAddress = peerAddress
        self.peerPort = peerPort
    }
}

/// The position of an attempt in its body.
public struct TransferProgress: Sendable, Hashable {
    /// The number of body bytes handed to the kernel.
    public var sent: Int64
    /// The number of body bytes that the peer's TCP has acknowledged. The peer's program may have read fewer, because
    /// of its receive buffer.
    public var acknowledged: Int64
    /// The accuracy of `acknowledged`.
    public var accuracy: ProgressAccuracy

    /// Creates a position.
    public init(sent: Int64, acknowledged: Int64, accuracy: ProgressAccuracy) {
        self.sent = sent
        self.acknowledged = acknowledged
        self.accuracy = accuracy
    }
}

/// The number of body bytes that the server's program has stored, as the server reported it in a resumable upload.
public struct StoredProgress: Sendable, Hashable {
    /// The number of bytes from the start of the body.
    public var bytes: Int64
    /// Whether the server reported the number in a final response. A number from an interim response (status 104) may
    /// decrease if the request is interrupted, because some servers discard the bytes of an incomplete request.
    public var isConfirmed: Bool

    /// Creates a number of stored bytes.
    public init(bytes: Int64, isConfirmed: Bool) {
        self.bytes = bytes
        self.isConfirmed = isConfirmed
    }
}

/// The accuracy of a count of acknowledged bytes.
public enum ProgressAccuracy: Sendable, Hashable {
    /// The kernel's count on an unencrypted connection to the server.
    case exact
    /// Exact, but the peer is a proxy, which may not have forwarded all bytes to the server.
    case acknowledgedByProxy
    /// Computed from encrypted or multiplexed bytes; accurate to the size of a record or frame.
    case estimated
}
