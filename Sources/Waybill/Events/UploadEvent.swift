public import HTTPTypes
public import WaybillCore

/// Something that happened to an upload, for dashboards, metrics and traces.
///
/// ```swift
/// for await event in session.events {
///     if case .ended(let end) = event.kind { counter.increment(by: end.attempts.count) }
/// }
/// ```
public struct UploadEvent: Sendable {
    /// What happened.
    public enum Kind: Sendable {
        /// It waits for its turn: with its body ready, or behind others that have to be prepared first.
        case queued
        /// Its body is being made.
        case preparing
        /// An attempt has its slot and begins.
        case attemptStarted(HTTPRequest.Method)
        /// The attempt has a connection, fresh or kept alive.
        case connected(TransferConnection)
        /// The head of a final answer was read; of the header fields, look in the response.
        case responseHead(HTTPResponse.Status)
        /// The attempt is over: its status or its error's code, and its figures.
        case attemptEnded(AttemptEnd)
        /// The server sent the upload on, to this URL (without user, password and query).
        case redirected(to: String)
        /// A fresh credential is being fetched, for a second try with it.
        case refreshingCredential
        /// Another attempt will be made after this wait.
        case retrying(after: Duration, reason: String)
        /// It was paused.
        case paused
        /// It goes on after a pause.
        case resumed
        /// An attempt that a pause had stopped is made anew.
        case restarted
        /// The upload is over. Nothing follows.
        case ended(UploadEnd)
    }

    /// How an attempt ended.
    public struct AttemptEnd: Sendable, Hashable {
        /// The status of a complete answer.
        public var status: HTTPResponse.Status?
        /// Why there was none.
        public var code: UploadError.Code?
        /// Body bytes handed to the kernel.
        public var sent: Int64
        /// Body bytes that the peer acknowledged.
        public var acknowledged: Int64
        /// Where the time went.
        public var metrics: TransferMetrics
    }

    /// How an upload ended.
    public struct UploadEnd: Sendable, Hashable {
        /// The status of the last complete answer, if there was one.
        public var status: HTTPResponse.Status?
        /// Why it failed; `nil` for a success.
        public var code: UploadError.Code?
        /// What may be believed of a failure; `nil` for a success.
        public var outcome: UploadOutcome?
        /// Every attempt with its reason and its figures.
        public var attempts: [UploadAttempt]
    }

    /// The upload.
    public var id: UploadID
    /// The attempt under way or under preparation, from 1.
    public var attempt: Int
    /// The time since the upload was started.
    public var elapsed: Duration
    /// What happened.
    public var kind: Kind
}

extension UploadEvent: CustomStringConvertible {
    /// One line without a secret: `0f… attempt 2 retrying after 1.5 seconds: 503 Service Unavailable`.
    public var description: String { "\(id) attempt \(attempt) \(kind)" }
}

extension UploadEvent.Kind: CustomStringConvertible {
    /// In words.
    public var description: String {
        switch self {
        case .queued: "queued"
        case .preparing: "preparing"
        case .attemptStarted(let method): "started \(method)"
        case .connected(let connection):
            "connected to \(connection.peerAddress):\(connection.peerPort)\(connection.isReused ? ", kept alive" : "")"
        case .responseHead(let status): "answered \(status.code)"
        case .attemptEnded(let end): "over: \(end.status.map { "\($0.code)" } ?? end.code?.description ?? "ended")"
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
