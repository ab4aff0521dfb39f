/// A type that receives the parts of a form from ``MultipartParser``.
///
/// For each part, the methods are called in order: began, data any number of times, ended. A part that was cut off has
/// no end. An error thrown here ends the parsing and is rethrown by ``MultipartParser/feed(_:to:)``.
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
    /// Called when the headers of the next part are complete.
    mutating func partBegan(_ head: MultipartPartHead) throws
    /// Called with at least one more byte of content. The sizes of the pieces have no meaning.
    mutating func partData(_ bytes: Span<UInt8>) throws
    /// Called when the content of the part is complete.
    mutating func partEnded() throws
}

/// The parsed headers of a part.
///
/// Names come from the sender. Never use a file name as a path.
public struct MultipartPartHead: Sendable, Hashable {
    /// The field name, with `%22`, `%0D`, `%0A` and `\"` decoded. It may be empty.
    public var name: String
    /// The file name, decoded alike, or `nil` for a part that is not a file. Bytes that are not UTF-8 are replaced.
    public var fileName: String?
    /// The content type, as sent.
    public var contentType: String?
    /// All header lines, in order.
    public var headers: [MultipartHeader]

    /// Creates a head.
    public init(name: String, fileName: String? = nil, contentType: String? = nil, headers: [MultipartHeader] = []) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
        self.headers = headers
    }
}
