public import HTTPTypes

/// The access control of an object.
public enum OSSAccess: String, Sendable, Hashable, CaseIterable {
    /// The access control of the bucket.
    case inherited = "default"
    /// Only the owner has access.
    case `private`
    /// Everyone can read the object.
    case publicRead = "public-read"
    /// Everyone can read and overwrite the object.
    case publicReadWrite = "public-read-write"
}

/// The storage class of an object.
public enum OSSStorageClass: String, Sendable, Hashable, CaseIterable {
    /// For frequent access.
    case standard = "Standard"
    /// For infrequent access.
    case infrequentAccess = "IA"
    /// For archiving; restored within a minute.
    case archive = "Archive"
    /// For archiving; restored within hours.
    case coldArchive = "ColdArchive"
    /// For archiving; restored within half a day.
    case deepColdArchive = "DeepColdArchive"
}

/// The properties of an object to store.
///
/// ```swift
/// var options = OSSObjectOptions()
/// options.contentType = "application/pdf"
/// options.metadata = ["author": "alice"]
/// options.forbidsOverwrite = true
/// ```
public struct OSSObjectOptions: ObjectOptions {
    /// How to handle metadata that is not valid in a header field: non-ASCII characters, control characters, leading or
    /// trailing spaces.
    public enum MetadataPolicy: Sendable, Hashable, Codable {
        /// The upload fails with ``StoreError/Code/invalidArgument``.
        case refuse
        /// The value is percent-encoded, including each `%` in it. Readers must decode it.
        case percentEncode
    }

    /// The content type; `nil` to derive it from the extension of the key, or `application/octet-stream` if the
    /// extension is unknown.
    public var contentType: String?
    /// The header fields with which the object is served, such as `Cache-Control`, `Content-Disposition`,
    /// `Content-Encoding`, `Content-Language` and `Expires`. If a property of this type sets a header field, use the
    /// property.
    public var headers: HTTPFields = [:]
    /// User metadata, sent as `x-oss-meta-…`. Names consist of letters, digits and hyphens.
    public var metadata: [String: String] = [:]
    /// How to handle metadata that is not valid in a header field.
    public var metadataPolicy = MetadataPolicy.refuse
    /// The access control; `nil` for the access control of the bucket.
    public var access: OSSAccess?
    /// The storage class; `nil` for the storage class of the bucket.
    public var storageClass: OSSStorageClass?
    /// Whether the upload fails with the store's code `FileAlreadyExists` if the object exists.
    public var forbidsOverwrite = false
    /// The tags, at most ten. Uploads with an OSS form do not support tags.
    public var tags: [String: String] = [:]
    /// The server-side encryption: `AES256` or `KMS`.
    public var encryption: String?
    /// The ID of the `KMS` key.
    public var encryptionKeyID: String?
    /// The maximum rate at which the store accepts bytes, in bits per second: 819,200 to 838,860,800 (100 KiB to 100
    /// MiB per second). It applies to each part separately.
    public var trafficLimit: Int?
    /// The callback that OSS sends to your server after it has stored the object.
    public var callback: OSSCallback?

    /// Creates empty options.
    public init() {}

    /// Returns the header fields of requests that create an object: a put, the first append, or the initiation of a
    /// multipart upload.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func fields(for key: String) throws(StoreError) -> HTTPFields {
        let common = ObjectFields(
            headers: headers, contentType: contentType, metadata: metadata, metadataPolicy: metadataPolicy, tags: tags,
            metadataPrefix: "x-oss-meta-", reserved: [.ossCallback, .ossCallbackVariables])
        var fields = try common.fields(for: key)
        fields[.ossACL] = access?.rawValue
        fields[.ossStorageClass] = storageClass?.rawValue
        if forbidsOverwrite { fields[.ossForbidOverwrite] = "true" }
        if let tags = try common.tagText() { fields[.ossTagging] = tags }
        fields[.ossEncryption] = encryption
        fields[.ossEncryptionKeyID] = encryptionKeyID
        return fields
    }

    /// Returns the header fields of all requests that carry object bytes.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func limitFields() throws(StoreError) -> HTTPFields {
        guard let trafficLimit else { return [:] }
        guard (819_200...838_860_800).contains(trafficLimit) else {
            throw StoreError(
                .invalidArgument,
                "The traffic limit must be between 819200 and 838860800 bits per second; got \(trafficLimit)."
            )
        }
        var fields: HTTPFields = [:]
        fields[.ossTrafficLimit] = String(trafficLimit)
        return fields
    }
}
