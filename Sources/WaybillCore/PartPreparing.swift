/// Something that makes the content of a part before it is sent, when that takes work: an image that has to shrink
/// under a limit, a document that has to be rendered.
///
/// It runs before the upload takes a slot, so that the next image is made while the last one is on the wire.
///
/// ```swift
/// struct Uppercased: PartPreparing {
///     let text: String
///     func prepare() async throws -> PreparedPart {
///         PreparedPart(content: .bytes(Array(text.uppercased().utf8)), contentType: "text/plain")
///     }
/// }
/// ```
public protocol PartPreparing: Sendable {
    /// Makes the content.
    ///
    /// - Throws: Why it can't be made; `CancellationError` when the task was cancelled meanwhile.
    func prepare() async throws -> PreparedPart
}

/// The finished content of a part, with what it changed about the part's headers.
public struct PreparedPart: Sendable {
    /// Where the bytes are.
    public enum Content: Sendable {
        /// In memory.
        case bytes([UInt8])
        /// In a file that stays as it is until the upload ends.
        case file(path: String)
    }

    /// The bytes.
    public var content: Content
    /// The content type that the bytes now have, or `nil` to keep the part's own.
    public var contentType: String?
    /// The file name that fits the bytes, or `nil` to keep the part's own.
    public var fileName: String?

    /// Describes what was made.
    public init(content: Content, contentType: String? = nil, fileName: String? = nil) {
        self.content = content
        self.contentType = contentType
        self.fileName = fileName
    }
}
