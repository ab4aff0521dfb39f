import HTTPTypes
public import WaybillCore
import WaybillMultipart

/// Why an upload did not succeed, and what may be believed about the server's side.
///
/// ```swift
/// do {
///     let response = try await session.upload(form, to: url)
/// } catch where error.outcome == .unknown {
///     // Everything was handed over and no answer came: look before you send it again.
/// } catch {
///     print(error)      // rejected: the server answered 413 Content Too Large [sending, attempt 1, rejected]
/// }
/// ```
///
/// ``code`` is for programs, ``message`` for people. Nothing that is printed holds a credential: header values, the user
/// information and the query of the URL are taken out of every text.
public struct UploadError: Error, Sendable {
    /// A kind of failure. Open: new ones may come with any release, so give a `switch` a `default`. The codes of
    /// `TransferError`, `BodyError` and `JPEGError` keep their names here.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name, as it is printed.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// What kind of failure it is.
    public var code: Code
    /// What went wrong, and the remedy.
    public var message: String
    /// Where the upload stood when it ended.
    public var phase: UploadPhase
    /// The field name of the part that is to blame, when one is.
    public var part: String?
    /// The attempt, from 1; the first one counts from the start of the upload.
    public var attempt: Int
    /// What may be believed about the server's side, over all attempts: the least certain of theirs.
    public var outcome: UploadOutcome
    /// Body bytes of the last attempt that were handed to the kernel.
    public var sent: Int64
    /// Body bytes of the last attempt that the peer acknowledged.
    public var acknowledged: Int64
    /// The last complete answer of the server, when there was one.
    public var response: UploadResponse?
    /// Every attempt that was started, with its reason.
    public var attempts: [UploadAttempt]
    /// The redirects that were followed, in order.
    public var redirects: [UploadRedirect] = []
    /// What the server said where its status was a yes and its body a no: ``Code/envelopeRejected``.
    public var envelope: EnvelopeRefusal?
    /// The error underneath: a `TransferError`, `BodyError`, `JPEGError` or one of your own body.
    public var cause: (any Error)?

    /// Describes a failure.
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
    /// Whether the same upload may be tried again later without risk: the server can't have acted on it, or said
    /// "not now". `false` for everything that the next try would meet again, such as a file that isn't there.
    public var isRetryable: Bool {
        if envelope?.asksForRetry == true { return true }
        guard phase != .waiting, phase != .preparing, (cause as? TransferError)?.code != .bodyFailed else {
            return false
        }
        let question = RetryPolicy.Question(
            attempt: 1, code: code, outcome: outcome, isReplayable: true,
            response: response.map { HTTPResponse(status: $0.status) })
        return RetryPolicy.standard.delay(after: question, jitter: 0) != nil
    }

    /// Whether a limit in time ran out.
    public var isTimeout: Bool {
        [.connectTimeout, .stalled, .responseTimeout, .totalTimeout].contains(code)
    }

    /// Whether the caller ended it, or the closing of the session.
    public var isCancelled: Bool { code == .cancelled }
}

extension UploadError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line: code, message, phase, attempt, outcome.
    public var description: String {
        return "\(code)\(place): \(message) [\(phase), attempt \(attempt), \(Self.name(of: outcome))]"
    }

    /// Several lines: ``description``, the bytes, the answer's status, the attempts and the cause.
    public var debugDescription: String {
        var lines = [description, "  sent \(sent), acknowledged \(acknowledged) bytes"]
        if let response { lines.append("  answer: \(response)") }
        lines += attempts.map { "  \($0)" }
        lines += redirects.map { "  redirect: \($0)" }
        if let cause { lines.append("  cause: \(Redaction.escaped("\(cause)"))") }
        return lines.joined(separator: "\n")
    }

    /// ` in part "FILE"`, or nothing where no part is to blame or the message begins with its number and name.
    package var place: String {
        guard let part else { return "" }
        let message = Redaction.escaped(message)
        if message.hasPrefix("part "), message.contains(Redaction.escaped("(\(quoted(part))):")) { return "" }
        return " in part \"\(Redaction.escaped(part))\""
    }

    static func name(of outcome: UploadOutcome) -> String {
        switch outcome {
        case .notSent: "not sent"
        case .incomplete(let acknowledged): "incomplete after \(acknowledged) bytes"
        case .rejected: "rejected"
        case .unknown: "outcome unknown"
        }
    }
}
