public import struct FoundationEssentials.URL

/// A type that represents the URL of an upload: a `String` or a `URL`.
///
/// The text must be an absolute `http` or `https` URL, or relative to ``UploadSession/Configuration/baseURL``. Spaces,
/// non-ASCII characters and a stray `%` are percent-encoded once when the upload starts; `%20` is preserved. An invalid
/// URL causes an ``UploadError`` with the code ``UploadError/Code/invalidURL`` before anything is opened or sent.
public protocol UploadLocation: Sendable {
    /// The URL as text.
    var uploadURL: String { get }
}

extension String: UploadLocation {
    /// The string itself.
    public var uploadURL: String { self }
}

extension URL: UploadLocation {
    /// The absolute form of the URL.
    public var uploadURL: String { absoluteString }
}
