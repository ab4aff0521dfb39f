import HTTPTypes
import WaybillCore
import WaybillMultipart

/// The header fields of an object that all stores have, with their checks.
struct ObjectFields {
    var headers: HTTPFields
    var contentType: String?
    var metadata: [String: String]
    var metadataPolicy: OSSObjectOptions.MetadataPolicy
    var tags: [String: String]
    /// The prefix of the metadata's field names.
    var metadataPrefix: String
    /// The fields that the client sets.
    var reserved: [HTTPField.Name]

    /// Returns the fields of the object, its content type and its metadata.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func fields(for key: String) throws(StoreError) -> HTTPFields {
        var fields = headers
        for name in [.contentType, .contentLength, .authorization, .date] + reserved where fields[name] != nil {
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
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let isPlain = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "-")
            }
            guard !name.isEmpty, isPlain, let field = HTTPField.Name(metadataPrefix + name) else {
                throw StoreError(
                    .invalidArgument,
                    "The metadata name \(StoreError.shown(name)) is invalid. Use letters, digits and hyphens.")
            }
            fields[field] = try metadataValue(value, of: name)
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

    /// Returns the tags as the value of a field; `nil` without tags.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func tagText() throws(StoreError) -> String? {
        guard !tags.isEmpty else { return nil }
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
}
