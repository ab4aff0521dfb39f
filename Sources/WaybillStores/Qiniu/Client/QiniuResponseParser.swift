public import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore

/// Parses the responses of Qiniu.
enum QiniuResponseParser {
    static let requestID = HTTPField.Name("X-Reqid")!

    /// Returns `error` from the JSON of a rejection; empty without that member.
    static func message(of response: UploadResponse?) -> String {
        guard let response, let body = try? JSONDecoder().decode(ErrorBody.self, from: Data(response.body)) else {
            return ""
        }
        return body.error ?? ""
    }

    /// Returns the facts on which the retry decision is based.
    static func facts(of result: Result<UploadResponse, UploadError>) -> QiniuRetry.ResponseFacts {
        switch result {
        case .success(let response):
            return QiniuRetry.ResponseFacts(
                status: response.status.code, hasRequestID: response.headers[requestID]?.isEmpty == false)
        case .failure(let error):
            let hasResponse = error.code == .rejected
            return QiniuRetry.ResponseFacts(
                status: hasResponse ? error.response?.status.code : nil, message: message(of: error.response),
                hasRequestID: error.response?.headers[requestID]?.isEmpty == false, date: error.response?.date,
                outcome: error.outcome,
                isPermanentFailure: isPermanentFailure(error))
        }
    }

    /// Whether the request would fail at every host, because the cause is local.
    private static func isPermanentFailure(_ error: UploadError) -> Bool {
        if error.phase == .waiting || error.phase == .preparing { return true }
        if (error.cause as? TransferError)?.code == .bodyFailed { return true }
        return [.cancelled, .sessionClosed, .certificateNotTrusted, .tlsSettingsUnusable, .invalidURL, .invalidRequest]
            .contains(error.code)
    }

    /// Returns the error of a failed request.
    static func error(
        of result: Result<UploadResponse, UploadError>, _ operation: QiniuRetry.Operation, host: String
    ) -> StoreError {
        let facts = facts(of: result)
        var error: StoreError
        let response: UploadResponse?
        switch result {
        case .success(let received):
            response = received
            error = StoreError(
                .unexpectedResponse,
                facts.hasRequestID
                    ? "The store responded with \(received.status.code), which is neither success nor an error."
                    : "The response is not from Qiniu: it has no X-Reqid. Check for a proxy between this machine and "
                        + "the store.",
                outcome: .unknown)
        case .failure(let failure):
            response = failure.response
            error = StoreError(failure)
            if failure.code == .rejected, !facts.hasRequestID {
                error.code = .unexpectedResponse
                error.message = "A server other than Qiniu responded. \(failure.message)"
            } else if failure.code == .rejected, let status = facts.status {
                (error.code, error.message) = explanation(status, facts.message, operation)
            }
        }
        error.isStored = error.code == .storedButCallbackFailed
        error.status = response?.status.code ?? error.status
        error.requestID = response?.headers[requestID]
        error.host = host
        return error
    }

    private static func explanation(
        _ status: Int, _ message: String, _ operation: QiniuRetry.Operation
    ) -> (StoreError.Code, String) {
        let reason = message.isEmpty ? "." : ": \(StoreError.shown(message).sentence)"
        switch status {
        case 401 where operation != .regions:
            return (.rejected, "The upload token is invalid or has expired\(reason) Get a new one.")
        case 406:
            return (.checksumMismatch, "Checksum mismatch: the store received other bytes than were read\(reason)")
        case 413: return (.sizeNotAllowed, "The file exceeds the size that the upload token allows\(reason)")
        case 579:
            return (
                .storedButCallbackFailed,
                "The object is stored, but the callback failed\(reason) Do not upload it again."
            )
        case 612 where operation != .form && operation != .begin, 701:
            return (.uploadGone, "The store no longer knows this upload\(reason)")
        case 614: return (.objectExists, "A different object exists under this key\(reason)")
        default: return (.rejected, "The store responded with \(status)\(reason)")
        }
    }

    private struct ErrorBody: Decodable {
        var error: String?
    }
}

/// An object that Qiniu has stored.
public struct QiniuObject: Sendable, Hashable {
    /// The object key; `nil` if a custom response does not contain it.
    public var key: String?
    /// The hash, see ``QiniuEtag``; `nil` if a custom response does not contain it.
    public var hash: String?
    /// The URL without a signature, if the client knows the domain from which objects are read:
    /// ``QiniuClient/Configuration/publicDomain``. Access depends on the permissions of the bucket.
    public var url: String?
    /// The body of the response: Qiniu's JSON, the result of `returnBody`, or the response of the callback.
    public var body: [UInt8]
    /// The ID of the request, for Qiniu's support.
    public var requestID: String?
    /// The host that stored the object.
    public var host: String
    /// Whether the hash was verified against the bytes sent.
    public var isHashChecked = false
    /// The number of bytes that an earlier run had stored.
    public var resumedBytes: Int64 = 0
    /// Whether nothing was sent because the store has the same object: ``QiniuPutOptions/skipsSame``.
    public var wasSkipped = false

    /// Decodes the body of the response as JSON.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(body))
    }
}

extension StoreError.Code {
    /// A put policy contradicts itself, or its deadline has passed; the message names the members.
    public static let invalidPutPolicy = Self("invalidPutPolicy")
    /// The string is not an upload token.
    public static let invalidUploadToken = Self("invalidUploadToken")
    /// The upload token has expired, or would before the object is complete.
    public static let uploadTokenExpired = Self("uploadTokenExpired")
    /// The scope of the upload token is not for this key or bucket.
    public static let uploadTokenDoesNotCover = Self("uploadTokenDoesNotCover")
    /// The provider of upload tokens failed; the cause is its error.
    public static let uploadTokenUnavailable = Self("uploadTokenUnavailable")
    /// The object has more or fewer bytes than the upload token allows.
    public static let sizeNotAllowed = Self("sizeNotAllowed")
    /// The upload hosts of the bucket are unknown: no query returned hosts that are trusted.
    public static let regionUnknown = Self("regionUnknown")
    /// Something else is stored under the key, and it may not be overwritten (614).
    public static let objectExists = Self("objectExists")
}
