public import HTTPTypes
import WaybillCore
import WaybillMultipart

/// Who may read an object.
public enum OSSAccess: String, Sendable, Hashable, CaseIterable {
    /// As the bucket has it.
    case inherited = "default"
    /// Its owner.
    case `private`
    /// Everybody may read it.
    case publicRead = "public-read"
    /// Everybody may read and replace it.
    case publicReadWrite = "public-read-write"
}

/// How an object is kept.
public enum OSSStorageClass: String, Sendable, Hashable, CaseIterable {
    /// To be read often.
    case standard = "Standard"
    /// To be read rarely.
    case infrequentAccess = "IA"
    /// To be kept; thawed in a minute.
    case archive = "Archive"
    /// To be kept; thawed in hours.
    case coldArchive = "ColdArchive"
    /// To be kept; thawed in half a day.
    case deepColdArchive = "DeepColdArchive"
}

/// What is said about an object when it is stored.
///
/// ```swift
/// var options = OSSObjectOptions()
/// options.contentType = "application/pdf"
/// options.metadata = ["author": "alice"]
/// options.forbidsOverwrite = true
/// ```
public struct OSSObjectOptions: Sendable, Hashable {
    /// What becomes of metadata that a header field can't hold: characters beyond ASCII, control characters, blanks at an
    /// end.
    public enum MetadataPolicy: Sendable, Hashable {
        /// ``StoreError/Code/invalidArgument``.
        case refuse
        /// Such a value is sent percent-encoded, and with it each `%` of its own. Whoever reads it has to know.
        case percentEncode
    }

    /// The content type; told by the ending of the key when it is `nil`.
    public var contentType: String?
    /// `Cache-Control`, `Content-Disposition`, `Content-Encoding`, `Content-Language`, `Expires` and others that the object
    /// is to be served with. Fields that have a property here belong there.
    public var headers: HTTPFields = [:]
    /// Names and values of your own, sent as `x-oss-meta-…`; names are letters, digits and hyphens.
    public var metadata: [String: String] = [:]
    /// What becomes of metadata that a header field can't hold.
    public var metadataPolicy = MetadataPolicy.refuse
    /// Who may read it; as the bucket has it when `nil`.
    public var access: OSSAccess?
    /// How it is kept; as the bucket has it when `nil`.
    public var storageClass: OSSStorageClass?
    /// Whether an object of that key stays as it is, and the upload ends with `FileAlreadyExists`.
    public var forbidsOverwrite = false
    /// Tags, ten at most. Not with a form.
    public var tags: [String: String] = [:]
    /// How the store encrypts it: `AES256` or `KMS`.
    public var encryption: String?
    /// The key of `KMS`.
    public var encryptionKeyID: String?
    /// The most bits per second at which the store takes the bytes, 819,200 to 838,860,800 (100 KiB to 100 MiB a second);
    /// for each part by itself.
    public var trafficLimit: Int?
    /// What the store tells a server of yours when the object is stored.
    public var callback: OSSCallback?

    /// Nothing is said.
    public init() {}

    /// The fields that go with the creation of an object: with a put, an append at the beginning, the start of a multipart
    /// upload.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func fields(for key: String) throws(StoreError) -> HTTPFields {
        var fields = headers
        for name in Self.reserved where fields[name] != nil {
            throw StoreError(.invalidArgument, "The header field \(name) is set by the client. Leave it out.")
        }
        guard !fields.contains(where: { !Self.isASCII($0.value) }) else {
            throw StoreError(
                .invalidArgument, "a header field of the object holds characters beyond ASCII: encode them")
        }
        let type = contentType ?? ContentTypeTable.standard.type(forFile: key) ?? "application/octet-stream"
        guard Self.isASCII(type), !type.isEmpty else {
            throw StoreError(
                .invalidArgument, "the content type \(StoreError.shown(type)) can't stand in a header field")
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

    /// The fields that go with every request that carries bytes.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func limitFields() throws(StoreError) -> HTTPFields {
        guard let trafficLimit else { return [:] }
        guard (819_200...838_860_800).contains(trafficLimit) else {
            throw StoreError(
                .invalidArgument, "the traffic limit of \(trafficLimit) is not from 819200 to 838860800 bits per second"
            )
        }
        var fields: HTTPFields = [:]
        fields[.ossTrafficLimit] = String(trafficLimit)
        return fields
    }

    /// The fields of the metadata, in the order of their names.
    private func metadataFields() throws(StoreError) -> [(HTTPField.Name, String)] {
        var fields: [(HTTPField.Name, String)] = []
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let isPlain = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "-")
            }
            guard !name.isEmpty, isPlain, let field = HTTPField.Name("x-oss-meta-\(name)") else {
                throw StoreError(
                    .invalidArgument,
                    "the name \(StoreError.shown(name)) of the metadata has more than letters, digits and hyphens")
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
                "the value of the metadata \(name) can't stand in a header field: keep to visible ASCII, or have it encoded "
                    + "(`metadataPolicy`)")
        }
        return PercentEncoding.query(value)
    }

    private func tagText() throws(StoreError) -> String {
        guard tags.count <= 10, tags.keys.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 128 }),
            tags.values.allSatisfy({ $0.utf8.count <= 256 })
        else {
            throw StoreError(
                .invalidArgument, "there are ten tags at most, with names of 1 to 128 and values of up to 256 bytes")
        }
        return tags.sorted { $0.key < $1.key }
            .map { "\(PercentEncoding.query($0.key))=\(PercentEncoding.query($0.value))" }.joined(separator: "&")
    }

    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } }

    private static let reserved: [HTTPField.Name] = [
        .contentType, .contentLength, .authorization, .date, .ossCallback, .ossCallbackVariables,
    ]
}
