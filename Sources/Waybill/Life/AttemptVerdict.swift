import HTTPTypes
import WaybillCore

/// What the end of an attempt means: an answer that is accepted, or a failure with its code and outcome.
struct AttemptVerdict: Sendable {
    struct Failure: Sendable {
        var code: UploadError.Code
        /// The code that the retry policy looks at: what failed the transfer, not why.
        var transferCode: UploadError.Code
        var message: String
        var outcome: UploadOutcome
        var cause: (any Error)?
        /// What the body of an accepted status said.
        var envelope: EnvelopeRefusal?
    }

    /// `nil` for an accepted answer.
    var failure: Failure?
    /// The complete answer, accepted or not.
    let response: TransferResponse?
    /// One sentence for the list of attempts.
    var reason: String
    /// Whether the server refused the credential: by the status 401, or by the envelope.
    private(set) var isCredentialRefused = false

    init(_ record: AttemptRecord, _ end: TransferEnd, accepts: StatusPolicy, cancelMessage: String?) {
        switch end.result {
        case .success(let response):
            let status = response.head.status
            let isBodyComplete = record.isBodyAcknowledged || end.evidence.isBodyComplete
            let outcome = UploadOutcome(of: record.evidence, status: status, isResponseComplete: true)
            self.response = response
            let words = Redaction.escaped("\(status.code) \(status.reasonPhrase)")
            reason = words + (end.objection.map { ", but \($0.words)" } ?? "")
            isCredentialRefused = status.code == 401 || end.objection?.kind == .credentialExpired
            if accepts.accepts(status) {
                // An answer that overtakes a cancel is still the truth about the server. That a 2xx came after the whole
                // body is the transport's to see; a 4xx or 5xx that is accepted says itself that it is no yes.
                failure =
                    status.kind == .redirection && !isBodyComplete
                    ? Self.notTaken(status, outcome)
                    : end.objection.map { Failure($0, status, cancelMessage: cancelMessage) }
                return
            }
            failure = Failure(
                code: cancelMessage == nil ? .rejected : .cancelled, transferCode: .rejected,
                message: cancelMessage ?? "the server answered \(reason)\(Self.hint(for: status, outcome))",
                outcome: outcome)
        case .failure(let error):
            let outcome = record.outcome(of: error)
            response = nil
            reason = cancelMessage ?? Redaction.escaped(error.message)
            failure = Failure(
                code: cancelMessage == nil ? UploadError.code(of: error) : .cancelled,
                transferCode: UploadError.Code(error.code.description),
                message: cancelMessage ?? Redaction.escaped(UploadError.message(of: error)),
                outcome: outcome, cause: error)
            // An interceptor's own error says more than that an attempt failed.
            if failure?.code == .interceptorFailed { failure?.cause = error.cause }
        }
    }

    /// A yes to a part of the body is no success, whatever the status that the caller takes for a yes.
    private static func notTaken(_ status: HTTPResponse.Status, _ outcome: UploadOutcome) -> Failure {
        Failure(
            code: .bodyNotTaken, transferCode: .bodyNotTaken,
            message: "the server answered \(status.code) before it had taken the whole body",
            outcome: outcome)
    }

    /// What to do about a refusal, where the status alone tells.
    private static func hint(for status: HTTPResponse.Status, _ outcome: UploadOutcome) -> String {
        switch status.code {
        case 300... where outcome == .unknown: ": it may have acted on the upload, so check before you send it again"
        case 300..<400: ": redirects are not followed, so send to the address in its Location field"
        case 401: ": it wants credentials"
        case 411: ": it wants to know the length beforehand, so give the stream one"
        case 413: ": the body is larger than it takes"
        case 415: ": it does not take this content type"
        default: ""
        }
    }
}

/// The attempts so far, and what they add up to.
struct AttemptHistory: Sendable {
    private(set) var attempts: [UploadAttempt] = []
    private(set) var lastResponse: UploadResponse?
    /// The redirects that were followed.
    var redirects: [UploadRedirect] = []
    private var outcome = UploadOutcome.notSent

    /// Whether the server may have acted on one of them.
    var mayBeStored: Bool { outcome == .unknown }

    /// The last attempt had been going to be followed by another one, and was cancelled before that was settled.
    mutating func withdrawSequel() {
        guard !attempts.isEmpty else { return }
        attempts[attempts.count - 1].sequel = .end
    }

    /// The last attempt had been going to be followed by another one, and is not.
    mutating func revoke(_ reason: NoRetryReason) {
        guard !attempts.isEmpty else { return }
        attempts[attempts.count - 1].sequel = .noRetry(reason)
    }

    mutating func add(_ record: AttemptRecord, _ end: TransferEnd, _ verdict: AttemptVerdict, sequel: AttemptSequel) {
        if let failure = verdict.failure { outcome = outcome.lessCertain(than: failure.outcome) }
        attempts.append(
            UploadAttempt(
                number: record.number, code: verdict.failure?.code, reason: verdict.reason,
                outcome: verdict.failure?.outcome, status: record.head?.status,
                sent: record.evidence.sent, acknowledged: record.evidence.acknowledged, metrics: end.metrics,
                sequel: sequel))
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
