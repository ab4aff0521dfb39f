import Waybill
import WaybillCore

// The only place where errors of a store are converted for a queue. A queue has no knowledge of stores: it evaluates
// the outcome, code, phase and response status.

extension UploadError {
    /// Creates the error of a failed delivery. Its cause is the store's error.
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
            // The outcome of a part does not matter: only the later Complete request creates the object.
            result.outcome = .incomplete(acknowledged: result.acknowledged)
        }
        switch StoreFailureClass(error) {
        case .unchanged: break
        case .lane:
            result.code = .credentialRefreshFailed
        case .final:
            // Use the phase of local errors, so that the queue does not retry, whatever the status means in general.
            result.phase = .preparing
        case .transient:
            result.phase = .awaitingResponse
            // The store rejects requests above its rate limit without applying them.
            if let status = error.status, QiniuRetry.throttled.contains(status) { result.outcome = .rejected }
            if result.outcome != .unknown { result.response = nil }
        case .unreachable:
            result.code = under?.code ?? result.code
            if under == nil { result.phase = .connecting }
        }
        self = result
    }
}

/// The classification of a failure for which status and outcome are not sufficient.
private enum StoreFailureClass {
    case unchanged
    /// Every upload with this account fails until the problem is fixed.
    case lane
    /// Another attempt of this object would fail in the same way.
    case final
    /// Another attempt can succeed.
    case transient
    /// No server could be reached.
    case unreachable

    init(_ error: StoreError) {
        self =
            if Self.laneCodes.contains(error.code) || Self.isLane(error) {
                .lane
            } else if Self.finalCodes.contains(error.code) || Self.isFinal(error) {
                .final
            } else if error.code == .regionUnknown, error.status == nil {
                .unreachable
            } else if Self.transientCodes.contains(error.code) || Self.isTransient(error) {
                .transient
            } else {
                .unchanged
            }
    }

    private static let laneCodes: Set<StoreError.Code> = [
        .credentialsUnavailable, .credentialsExpired, .credentialsRejected, .credentialsTimedOut, .credentialsMalformed,
        .signingFailed, .uploadTokenExpired, .uploadTokenUnavailable, .invalidUploadToken,
    ]
    private static let finalCodes: Set<StoreError.Code> = [.objectExists, .uploadTokenDoesNotCover, .sizeNotAllowed]
    private static let transientCodes: Set<StoreError.Code> = [.checksumMismatch, .uploadGone]

    /// Whether a clock could not be corrected (also reported by OSS with 400) or the account is frozen (Qiniu, 419).
    private static func isLane(_ error: StoreError) -> Bool {
        if error.status == 419 { return true }
        guard let response = (error.cause as? UploadError)?.response else { return false }
        return StoreErrorResponse(response).isClockError
    }

    /// Whether the object already exists (OSS, 409) or the put policy does not allow the file (Qiniu, 403).
    private static func isFinal(_ error: StoreError) -> Bool {
        if error.storeCode == "FileAlreadyExists" { return true }
        guard error.status == 403 else { return false }
        let message = QiniuResponseParser.message(of: (error.cause as? UploadError)?.response)
        return ["mimeType", "fsizeMin", "scope"].contains { message.contains($0) }
    }

    /// Whether the store asks for the request again with a status that is otherwise final, or Qiniu with its own status.
    private static func isTransient(_ error: StoreError) -> Bool {
        guard let status = error.status else { return false }
        if status < 429 { return StoreErrorResponse.transientCodes.contains { $0 == error.storeCode } }
        guard status > 504 else { return false }
        let response = (error.cause as? UploadError)?.response
        guard response?.headers[QiniuResponseParser.requestID] != nil else { return false }
        return QiniuRetry.throttled.contains(status) || QiniuRetry.transient.contains(status)
    }
}
