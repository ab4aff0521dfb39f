public import HTTPTypes

/// The result of an attempt.
public struct TransferEnd: Sendable {
    /// The response, whatever its status, or the error of the transport.
    public var result: Result<TransferResponse, TransferError>
    /// The counters of the request's transmission.
    public var evidence: TransferCounters
    /// The timings and byte counts of the attempt.
    public var metrics: TransferMetrics
    /// The reason why a response with an accepted status is not a success. Transports do not set it.
    package var validationFailure: ResponseValidationFailure?
    /// The state of the resumable upload after the attempt; `nil` for any other upload. Transports do not set it.
    package var resumption: ResumptionState?

    /// Creates a result.
    public init(
        result: Result<TransferResponse, TransferError>, evidence: TransferCounters,
        metrics: TransferMetrics = TransferMetrics()
    ) {
        self.result = result
        self.evidence = evidence
        self.metrics = metrics
    }
}

/// The state of a resumable upload after an attempt. A class, because most ends have none.
package final class ResumptionState: Sendable {
    /// Whether another attempt can't make the server act twice, because it first asks the server what it has stored;
    /// `nil` if that depends on the method of the request.
    package let isRepeatable: Bool?
    /// Whether the server has stored more than before the attempt.
    package let hasAdvanced: Bool
    /// The outcome of the whole upload, which supersedes those of this attempt and of earlier ones; `nil` to determine it
    /// from the attempts.
    package let outcome: UploadOutcome?
    /// The URL under which the server has stored the whole body.
    package let uploadURL: String?

    package init(
        isRepeatable: Bool? = nil, hasAdvanced: Bool = false, outcome: UploadOutcome? = nil, uploadURL: String? = nil
    ) {
        self.isRepeatable = isRepeatable
        self.hasAdvanced = hasAdvanced
        self.outcome = outcome
        self.uploadURL = uploadURL
    }
}

/// A complete response: the whole head and the whole body were read.
public struct TransferResponse: Sendable {
    /// The status and header fields.
    public var head: HTTPResponse
    /// The body.
    public var body: [UInt8]

    /// Creates a response.
    public init(head: HTTPResponse, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }
}

/// The measured progress of a request's transmission.
public struct TransferCounters: Sendable, Hashable {
    /// The announced body length, or `nil` for a chunked body.
    public var announced: Int64?
    /// The number of body bytes handed to the kernel.
    public var sent: Int64
    /// The number of body bytes that the peer's TCP acknowledged.
    public var acknowledged: Int64
    /// Whether the peer acknowledged any byte of the request, including its head. `false` on a connection that was dead
    /// before the first byte.
    public var requestAcknowledged: Bool
    /// Whether the last byte of the body was handed to the kernel.
    public var isBodyComplete: Bool
    /// Whether the complete head of a final response was read.
    public var sawResponseHead: Bool
    /// Whether the connection had served another request before and the kernel's counters cover this request only.
    /// Always `false` over HTTP/2.
    public var isConnectionReused: Bool

    /// Creates a value; by default, nothing was sent or received.
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

/// The timings of an attempt, each measured from its start, and its byte counts.
public struct TransferMetrics: Sendable, Hashable {
    /// The time until the name was resolved.
    public var nameLookup: Duration = .zero
    /// The time until TCP was connected.
    public var connect: Duration = .zero
    /// The time until the TLS handshake was complete; zero without TLS.
    public var tls: Duration = .zero
    /// The time until the first byte of the last response head; zero if none arrived.
    public var firstByte: Duration = .zero
    /// The time until the end of the attempt.
    public var total: Duration = .zero
    /// The connection, if one was made.
    public var connection: TransferConnection?
    /// The number of request bytes written, including head and framing; with Digest, only the last round's body.
    public var requestBytes: Int64 = 0
    /// The number of those bytes that the kernel took directly from files (`sendfile(2)`), without a copy.
    public var sendfileBytes: Int64 = 0
    /// The number of response bytes read, including heads, as received on the wire.
    public var responseBytes: Int64 = 0
    /// The number of connections made; 0 if a kept-alive connection was reused.
    public var connectionsMade = 0
    /// The HTTP version of the response, such as `HTTP/2`; `nil` before a response arrived.
    public var httpVersion: String?

    /// Creates metrics in which all values are zero.
    public init() {}
}

/// The reason why a response with an accepted status is no success: its body reports a failure or is unreadable.
package struct ResponseValidationFailure: Sendable {
    package enum Kind: Sendable, Hashable {
        /// The envelope reports a rejection.
        case rejected
        /// The envelope reports that the credential has expired.
        case credentialExpired
        /// The envelope asks for a later retry.
        case retry
        /// The response could not be evaluated. The associated value is the name of an error code.
        case unreadable(String)
        /// The upload was cancelled before the response was evaluated.
        case cancelled
    }

    package var kind: Kind
    /// The code of the envelope as text, or an empty string if it has none.
    package var code: String
    /// The envelope's message, or the reason why the response could not be evaluated.
    package var message: String
    package var cause: (any Error)?

    package init(_ kind: Kind, code: String = "", message: String, cause: (any Error)? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.cause = cause
    }
}
