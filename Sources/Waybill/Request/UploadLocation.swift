public import struct FoundationEssentials.URL

/// Something that names the place an upload goes to: a `String` or a `URL`.
///
/// The text must be an absolute `http` or `https` URL, or relative to ``UploadSession/Configuration/baseURL``. Blanks,
/// characters other than ASCII and a stray `%` are percent-encoded when the upload starts, and once only: `%20` stays. A
/// bad one gives an ``UploadError`` with the code ``UploadError/Code/invalidURL`` before anything is opened or sent.
public protocol UploadLocation: Sendable {
    /// The URL as text.
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
