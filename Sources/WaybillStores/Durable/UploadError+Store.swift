import Waybill
import WaybillCore

// The one place where errors of a store become those that a queue understands. A queue knows no store: it goes by outcome, code,
// phase and the status of the answer.

extension UploadError {
    /// What a queue has to know of a failed delivery. The cause is the store's error.
    init(_ error: StoreError, attempt: Int) {
        let under = error.cause as? UploadError
        var result =
            under
            ?? UploadError(
                Code(error.code.description), error.message,
                phase: error.outcome == nil ? .preparing : .awaitingResponse)
        result.code = Code(error.code.description)
        result.message = error.message
        result.attempt = attempt
        result.outcome = error.outcome ?? result.outcome
        result.cause = error
        if error.part != nil, result.outcome == .unknown {
            // Whatever became of the part: the object is made by the request after the last one.
            result.outcome = .incomplete(acknowledged: result.acknowledged)
        }
        switch StoreFailure(error) {
        case .asItIs: break
        case .lane:
            result.code = .credentialRefreshFailed
        case .final:
            // The phase of what the next attempt would meet again, whatever the status means elsewhere.
            result.phase = .preparing
        case .passing:
            result.phase = .awaitingResponse
            // The store refuses requests above its rate, so it has not acted on them.
            if let status = error.status, QiniuRetry.throttled.contains(status) { result.outcome = .rejected }
            if result.outcome != .unknown { result.response = nil }
        case .unreachable:
            result.code = under?.code ?? result.code
            if under == nil { result.phase = .connecting }
        }
        self = result
    }
}

/// What is known of a failure that status and outcome alone don't tell.
private enum StoreFailure {
    case asItIs
    /// Nothing of this account goes through until somebody does something.
    case lane
    /// The next attempt of this object would meet the same.
    case final
    /// The next attempt may go better.
    case passing
    /// Nobody was there who could be asked.
    case unreachable

    init(_ error: StoreError) {
        self =
            if Self.laneCodes.contains(error.code) || Self.isLane(error) {
                .lane
            } else if Self.finalCodes.contains(error.code) || Self.isFinal(error) {
                .final
            } else if error.code == .regionUnknown, error.status == nil {
                .unreachable
            } else if Self.passingCodes.contains(error.code) || Self.isPassing(error) {
                .passing
            } else {
                .asItIs
            }
    }

    private static let laneCodes: Set<StoreError.Code> = [
        .credentialsUnavailable, .credentialsExpired, .credentialsRejected, .credentialsTimedOut, .credentialsMalformed,
        .signingFailed, .uploadTokenExpired, .uploadTokenUnavailable, .invalidUploadToken,
    ]
    private static let finalCodes: Set<StoreError.Code> = [.objectExists, .uploadTokenDoesNotCover, .sizeNotAllowed]
    private static let passingCodes: Set<StoreError.Code> = [.checksumMismatch, .uploadGone]

    /// A clock that could not be put right (OSS says that with 400, too), and an account that is frozen (Qiniu, 419).
    private static func isLane(_ error: StoreError) -> Bool {
        if error.status == 419 { return true }
        guard let response = (error.cause as? UploadError)?.response else { return false }
        return OSSErrorReply(response).isClockComplaint
    }

    /// "There is one already" is 409 with OSS; a file that its policy does not allow is 403 with Qiniu.
    private static func isFinal(_ error: StoreError) -> Bool {
        if error.storeCode == "FileAlreadyExists" { return true }
        guard error.status == 403 else { return false }
        let said = QiniuReply.message(of: (error.cause as? UploadError)?.response)
        return ["mimeType", "fsizeMin", "scope"].contains { said.contains($0) }
    }

    /// "Not now" in Qiniu's own numbers, which mean nothing elsewhere. Those that HTTP has too are left as they are.
    private static func isPassing(_ error: StoreError) -> Bool {
        guard let status = error.status, status > 504 else { return false }
        let response = (error.cause as? UploadError)?.response
        guard response?.headers[QiniuReply.requestID] != nil else { return false }
        return QiniuRetry.throttled.contains(status) || QiniuRetry.again.contains(status)
    }
}
