public import struct FoundationEssentials.URL

/// Something that names the place an upload goes to: a `String` or a `URL`.
///
/// The text must be an absolute `http` or `https` URL. It is checked when the upload starts; a bad one gives an
/// ``UploadError`` with the code ``UploadError/Code/invalidURL`` before anything is opened or sent.
public protocol UploadLocation: Sendable {
    /// The absolute URL as text.
    var uploadURL: String { get }
}

extension String: UploadLocation {
    /// The text itself.
    public var uploadURL: String { self }
}

extension URL: UploadLocation {
    /// The absolute form of the URL.
    public var uploadURL: String { absoluteString }
}
