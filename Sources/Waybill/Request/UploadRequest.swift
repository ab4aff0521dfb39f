public import HTTPTypes
import WaybillCore

/// Everything that says what is to be sent where. A value: make it, change it, send it as often as you like.
///
/// ```swift
/// var request = UploadRequest(.put, "https://bucket.example/card.jpg", content: .file(path: "card.jpg"))
/// request.headers[.authorization] = "Bearer \(token)"
/// let response = try await session.send(request)
/// ```
///
/// Printing a request shows neither credentials nor queries: see ``description``.
public struct UploadRequest: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The URL, `http` or `https`; it may be relative to ``UploadSession/Configuration/baseURL``. Blanks and characters
    /// other than ASCII are percent-encoded when it is sent, what is encoded already stays.
    public var url: String
    /// Header fields, on top of the session's. `Content-Length`, `Transfer-Encoding`, `Host`, `Connection`, `Expect`
    /// and `Trailer` belong to the transport and are refused.
    public var headers: HTTPFields
    /// What is sent.
    public var content: UploadContent
    /// Options for this upload, or `nil` for the session's.
    public var options: UploadOptions?
    /// Interceptors of this upload, behind those of the session.
    public var interceptors: [any UploadInterceptor] = []

    /// Whether its path stays out of all that is printed, for it holds what is nobody's business: the id of an upload in
    /// parts, for example.
    package var hidesPath = false

    /// Describes an upload.
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
    /// Method, URL without user, password and query, and the size of the content.
    public var description: String { "\(method) \(shownURL) (\(content))" }

    /// ``description`` and the header fields; only values that are known to be harmless are shown.
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
