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
    var objectExists: String { "FileAlreadyExists" }

    func check() throws(StoreError) {
        _ = try client.configuration.endpoint.url(bucket: bucket, key: key)
        _ = try options.fields(for: key)
    }

    func put(_ body: any UploadBody, _ run: ObjectRun) async throws(StoreError) -> StoreCaller.CallResult {
        let body = ChecksummedBody(body)
        var call = StoreCall(.put, bucket: bucket, key: key)
        call.headers = try options.fields(for: key).adding(options.limitFields())
        if let callback = options.callback { call.headers = call.headers.adding(try callback.fields()) }
        call.body = body
        call.size = body.length ?? 0
        run.setTotal(body.length)
        run.enter(.sending)
        return try await caller.make(
            call, run,
            checks: { response throws(StoreError) in try client.compare(body.whole?.checksum, with: response) },
            existing: objectExists,
            lookUp: { await client.look(for: key, in: bucket, size: body.whole?.count, body.whole?.checksum, run) })
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
    /// single request, and some an `x-amz-checksum-…` of the whole object; an object with neither is replaced.
    public var skipsSame = false

    /// Creates options with the values of the client's configuration.
    public init() {}
}
