public import HTTPTypes
import WaybillCore
import WaybillMultipart

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
public struct OSSObjectOptions: Sendable, Hashable {
    /// How to handle metadata that is not valid in a header field: non-ASCII characters, control characters, leading or
    /// trailing spaces.
    public enum MetadataPolicy: Sendable, Hashable {
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
        var fields = headers
        for name in Self.reserved where fields[name] != nil {
            throw StoreError(.invalidArgument, "The header field \(name) is set by the client. Remove it.")
        }
        guard !fields.contains(where: { !Self.isASCII($0.value) }) else {
            throw StoreError(
                .invalidArgument, "A header field of the object contains characters beyond ASCII. Encode its value.")
        }
        let type = contentType ?? ContentTypeTable.standard.type(forFile: key) ?? "application/octet-stream"
        guard Self.isASCII(type), !type.isEmpty else {
            throw StoreError(
                .invalidArgument, "The content type \(StoreError.shown(type)) is not valid in a header field.")
        }
        fields[.contentType] = type
        for (name, value) in try metadataFields() { fields[name] = value }
        fields[.ossACL] = access?.rawValue
        fields[.ossStorageClass] = storageClass?.rawValue
        if forbidsOverwrite { fields[.ossForbidOverwrite] = "true" }
        if !tags.isEmpty { fields[.ossTagging] = try tagText() }
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

    /// Returns the header fields of the metadata, sorted by name.
    private func metadataFields() throws(StoreError) -> [(HTTPField.Name, String)] {
        var fields: [(HTTPField.Name, String)] = []
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let isPlain = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "-")
            }
            guard !name.isEmpty, isPlain, let field = HTTPField.Name("x-oss-meta-\(name)") else {
                throw StoreError(
                    .invalidArgument,
                    "The metadata name \(StoreError.shown(name)) is invalid. Use letters, digits and hyphens.")
            }
            fields.append((field, try metadataValue(value, of: name)))
        }
        return fields
    }

    private func metadataValue(_ value: String, of name: String) throws(StoreError) -> String {
        if Self.isASCII(value), value.utf8.first != 0x20, value.utf8.last != 0x20 { return value }
        guard metadataPolicy == .percentEncode else {
            throw StoreError(
                .invalidArgument,
                "The value of the metadata \(name) is not valid in a header field. Use printable ASCII, or choose "
                    + "percent-encoding.")
        }
        return PercentEncoding.query(value)
    }

    private func tagText() throws(StoreError) -> String {
        guard tags.count <= 10, tags.keys.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 128 }),
            tags.values.allSatisfy({ $0.utf8.count <= 256 })
        else {
            throw StoreError(
                .invalidArgument,
                "The tags are invalid. Use at most ten tags, with names of 1 to 128 bytes and values of at most 256 "
                    + "bytes.")
        }
        return tags.sorted { $0.key < $1.key }
            .map { "\(PercentEncoding.query($0.key))=\(PercentEncoding.query($0.value))" }.joined(separator: "&")
    }

    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } }

    private static let reserved: [HTTPField.Name] = [
        .contentType, .contentLength, .authorization, .date, .ossCallback, .ossCallbackVariables,
    ]
}
