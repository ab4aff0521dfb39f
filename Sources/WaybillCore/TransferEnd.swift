public import HTTPTypes

/// How an attempt ended.
public struct TransferEnd: Sendable {
    /// The response when all went well at the transport (whatever its status), else the error.
    public var result: Result<TransferResponse, TransferError>
    /// What was seen of the request's way.
    public var evidence: TransferEvidence
    /// Where the time went.
    public var metrics: TransferMetrics
    /// What was found wrong with a response whose status is accepted. A transport leaves it alone.
    package var objection: ResponseObjection?

    /// Describes an end.
    public init(
        result: Result<TransferResponse, TransferError>, evidence: TransferEvidence,
        metrics: TransferMetrics = TransferMetrics()
    ) {
        self.result = result
        self.evidence = evidence
        self.metrics = metrics
    }
}

/// A complete response: the whole head was seen and the whole body was read.
public struct TransferResponse: Sendable {
    /// Status and header fields.
    public var head: HTTPResponse
    /// The body.
    public var body: [UInt8]

    /// Describes a response.
    public init(head: HTTPResponse, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }
}

/// What was seen of a request's way to the server, in bytes and not in hopes.
public struct TransferEvidence: Sendable, Hashable {
    /// The length announced, or `nil` when the body was chunked.
    public var announced: Int64?
    /// Body bytes handed to the kernel.
    public var sent: Int64
    /// Body bytes that the peer's TCP acknowledged.
    public var acknowledged: Int64
    /// Whether the peer acknowledged any byte of the request, its head included. `false` on a connection that was dead
    /// before the first byte.
    public var requestAcknowledged: Bool
    /// Whether the last byte of the body was handed to the kernel.
    public var isBodyComplete: Bool
    /// Whether a complete head of a final response was read.
    public var sawResponseHead: Bool
    /// Whether the connection had served another request before, and the kernel's counts speak of this one alone: not over
    /// HTTP/2.
    public var isConnectionReused: Bool

    /// Describes what was seen; nothing, by default.
    public init(
        announced: Int64? = nil, sent: Int64 = 0, acknowledged: Int64 = 0, requestAcknowledged: Bool = false,
        isBodyComplete: Bool = false, sawResponseHead: Bool = false, isConnectionReused: Bool = false
    ) {
        self.announced = announced
        self.sent = sent
        self.acknowledged = acknowledged
        self.requestAcknowledged = requestAcknowledged
        self.isBodyComplete = isBodyComplete
        self.sawResponseHead = sawResponseHead
        self.isConnectionReused = isConnectionReused
    }
}

/// Where the time of an attempt went; each from its start.
public struct TransferMetrics: Sendable, Hashable {
    /// The name was looked up.
    public var nameLookup: Duration = .zero
    /// TCP was connected.
    public var connect: Duration = .zero
    /// TLS was agreed on; zero without TLS.
    public var tls: Duration = .zero
    /// The first byte of the answer came; zero if none did. Of several heads, such as `100 Continue`, the last counts.
    public var firstByte: Duration = .zero
    /// The end.
    public var total: Duration = .zero
    /// The connection, when there was one.
    public var connection: TransferConnection?
    /// Bytes of the request that were written, its head and framing included; of the rounds of Digest, the last one's body.
    public var requestBytes: Int64 = 0
    /// Those of them that the kernel took straight out of files (`sendfile(2)`), which nobody had to copy.
    public var sendfileBytes: Int64 = 0
    /// Bytes of the answer that were read, heads included, as they came over the wire.
    public var responseBytes: Int64 = 0
    /// How many connections had to be made: 0 on one that was kept alive.
    public var connectionsMade = 0
    /// The version that was spoken, as in `HTTP/2`; `nil` before there was an answer.
    public var httpVersion: String?

    /// All zero.
    public init() {}
}
