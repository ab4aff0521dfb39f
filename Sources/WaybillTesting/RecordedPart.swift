public import WaybillMultipart

/// A part of a ``RecordedForm``.
public struct RecordedPart: Sendable {
    /// The field name.
    public let name: String
    /// The file name, for parts that have one.
    public let fileName: String?
    /// The content type as sent, or `nil` if the part has none, as is usual for text fields.
    public let contentType: String?
    /// All header lines of the part, in order.
    public let headers: [MultipartHeader]
    /// The content.
    public internal(set) var bytes: [UInt8] = []

    init(_ head: MultipartPartHead) {
        name = head.name
        fileName = head.fileName
        contentType = head.contentType
        headers = head.headers
    }

    /// The content as text.
    ///
    /// - Throws: ``TestingError/Code/notText`` when it is not UTF-8.
    public var text: String {
        get throws(TestingError) {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw TestingError(.notText, "The content of \(self) is not UTF-8. Compare its bytes.")
            }
            return text
        }
    }
}

extension RecordedPart: CustomStringConvertible {
    /// The name, file name, type and size, without the content.
    public var description: String {
        let details = [fileName.map { "file \"\($0)\"" }, contentType, "\(bytes.count) bytes"].compactMap(\.self)
        return "\(name) (\(details.joined(separator: ", ")))"
    }
}

extension RecordedPart: CustomReflectable {
    /// Only the description.
    public var customMirror: Mirror { Mirror(self, children: ["part": description]) }
}
