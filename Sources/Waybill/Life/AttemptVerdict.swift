import HTTPTypes
import WaybillCore

/// The verdict on an attempt: an accepted response, or a failure with its code and outcome.
struct AttemptVerdict: Sendable {
    struct Failure: Sendable {
        var code: UploadError.Code
        /// The code for the retry policy: the failure of the transfer, regardless of its cause.
        var transferCode: UploadError.Code
        var message: String
        var outcome: UploadOutcome
        var cause: (any Error)?
        /// The failure that the body of an accepted status reports.
        var envelope: EnvelopeRejection?
    }

    /// The failure; `nil` for an accepted response.
    var failure: Failure?
    /// The complete response, accepted or not.
    let response: TransferResponse?
    /// One sentence for the list of attempts.
    var reason: String
    /// Whether the server rejected the credential, with the status 401 or with the envelope.
    private(set) var isCredentialRejected = false

    init(_ record: AttemptRecord, _ end: TransferEnd, accepts: StatusPolicy, cancelMessage: String?) {
        switch end.result {
        case .success(let response):
            let status = response.head.status
            let isBodyComplete = record.isBodyAcknowledged || end.evidence.isBodyComplete
            let outcome =
                end.resumption?.outcome
                ?? UploadOutcome(of: record.evidence, status: status, isResponseComplete: true)
            self.response = response
            let words = Redaction.escaped("\(status.code) \(status.reasonPhrase)")
            reason = end.validationFailure.map { "\(words.sentence) \($0.words)" } ?? words
            isCredentialRejected = status.code == 401 || end.validationFailure?.kind == .credentialExpired
            if accepts.accepts(status) {
                // A response that arrives before a cancellation takes effect still describes the state of the server.
                // The transport ensures that a 2xx came after the whole body. An accepted 4xx or 5xx needs no check,
                // because it does not claim success.
                failure =
                    status.kind == .redirection && !isBodyComplete
                    ? Self.notTaken(status, outcome)
                    : end.validationFailure.map { Failure($0, status, cancelMessage: cancelMessage) }
                return
            }
            failure = Failure(
                code: cancelMessage == nil ? .rejected : .cancelled, transferCode: .rejected,
                message: cancelMessage
                    ?? "The server responded with \(reason.sentence)\(Self.hint(for: status, outcome))",
                outcome: outcome)
        case .failure(let error):
            let outcome = end.resumption?.outcome ?? record.outcome(of: error)
            response = nil
            reason = cancelMessage ?? Redaction.escaped(error.message)
            failure = Failure(
                code: cancelMessage == nil ? UploadError.code(of: error) : .cancelled,
                transferCode: UploadError.Code(error.code.description),
                message: cancelMessage ?? Redaction.escaped(UploadError.message(of: error)),
                outcome: outcome, cause: error)
            // The interceptor's own error is more specific than the error of the attempt.
            if failure?.code == .interceptorFailed { failure?.cause = error.cause }
        }
    }

    /// A response to an incomplete body is not a success, even if the caller accepts its status.
    private static func notTaken(_ status: HTTPResponse.Status, _ outcome: UploadOutcome) -> Failure {
        Failure(
            code: .bodyNotTaken, transferCode: .bodyNotTaken,
            message: "The server responded with \(status.code) before it received the whole body.",
            outcome: outcome)
    }

    /// Returns the remedy for a rejection, if the status indicates it.
    private static func hint(for status: HTTPResponse.Status, _ outcome: UploadOutcome) -> String {
        switch status.code {
        case 300... where outcome == .unknown: " It may have acted on the upload. Check before you send it again."
        case 300..<400: " Redirects are not followed. Send the upload to the URL in the Location field."
        case 401: " It requires valid credentials."
        case 411: " It requires a Content-Length. Provide the length of the stream."
        case 413: " The body is larger than the server accepts."
        case 415: " The server does not accept this content type."
        default: ""
        }
    }
}

/// The attempts so far and their combined outcome.
struct AttemptHistory: Sendable {
    private(set) var attempts: [UploadAttempt] = []
    private(set) var lastResponse: UploadResponse?
    /// The redirects that were followed.
    var redirects: [UploadRedirect] = []
    private var outcome = UploadOutcome.notSent
    /// The outcome of the attempts that were not part of a resumable upload.
    private var ordinaryOutcome = UploadOutcome.notSent

    /// Whether the server may have acted on any attempt.
    var mayBeStored: Bool { outcome == .unknown }

    /// Marks the last attempt as final, because the upload was cancelled before it was decided what follows.
    mutating func clearDisposition() {
        guard !attempts.isEmpty else { return }
        attempts[attempts.count - 1].disposition = .end
    }

    /// Replaces the planned retry of the last attempt with the reason for its absence.
    mutating func revoke(_ reason: NoRetryReason) {
        guard !attempts.isEmpty else { return }
        attempts[attempts.count - 1].disposition = .noRetry(reason)
    }

    mutating func add(
        _ record: AttemptRecord, _ end: TransferEnd, _ verdict: AttemptVerdict, disposition: AttemptDisposition
    ) {
        if let failure = verdict.failure {
            if let known = end.resumption?.outcome {
                // A resumable upload knows the outcome of all its attempts.
                outcome = known.lessCertain(than: ordinaryOutcome)
            } else {
                ordinaryOutcome = ordinaryOutcome.lessCertain(than: failure.outcome)
                outcome = outcome.lessCertain(than: failure.outcome)
            }
        }
        attempts.append(
            UploadAttempt(
                number: record.number, code: verdict.failure?.code, reason: verdict.reason,
                outcome: verdict.failure?.outcome, status: record.head?.status,
                sent: record.evidence.sent, acknowledged: record.evidence.acknowledged, metrics: end.metrics,
                disposition: disposition))
        if let url = end.resumption?.uploadURL { attempts[attempts.count - 1].uploadURL = url }
        if let response = verdict.response {
            lastResponse = UploadResponse(
                status: response.head.status, headers: response.head.headerFields, body: response.body,
                attempts: attempts, metrics: end.metrics)
            lastResponse?.redirects = redirects
        }
    }

    func error(
        _ code: UploadError.Code, _ message: String, snapshot: UploadSnapshot, cause: (any Error)? = nil
    ) -> UploadError {
        var error = UploadError(
            code, message, phase: snapshot.phase, part: cause.flatMap(UploadError.part), attempt: snapshot.attempt,
            outcome: outcome, sent: snapshot.sent, acknowledged: snapshot.acknowledged, response: lastResponse,
            attempts: attempts, cause: cause)
        error.redirects = redirects
        return error
    }
}
