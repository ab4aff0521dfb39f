public import HTTPTypes

/// Options of a multipart upload to a store with the protocol of S3.
public typealias S3MultipartOptions = OSSMultipartOptions

/// A condition of a write, which makes it safe to repeat.
public enum S3WriteCondition: Sendable, Hashable, Codable {
    /// No object has the key: `If-None-Match: *`.
    case isAbsent
    /// The object has this `ETag`, with its quotation marks: `If-Match`.
    case matches(etag: String)
}

/// The properties of an object to store.
///
/// ```swift
/// var options = S3ObjectOptions()
/// options.contentType = "application/pdf"
/// options.condition = .isAbsent
/// ```
///
/// Options are encoded with a durable upload (``DurableS3Upload``).
public struct S3ObjectOptions: ObjectOptions, Codable {
    /// The content type; `nil` to derive it from the extension of the key, or `application/octet-stream` if the
    /// extension is unknown.
    public var contentType: String?
    /// Further header fields, such as `Cache-Control`. If a property of this type sets a field, use the property.
    public var headers: HTTPFields = [:]
    /// User metadata, sent as `x-amz-meta-…`. Names consist of letters, digits and hyphens.
    public var metadata: [String: String] = [:]
    /// How to handle metadata that is not valid in a header field.
    public var metadataPolicy = OSSObjectOptions.MetadataPolicy.refuse
    /// The canned access control list, such as `private`; `nil` for the default of the store.
    public var acl: String?
    /// The storage class, such as `STANDARD_IA`; `nil` for the default of the store.
    public var storageClass: String?
    /// The tags, at most ten.
    public var tags: [String: String] = [:]
    /// The server-side encryption: `AES256` or `aws:kms`.
    public var encryption: String?
    /// The ID of the `aws:kms` key.
    public var encryptionKeyID: String?
    /// The condition of the write. If it is not met, the upload fails with the store's code `PreconditionFailed`. It
    /// needs ``S3Profile/supportsConditionalWrites``.
    public var condition: S3WriteCondition?

    /// Creates empty options.
    public init() {}

    /// Returns the header fields of a request that creates an object.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func fields(for key: String, _ profile: S3Profile) throws(StoreError) -> HTTPFields {
        let common = ObjectFields(
            headers: headers, contentType: contentType, metadata: metadata, metadataPolicy: metadataPolicy, tags: tags,
            metadataPrefix: "x-amz-meta-", reserved: [.ifMatch, .ifNoneMatch] + S3Checksum.allCases.map(\.field))
        var fields = try common.fields(for: key)
        let own: [(HTTPField.Name, String?)] = [
            (.s3ACL, acl), (.s3StorageClass, storageClass), (.s3Tagging, try common.tagText()),
            (.s3Encryption, encryption), (.s3EncryptionKeyID, encryptionKeyID),
        ]
        for case (let name, let value?) in own { fields[name] = value }
        _ = try conditionFields(profile)
        return fields
    }

    /// Returns the header fields of the request that makes the object visible.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func conditionFields(_ profile: S3Profile) throws(StoreError) -> HTTPFields {
        guard let condition else { return [:] }
        guard profile.supportsConditionalWrites else {
            throw StoreError(
                .invalidArgument,
                "By its profile, \(profile.name) would ignore the condition. Upload without a condition, or correct the "
                    + "profile.")
        }
        return switch condition {
        case .isAbsent: [.ifNoneMatch: "*"]
        case .matches(let etag): [.ifMatch: etag]
        }
    }
}
