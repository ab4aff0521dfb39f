public import HTTPTypes
public import WaybillCore

/// An event of an upload, for dashboards, metrics and traces.
///
/// ```swift
/// for await event in session.events {
///     if case .ended(let end) = event.kind { counter.increment(by: end.attempts.count) }
/// }
/// ```
public struct UploadEvent: Sendable {
    /// The type of an event.
    public enum Kind: Sendable {
        /// The upload waits in the queue: either its body is ready, or others have to be prepared first.
        case queued
        /// The body is being prepared.
        case preparing
        /// An attempt has a slot and begins.
        case attemptStarted(HTTPRequest.Method)
        /// The attempt has a connection, new or reused.
        case connected(TransferConnection)
        /// The head of a final response was received. The header fields are in ``UploadTask/response``.
        case responseHead(HTTPResponse.Status)
        /// The attempt ended, with its status or error code and its statistics.
        case attemptEnded(AttemptEnd)
        /// The server redirected the upload to this URL (without user, password and query).
        case redirected(to: String)
        /// A new credential is being fetched for another attempt.
        case refreshingCredential
        /// Another attempt follows after a delay.
        case retrying(after: Duration, reason: String)
        /// The upload was paused.
        case paused
        /// The upload was resumed after a pause.
        case resumed
        /// An attempt that was stopped by a pause is started again.
        case restarted
        /// The upload ended. No event follows.
        case ended(UploadEnd)
    }

    /// How an attempt ended.
    public struct AttemptEnd: Sendable, Hashable {
        /// The status of a complete response.
        public var status: HTTPResponse.Status?
        /// The error code if there was no complete response.
        public var code: UploadError.Code?
        /// Body bytes handed to the kernel.
        public var sent: Int64
        /// Body bytes that the peer acknowledged.
        public var acknowledged: Int64
        /// The timing of the attempt.
        public var metrics: TransferMetrics
    }

    /// How an upload ended.
    public struct UploadEnd: Sendable, Hashable {
        /// The status of the last complete response, if any.
        public var status: HTTPResponse.Status?
        /// The error code; `nil` for a success.
        public var code: UploadError.Code?
        /// The outcome of a failed upload on the server; `nil` for a success.
        public var outcome: UploadOutcome?
        /// Every attempt with its reason and its statistics.
        public var attempts: [UploadAttempt]
    }

    /// The identifier of the upload.
    public var id: UploadID
    /// The number of the attempt that is running or being prepared, from 1.
    public var attempt: Int
    /// The time since the upload was started.
    public var elapsed: Duration
    /// What happened.
    public var kind: Kind
}

extension UploadEvent: CustomStringConvertible {
    /// One line without secrets: `0f… attempt 2 retrying after 1.5 seconds: 503 Service Unavailable`.
    public var description: String { "\(id) attempt \(attempt) \(kind)" }
}

extension UploadEvent.Kind: CustomStringConvertible {
    /// A description of the event in words.
    public var description: String {
        switch self {
        case .queued: "queued"
        case .preparing: "preparing"
        case .attemptStarted(let method): "started \(method)"
        case .connected(let connection):
            "connected to \(connection.peerAddress):\(connection.peerPort)\(connection.isReused ? ", reused" : "")"
        case .responseHead(let status): "response \(status.code)"
        case .attemptEnded(let end): "ended: \(end.status.map { "\($0.code)" } ?? end.code?.description ?? "unknown")"
        case .redirected(let url): "redirected to \(url)"
        case .refreshingCredential: "refreshing the credential"
        case .retrying(let delay, let reason): "retrying after \(delay): \(reason)"
        case .paused: "paused"
        case .resumed: "resumed"
        case .restarted: "restarted after a pause"
        case .ended(let end): end.code.map { "failed: \($0)" } ?? "succeeded"
        }
    }
}
