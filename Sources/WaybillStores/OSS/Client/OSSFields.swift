import HTTPTypes
import Waybill

extension HTTPField.Name {
    static let ossError = HTTPField.Name("x-oss-err")!
    static let ossRequestID = HTTPField.Name("x-oss-request-id")!
    static let ossDetailCode = HTTPField.Name("x-oss-ec")!
    static let ossChecksum = HTTPField.Name("x-oss-hash-crc64ecma")!
    static let ossVersionID = HTTPField.Name("x-oss-version-id")!
    static let ossNextPosition = HTTPField.Name("x-oss-next-append-position")!
    static let ossObjectType = HTTPField.Name("x-oss-object-type")!
    static let ossStorageClass = HTTPField.Name("x-oss-storage-class")!
    static let ossACL = HTTPField.Name("x-oss-object-acl")!
    static let ossForbidOverwrite = HTTPField.Name("x-oss-forbid-overwrite")!
    static let ossTagging = HTTPField.Name("x-oss-tagging")!
    static let ossTrafficLimit = HTTPField.Name("x-oss-traffic-limit")!
    static let ossCallback = HTTPField.Name("x-oss-callback")!
    static let ossCallbackVariables = HTTPField.Name("x-oss-callback-var")!
    static let ossEncryption = HTTPField.Name("x-oss-server-side-encryption")!
    static let ossEncryptionKeyID = HTTPField.Name("x-oss-server-side-encryption-key-id")!
}

extension StoreError {
    /// Creates the error for an object that OSS has stored but whose callback failed.
    init(callbackFailed response: UploadResponse) {
        let rejection = UploadError(
            .rejected, "The callback failed.", phase: .awaitingResponse, outcome: .rejected, response: response)
        self.init(StoreErrorResponse(response), response, outcome: .rejected, cause: rejection)
        code = .storedButCallbackFailed
        isStored = true
        message =
            "The object is stored, but the callback failed: \(message) Do not upload it again; notify your server in "
            + "another way."
    }

    /// Creates the error for a stored object whose checksum differs from that of the bytes sent.
    init(checksums ours: UInt64, _ theirs: UInt64, _ response: UploadResponse) {
        self.init(
            .checksumMismatch,
            "Checksum mismatch: the store reports the CRC-64 \(theirs), expected \(ours).",
            outcome: .rejected)
        requestID = response.headers[.ossRequestID]
    }
}
