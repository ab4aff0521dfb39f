import HTTPTypes
import Waybill
import WaybillCore

/// The requests for one object, in the parts that differ between stores with the same multipart uploads.
protocol ObjectRequests: Sendable {
    var caller: StoreCaller { get }
    var bucket: String { get }
    var key: String { get }
    /// The checksum that is computed of each part.
    var checksum: RunningChecksum { get }
    /// The limits of parts.
    var limits: PartLimits { get }
    /// The store's code for an existing object that must not be overwritten.
    var objectExists: String { get }

    /// Throws for an invalid bucket, key or option.
    func check() throws(StoreError)

    /// Stores the object in a single request.
    func put(_ body: any UploadBody, _ run: ObjectRun) async throws(StoreError) -> StoreCaller.CallResult

    /// Returns the header fields of the request that begins a multipart upload.
    func initiationFields() throws(StoreError) -> HTTPFields

    /// Returns the header fields of a request with a part.
    func partFields() throws(StoreError) -> HTTPFields

    /// Returns the header fields of the request that completes a multipart upload.
    func completionFields() throws(StoreError) -> HTTPFields

    /// Adds the digests of the body that the store needs in advance.
    func prepare(_ call: inout StoreCall) async throws(StoreError)

    /// Throws if the response to a part reports another checksum.
    func compare(_ checksum: String?, withPart response: UploadResponse) throws(StoreError)

    /// Throws if the response to a completion reports another checksum.
    func compare(_ checksum: String?, withObject response: UploadResponse) throws(StoreError)

    /// Returns the checksum of the object from those of its ordered parts; `nil` if one is missing.
    func wholeChecksum(of parts: [PartReceipt]) -> String?

    /// The header fields of a query for an object whose checksum is to be compared.
    var comparisonFields: HTTPFields { get }

    /// Returns the checksum of the whole object, as the store reports it; `nil` if it can't be compared.
    func storedChecksum(in response: UploadResponse) -> (RunningChecksum, String)?

    /// Checks whether the store has an object of this size and checksum.
    func lookUp(size: Int64, _ checksum: String?, _ run: ObjectRun) async -> StoreCaller.LookupResult
}

extension ObjectRequests {
    func prepare(_ call: inout StoreCall) async throws(StoreError) {}

    /// Deletes the parts of an upload at the store. Does nothing if the store no longer knows the upload.
    func abort(_ uploadID: String, _ run: ObjectRun) async throws(StoreError) {
        var call = StoreCall(.delete, bucket: bucket, key: key)
        call.query = [StoreQueryItem("uploadId", uploadID)]
        call.isIdempotent = true
        do throws(StoreError) {
            _ = try await caller.make(call, run)
        } catch  where error.code == .uploadGone {
            return
        }
    }
}
