/// What receives the parts of a form as ``MultipartParser`` finds them.
///
/// The calls of one part come in order: began, data any number of times, ended. A part that was cut off has no end.
/// Whatever is thrown here ends the parsing and comes out of ``MultipartParser/feed(_:to:)``.
///
/// ```swift
/// struct FieldCounter: MultipartHandler {
///     var fields = 0
///     var bytes = 0
///     mutating func partBegan(_ head: MultipartPartHead) { fields += 1 }
///     mutating func partData(_ data: Span<UInt8>) { bytes += data.count }
///     mutating func partEnded() {}
/// }
/// ```
public protocol MultipartHandler {
    /// The headers of the next part are complete.
    mutating func partBegan(_ head: MultipartPartHead) throws
    /// More content of the part; at least one byte. How it is cut says nothing.
    mutating func partData(_ bytes: Span<UInt8>) throws
    /// The content of the part is complete.
    mutating func partEnded() throws
}

/// What the headers of a part say.
///
/// Names come from outside. Never make a path of a file name.
public struct MultipartPartHead: Sendable, Hashable {
    /// The field name, with `%22`, `%0D`, `%0A` and `\"` decoded. It may be empty.
    public var name: String
    /// The file name, decoded alike, or `nil` for a part that is no file. Bytes that are not UTF-8 are replaced.
    public var fileName: String?
    /// The content type, as sent.
    public var contentType: String?
    /// All header lines, in order.
    public var headers: [MultipartHeader]

    /// Describes a part.
    public init(name: String, fileName: String? = nil, contentType: String? = nil, headers: [MultipartHeader] = []) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
        self.headers = headers
    }
}
