public import FoundationEssentials
public import HTTPTypes
import Waybill

/// An object that OSS has stored.
public struct OSSStoredObject: Sendable, Hashable {
    /// How an upload in parts began.
    public enum Beginning: Sendable, Hashable {
        /// In one request, without parts.
        case whole
        /// With the first part.
        case fresh
        /// Where an earlier one had stopped; so many parts were there.
        case resumed(parts: Int)
        /// Anew, though there was a record; why that was of no use.
        case afterDiscarding(String)
    }

    /// The bucket.
    public var bucket: String
    /// The key.
    public var key: String
    /// Its URL without a signature; on a domain of your own if the endpoint is one. Whether it opens depends on who may read.
    public var url: String
    /// The `ETag` with its quotation marks, as the store wrote it.
    public var etag: String
    /// The CRC-64 of the whole object, as the store has it.
    public var checksum: UInt64?
    /// The version, in a bucket that keeps them.
    public var versionID: String?
    /// The id of the request that stored it.
    public var requestID: String?
    /// What your server answered to the callback; `nil` without one, or when the answer was lost.
    public var callbackAnswer: [UInt8]?
    /// Where the next append goes on; only after an append.
    public var nextPosition: Int64?
    /// Whether the answer was lost, and the object was found stored, byte for byte by its checksum.
    public var wasFoundStored = false
    /// How it began.
    public var beginning = Beginning.whole

    init(bucket: String, key: String, url: String, _ response: UploadResponse, hasCallback: Bool) {
        self.bucket = bucket
        self.key = key
        self.url = url
        let fields = response.headers
        etag = fields[.eTag] ?? ""
        checksum = fields[.ossChecksum].flatMap { UInt64($0) }
        versionID = fields[.ossVersionID]
        requestID = fields[.ossRequestID]
        nextPosition = fields[.ossNextPosition].flatMap { Int64($0) }
        if hasCallback { callbackAnswer = response.body }
    }
}

/// What OSS says about an object without giving it.
public struct OSSObjectInfo: Sendable, Hashable {
    /// The size in bytes.
    public var size: Int64?
    /// The `ETag` with its quotation marks.
    public var etag: String
    /// The CRC-64 of the whole object.
    public var checksum: UInt64?
    /// The content type.
    public var contentType: String?
    /// When it was stored.
    public var lastModified: Date?
    /// `Normal`, `Multipart`, `Appendable` or `Symlink`.
    public var kind: String?
    /// How it is kept.
    public var storageClass: String?
    /// The version, in a bucket that keeps them.
    public var versionID: String?
    /// Where the next append goes on.
    public var nextPosition: Int64?
    /// The metadata, names without `x-oss-meta-`.
    public var metadata: [String: String] = [:]
    /// All fields of the answer.
    public var headers: HTTPFields

    init(_ response: UploadResponse) {
        let fields = response.headers
        headers = fields
        size = fields[.contentLength].flatMap { Int64($0) }
        etag = fields[.eTag] ?? ""
        checksum = fields[.ossChecksum].flatMap { UInt64($0) }
        contentType = fields[.contentType]
        lastModified = fields[.lastModified].flatMap { HTTPDate($0) }.map {
            Date(timeIntervalSince1970: TimeInterval($0.seconds))
        }
        kind = fields[.ossObjectType]
        storageClass = fields[.ossStorageClass]
        versionID = fields[.ossVersionID]
        nextPosition = fields[.ossNextPosition].flatMap { Int64($0) }
        let prefix = "x-oss-meta-"
        for field in fields where field.name.canonicalName.hasPrefix(prefix) {
            metadata[String(field.name.canonicalName.dropFirst(prefix.count))] = field.value
        }
    }
}
