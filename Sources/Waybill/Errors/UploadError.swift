import HTTPTypes
public import WaybillCore
import WaybillMultipart

/// The error of an upload, with what is known about its effect on the server.
///
/// ```swift
/// do {
///     let response = try await session.upload(form, to: url)
/// } catch where error.outcome == .unknown {
///     // Everything was sent and no response arrived: check before you send it again.
/// } catch {
///     print(error)      // rejected: The server responded with 413 Content Too Large. …
/// }
/// ```
///
/// Programs use ``code``, people read ``message``. Descriptions contain no credentials: header values, user information
/// and URL queries are removed from all text.
public struct UploadError: Error, Sendable {
    /// The type of a failure. Releases may add codes, so give a `switch` a `default`. The codes of `TransferError`,
    /// `BodyError` and `JPEGError` keep their names here.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// The type of the failure.
    public var code: Code
    /// What went wrong, and the remedy.
    public var message: String
    /// The phase in which the upload failed.
    public var phase: UploadPhase
    /// The field name of the part that caused the failure, if any.
    public var part: String?
    /// The number of the attempt, from 1. The first attempt includes the time before it.
    public var attempt: Int
    /// The outcome of the upload on the server: the least certain one of all attempts.
    public var outcome: UploadOutcome
    /// Body bytes of the last attempt that were handed to the kernel.
    public var sent: Int64
    /// Body bytes of the last attempt that the peer acknowledged.
    public var acknowledged: Int64
    /// The last complete response of the server, if any.
    public var response: UploadResponse?
    /// Every attempt that was started, with its reason.
    public var attempts: [UploadAttempt]
    /// The redirects that were followed, in order.
    public var redirects: [UploadRedirect] = []
    /// The failure that the response body reports although the status indicates success. See ``Code/envelopeRejected``.
    public var envelope: EnvelopeRejection?
    /// The underlying error: a `TransferError`, `BodyError`, `JPEGError` or an error of a custom body.
    public var cause: (any Error)?

    /// Creates an error.
    public init(
        _ code: Code, _ message: String, phase: UploadPhase, part: String? = nil, attempt: Int = 1,
        outcome: UploadOutcome = .notSent, sent: Int64 = 0, acknowledged: Int64 = 0, response: UploadResponse? = nil,
        attempts: [UploadAttempt] = [], cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.phase = phase
        self.part = part
        self.attempt = attempt
        self.outcome = outcome
        self.sent = sent
        self.acknowledged = acknowledged
        self.response = response
        self.attempts = attempts
        self.cause = cause
    }
}

extension UploadError {
    /// Whether the same upload can be retried later without risk: the server can't have acted on it, or asked for a
    /// retry. `false` for failures that a retry would meet again, such as a missing file.
    public var isRetryable: Bool {
        if envelope?.requestsRetry == true { return true }
        guard phase != .waiting, phase != .preparing, (cause as? TransferError)?.code != .bodyFailed else {
            return false
        }
        let context = RetryPolicy.Context(
            attempt: 1, code: code, outcome: outcome, isReplayable: true,
            response: response.map { HTTPResponse(status: $0.status) })
        return RetryPolicy.standard.delay(after: context, jitter: 0) != nil
    }

    /// Whether a time limit was exceeded.
    public var isTimeout: Bool {
        [.connectTimeout, .stalled, .responseTimeout, .totalTimeout].contains(code)
    }

    /// Whether the caller cancelled the upload or closed the session.
    public var isCancelled: Bool { code == .cancelled }
}

extension UploadError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line: code, message, phase, attempt, outcome.
    public var description: String {
        return "\(code)\(place): \(message) [\(phase), attempt \(attempt), \(Self.name(of: outcome))]"
    }

    /// Several lines: ``description``, the bytes, the status of the response, the attempts and the cause.
    public var debugDescription: String {
        var lines = [description, "  sent \(sent), acknowledged \(acknowledged) bytes"]
        if let response { lines.append("  response: \(response)") }
        lines += attempts.map { "  \($0)" }
        lines += redirects.map { "  redirect: \($0)" }
        if let cause { lines.append("  cause: \(Redaction.escaped("\(cause)"))") }
        return lines.joined(separator: "\n")
    }

    /// ` in part "FILE"`, or an empty string if no part is at fault or the message begins with the part's number and
    /// name.
    package var place: String {
        guard let part else { return "" }
        let message = Redaction.escaped(message)
        if message.hasPrefix("Part "), message.contains(Redaction.escaped("(\(quoted(part))):")) { return "" }
        return " in part \"\(Redaction.escaped(part))\""
    }

    static func name(of outcome: UploadOutcome) -> String {
        switch outcome {
        case .notSent: "not sent"
        case .incomplete(let acknowledged): "incomplete after \(acknowledged) bytes"
        case .rejected: "rejected"
        case .unknown: "outcome unknown"
        case .processed: "processed, response lost"
        }
    }
}
