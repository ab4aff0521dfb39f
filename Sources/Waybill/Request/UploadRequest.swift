public import HTTPTypes
import WaybillCore

/// The description of an upload: method, URL, header fields and content. A request is a value that can be changed and
/// sent any number of times.
///
/// ```swift
/// var request = UploadRequest(.put, "https://bucket.example/card.jpg", content: .file(path: "card.jpg"))
/// request.headers[.authorization] = "Bearer \(token)"
/// let response = try await session.send(request)
/// ```
///
/// A printed request contains neither credentials nor queries: see ``description``.
public struct UploadRequest: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The `http` or `https` URL, which may be relative to ``UploadSession/Configuration/baseURL``. Spaces and
    /// non-ASCII characters are percent-encoded when the request is sent. Existing percent-encoding is preserved.
    public var url: String
    /// Header fields, in addition to the session's. `Content-Length`, `Transfer-Encoding`, `Host`, `Connection`,
    /// `Expect` and `Trailer` are set by the transport and rejected here.
    public var headers: HTTPFields
    /// The content.
    public var content: UploadContent
    /// Options for this upload, or `nil` for the session's.
    public var options: UploadOptions?
    /// The interceptors of this upload, which follow those of the session.
    public var interceptors: [any UploadInterceptor] = []

    /// Whether the path is omitted from all printed text, because it contains confidential data such as the ID of a
    /// multipart upload.
    package var hidesPath = false
    /// Whether a second request has no further effect, although its method is not idempotent.
    package var isRepeatable = false
    /// Whether the content type of the body is sent. A presigned URL is often valid only for the header fields that were
    /// signed.
    package var sendsContentType = true

    /// Creates a request.
    public init(
        _ method: HTTPRequest.Method, _ location: some UploadLocation, headers: HTTPFields = [:],
        content: UploadContent = .empty, options: UploadOptions? = nil
    ) {
        self.method = method
        self.url = location.uploadURL
        self.headers = headers
        self.content = content
        self.options = options
    }
}

extension UploadRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, the URL without user, password and query, and the size of the content.
    public var description: String { "\(method) \(shownURL) (\(content))" }

    /// ``description`` and the header fields. Values are shown only if they are known to be harmless.
    public var debugDescription: String {
        let fields = headers.map { " \($0.name): \(Redaction.value(of: $0))" }
        return ([description] + fields).joined(separator: "\n")
    }

    private var shownURL: String {
        let shown = Redaction.url(url)
        guard hidesPath else { return shown }
        let origin = shown.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false
        ).prefix(3).map { String(Substring($0)) }.joined(separator: "/")
        return "\(origin)/\(Secret.placeholder)"
    }

    /// The redacted text only, for `dump` and debuggers.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
