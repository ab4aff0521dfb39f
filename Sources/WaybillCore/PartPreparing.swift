/// A type that produces the content of a part before it is sent, when that takes work: an image that has to be
/// compressed to a limit, or a document that has to be rendered.
///
/// Preparation runs before the upload takes a slot, so the next image is prepared while the previous one is sent.
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
    /// Produces the content.
    ///
    /// - Throws: The reason why the content can't be produced; `CancellationError` if the task was cancelled meanwhile.
    func prepare() async throws -> PreparedPart
}

/// The finished content of a part, with the changes to the part's headers.
public struct PreparedPart: Sendable {
    /// The location of the bytes.
    public enum Content: Sendable {
        /// In memory.
        case bytes([UInt8])
        /// In a file that must not change until the upload ends.
        case file(path: String)
    }

    /// The bytes.
    public var content: Content
    /// The content type of the bytes, or `nil` to keep the part's content type.
    public var contentType: String?
    /// The file name that matches the bytes, or `nil` to keep the part's file name.
    public var fileName: String?

    /// Creates prepared content.
    public init(content: Content, contentType: String? = nil, fileName: String? = nil) {
        self.content = content
        self.contentType = contentType
        self.fileName = fileName
    }
}
