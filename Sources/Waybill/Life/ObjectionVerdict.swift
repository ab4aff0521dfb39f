import HTTPTypes
import WaybillCore

extension AttemptVerdict.Failure {
    /// Creates the failure of an upload whose status indicates success, but whose body reports a failure or can't be
    /// read.
    init(_ objection: ResponseValidationFailure, _ status: HTTPResponse.Status, cancelMessage: String?) {
        let envelope = EnvelopeRejection(
            code: objection.code, message: objection.message, requestsRetry: objection.kind == .retry)
        let isCancelled = cancelMessage != nil
        switch objection.kind {
        case .rejected, .credentialExpired, .retry:
            self.init(
                code: isCancelled ? .cancelled : .envelopeRejected,
                transferCode: envelope.requestsRetry ? .envelopeAskedForRetry : .envelopeRejected,
                message: cancelMessage ?? "The server responded with \(status.code). \(objection.words)",
                outcome: .rejected, envelope: envelope)
        case .unreadable(let name):
            let code = UploadError.Code(name)
            self.init(
                code: isCancelled ? .cancelled : code, transferCode: code,
                message: cancelMessage ?? "The server responded with \(status.code). \(objection.words)",
                outcome: .unknown, cause: objection.cause)
        case .cancelled:
            self.init(
                code: .cancelled, transferCode: .cancelled, message: cancelMessage ?? objection.message,
                outcome: .unknown)
        }
    }
}

extension ResponseValidationFailure {
    /// The code of the resulting error.
    var uploadCode: UploadError.Code {
        switch kind {
        case .rejected, .credentialExpired, .retry: .envelopeRejected
        case .unreadable(let name): UploadError.Code(name)
        case .cancelled: .cancelled
        }
    }

    /// One or more sentences that follow the one with the status.
    var words: String {
        guard [.rejected, .credentialExpired, .retry].contains(kind) else { return message.sentence }
        let reported = [code.isEmpty ? "" : "code \(code)", message].filter { !$0.isEmpty }.joined(separator: ", ")
        return "The response body was not accepted\(reported.isEmpty ? "" : ": \(reported)")".sentence
    }
}
