import HTTPTypes
import Waybill
public import WaybillCore
import WaybillMultipart

/// The requests for one object of OSS. Parts and object have a CRC-64.
struct OSSObjectRequests: ObjectRequests {
    let client: AliyunOSSClient
    let bucket: String
    let key: String
    let options: OSSObjectOptions

    /// The part limits of OSS: 10,000 parts of 100 KB to 5 GB.
    static let limits = PartLimits(minimumSize: .bytes(102_400), maximumSize: .gibibytes(5), maximumCount: 10_000)

    var caller: StoreCaller { client.caller }
    var checksum: RunningChecksum { .crc64 }
    var limits: PartLimits { Self.limits }
    var checksumElement: String? { "HashCrc64ecma" }
    var objectExists: String { AliyunOSSClient.objectExists }

    func check() throws(StoreError) {
        _ = try client.configuration.endpoint.url(bucket: bucket, key: key)
        _ = try options.fields(for: key)
    }

    func put(_ body: any UploadBody, _ run: ObjectRun) async throws(StoreError) -> StoreCaller.CallResult {
        try await client.store(body, to: key, in: bucket, options, run)
    }

    func initiationFields() throws(StoreError) -> HTTPFields { try options.fields(for: key) }

    func partFields() throws(StoreError) -> HTTPFields { try options.limitFields() }

    func completionFields(_ checksum: String?) throws(StoreError) -> HTTPFields {
        var fields: HTTPFields = [:]
        if options.forbidsOverwrite { fields[.ossForbidOverwrite] = "true" }
        guard let callback = options.callback else { return fields }
        return fields.adding(try callback.fields())
    }

    func compare(_ checksum: String?, withPart response: UploadResponse) throws(StoreError) {
        try client.compare(checksum.flatMap { UInt64($0) }, with: response)
    }

    func compare(_ checksum: String?, withObject response: UploadResponse) throws(StoreError) {
        try client.compare(checksum.flatMap { UInt64($0) }, with: response)
    }

    func matches(_ checksum: String?, _ response: UploadResponse) -> Bool? {
        checksum != nil && response.headers[.ossChecksum] == checksum
    }
}

extension AliyunOSSClient {
    /// Returns the upload of a file, which has not begun.
    func fileUpload(
        _ path: String, to key: String, in bucket: String, _ options: OSSObjectOptions = OSSObjectOptions(),
        _ multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) -> FileUpload {
        FileUpload(
            object: OSSObjectRequests(client: self, bucket: bucket, key: key, options: options), path: path,
            settings: FileUpload.Settings(
                endpoint: configuration.endpoint.text, records: configuration.records,
                partSize: configuration.partSize, maximumConcurrentParts: configuration.maximumConcurrentParts,
                singleRequestLimit: configuration.singleRequestLimit, now: configuration.now),
            multipart: multipart)
    }

    /// Uploads a file and returns the stored object.
    func storedObject(
        _ path: String, to key: String, in bucket: String, _ options: OSSObjectOptions,
        _ multipart: OSSMultipartOptions = OSSMultipartOptions(), _ run: ObjectRun
    ) async throws(StoreError) -> OSSStoredObject {
        let (result, beginning) = try await fileUpload(path, to: key, in: bucket, options, multipart).perform(run)
        var object = stored(result, key, bucket, hasCallback: options.callback != nil)
        object.beginning = beginning
        return object
    }
}

/// Options of a multipart upload. A property that is `nil` has the value of the client's configuration.
public struct OSSMultipartOptions: Sendable, Hashable {
    /// The part size within the limits of the store.
    public var partSize: ByteCount?
    /// The maximum number of concurrent parts.
    public var maximumConcurrentParts: Int?
    /// The maximum size of a file that is uploaded in a single request.
    public var singleRequestLimit: ByteCount?
    /// Whether a record is kept, so that another run can resume. If `false`, the parts are deleted when the upload
    /// fails.
    public var resumes = true
    /// Whether a file is not sent if the store has an object with the same size and checksum. This costs one request for
    /// each file; the file is read once more if the sizes agree. No callback is sent for a file that is not sent.
    ///
    /// OSS reports a CRC-64 of each object. Stores with the protocol of S3 report an MD5 of an object that was sent in a
    /// single request, and some a SHA-256; an object without either is replaced.
    public var skipsSame = false

    /// Creates options with the values of the client's configuration.
    public init() {}
}
