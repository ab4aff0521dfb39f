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
    /// The name of the checksum that the upload is begun with; `nil` if any upload can be resumed.
    var checksumName: String? { get }
    /// The XML element with the checksum of a listed part; `nil` if the list has no checksums.
    var checksumElement: String? { get }
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

    /// Returns the header fields of the request that completes a multipart upload to an object with a checksum.
    func completionFields(_ checksum: String?) throws(StoreError) -> HTTPFields

    /// Returns the body of the request that completes a multipart upload.
    func completion(of parts: [PartReceipt]) -> [UInt8]

    /// Adds the digests of the body that the store needs in advance.
    func prepare(_ call: inout StoreCall) async throws(StoreError)

    /// Throws if the response to a part reports another checksum.
    func compare(_ checksum: String?, withPart response: UploadResponse) throws(StoreError)

    /// Throws if the response to a completion reports another checksum.
    func compare(_ checksum: String?, withObject response: UploadResponse) throws(StoreError)

    /// Returns the header fields of a request for the metadata of the object.
    func headFields() -> HTTPFields

    /// Returns whether the metadata is that of an object with a checksum; `nil` if it has no comparable checksum.
    func matches(_ checksum: String?, _ response: UploadResponse) -> Bool?

    /// The header fields of a query for an object that may be the same as a file.
    var comparisonFields: HTTPFields { get }

    /// Returns the checksum of the whole object, as the store reports it; `nil` if it can't be compared.
    func storedChecksum(in response: UploadResponse) -> (RunningChecksum, String)?
}

extension ObjectRequests {
    var checksumName: String? { nil }

    func completion(of parts: [PartReceipt]) -> [UInt8] { MultipartXML.completion(of: parts) }

    func prepare(_ call: inout StoreCall) async throws(StoreError) {}

    func headFields() -> HTTPFields { [:] }

    var comparisonFields: HTTPFields { headFields() }

    /// Returns the metadata of the object; `nil` if there is no object, or one of another size.
    func head(size: Int64, _ run: ObjectRun) async throws(StoreError) -> UploadResponse? {
        var call = StoreCall(.head, bucket: bucket, key: key)
        call.headers = headFields()
        do throws(StoreError) {
            let response = try await caller.make(call, run).response
            return response.headers[.contentLength] == String(size) ? response : nil
        } catch  where error.status == 404 && error.storeCode != "NoSuchBucket" {
            return nil
        }
    }

    /// Checks whether the store has an object of this size and checksum.
    func lookUp(size: Int64, _ checksum: String?, _ run: ObjectRun) async -> StoreCaller.LookupResult {
        do throws(StoreError) {
            guard let response = try await head(size: size, run) else { return .notDone }
            switch matches(checksum, response) {
            case true?: return .done(response)
            case false?: return .notDone
            case nil:
                let message = "An object of the same size is stored, and its checksum and ETag are not comparable."
                return .unknown(StoreError(.rejected, message, outcome: .unknown))
            }
        } catch {
            return .unknown(error)
        }
    }

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
