import HTTPTypes
import Waybill

/// An object that a store has stored by the protocol of S3.
public struct S3StoredObject: Sendable, Hashable {
    /// The bucket.
    public var bucket: String
    /// The object key.
    public var key: String
    /// The URL without a signature. Access depends on the permissions of the object.
    public var url: String
    /// The `ETag` with its quotation marks, as received.
    public var etag: String
    /// The version ID, if the bucket has versioning.
    public var versionID: String?
    /// The ID of the request that stored the object.
    public var requestID: String?
    /// Whether the response was lost, and the stored object was then identified by its size and checksum or `ETag`.
    public var wasFoundStored = false
    /// Whether nothing was sent because the store has the same object: `skipsSame` of ``S3MultipartOptions``.
    public var wasSkipped = false
    /// How the upload began.
    public var beginning = OSSStoredObject.Beginning.whole

    init(
        url: String, _ result: StoreCaller.CallResult, of object: S3ObjectRequests,
        _ beginning: OSSStoredObject.Beginning
    ) {
        bucket = object.bucket
        key = object.key
        self.url = url
        let fields = result.response.headers
        // The response to the completion of a multipart upload has the ETag in its body.
        etag = fields[.eTag] ?? (try? BoundedXMLParser.read(result.response.body))?["ETag"] ?? ""
        versionID = fields[.s3VersionID]
        requestID = fields[.s3RequestID]
        wasFoundStored = result.wasFound
        wasSkipped = result.wasSame
        self.beginning = beginning
    }
}

/// The metadata of an object. The checksum, the type of the object and the next position are only reported by OSS.
public typealias S3ObjectInfo = OSSObjectInfo
