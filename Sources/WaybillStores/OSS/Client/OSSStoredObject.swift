public import FoundationEssentials
public import HTTPTypes
import Waybill

/// An object that OSS has stored.
public struct OSSStoredObject: Sendable, Hashable {
    /// How an upload began.
    public enum Beginning: Sendable, Hashable {
        /// In a single request, without parts.
        case whole
        /// With the first part.
        case fresh
        /// Resumed from an earlier upload; the given number of parts was already stored.
        case resumed(parts: Int)
        /// From the start although there was a record, with the reason why the record was discarded.
        case afterDiscarding(String)
    }

    /// The bucket.
    public var bucket: String
    /// The object key.
    public var key: String
    /// The URL without a signature, on your domain if the endpoint is one. Access depends on the permissions of the
    /// object.
    public var url: String
    /// The `ETag` with its quotation marks, as received.
    public var etag: String
    /// The CRC-64 of the whole object, as reported by the store.
    public var checksum: UInt64?
    /// The version ID, if the bucket has versioning.
    public var versionID: String?
    /// The ID of the request that stored the object.
    public var requestID: String?
    /// The response body of the callback; `nil` without a callback, or if the response was lost.
    public var callbackResponse: [UInt8]?
    /// The position of the next append; only set after an append.
    public var nextPosition: Int64?
    /// Whether the response was lost, and the stored object was then identified by its checksum.
    public var wasFoundStored = false
    /// Whether nothing was sent because the store has the same object: ``OSSMultipartOptions/skipsSame``.
    public var wasSkipped = false
    /// How the upload began.
    public var beginning = Beginning.whole

    init(url: String, _ result: StoreCaller.CallResult, of object: OSSObjectRequests, _ beginning: Beginning) {
        bucket = object.bucket
        key = object.key
        self.url = url
        let fields = result.response.headers
        etag = fields[.eTag] ?? ""
        checksum = fields[.ossChecksum].flatMap { UInt64($0) }
        versionID = fields[.ossVersionID]
        requestID = fields[.ossRequestID]
        nextPosition = fields[.ossNextPosition].flatMap { Int64($0) }
        let hasCallback = object.options.callback != nil && !result.wasFound && !result.wasSame
        if hasCallback { callbackResponse = result.response.body }
        wasFoundStored = result.wasFound
        wasSkipped = result.wasSame
        self.beginning = beginning
    }
}

/// The metadata of an object.
public struct OSSObjectInfo: Sendable, Hashable {
    /// The size in bytes.
    public var size: Int64?
    /// The `ETag` with its quotation marks.
    public var etag: String
    /// The CRC-64 of the whole object.
    public var checksum: UInt64?
    /// The content type.
    public var contentType: String?
    /// The date of the last modification.
    public var lastModified: Date?
    /// The object type: `Normal`, `Multipart`, `Appendable` or `Symlink`.
    public var kind: String?
    /// The storage class; at stores of S3 `nil` for the standard class.
    public var storageClass: String?
    /// The version ID, if the bucket has versioning.
    public var versionID: String?
    /// The position of the next append.
    public var nextPosition: Int64?
    /// The user metadata; names are without `x-oss-meta-` or `x-amz-meta-`.
    public var metadata: [String: String] = [:]
    /// All header fields of the response.
    public var headers: HTTPFields

    init(_ response: UploadResponse, fieldPrefix: String = "x-oss-") {
        let fields = response.headers
        headers = fields
        size = fields[.contentLength].flatMap { Int64($0) }
        etag = fields[.eTag] ?? ""
        checksum = fields[.ossChecksum].flatMap { UInt64($0) }
        contentType = fields[.contentType]
        lastModified = response.date(in: .lastModified)
        kind = fields[.ossObjectType]
        let own = { (name: String) in HTTPField.Name(fieldPrefix + name).flatMap { fields[$0] } }
        storageClass = own("storage-class")
        versionID = own("version-id")
        nextPosition = fields[.ossNextPosition].flatMap { Int64($0) }
        let prefix = "\(fieldPrefix)meta-"
        for field in fields where field.name.canonicalName.hasPrefix(prefix) {
            metadata[String(field.name.canonicalName.dropFirst(prefix.count))] = field.value
        }
    }
}
