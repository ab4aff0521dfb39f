public import HTTPTypes
public import WaybillCore

/// The request of an attempt, as passed to interceptors, without the bytes of its body.
///
/// Header fields and query can be changed. `Content-Length`, `Transfer-Encoding`, `Host`, `Connection`, `Expect` and
/// `Trailer` are set by the transport: an interceptor that sets one of them ends the upload with
/// ``UploadError/Code/invalidRequest``.
public struct OutgoingRequest: Sendable {
    /// The identifier of the upload.
    public let id: UploadID
    /// The number of the attempt, from 1.
    public let attempt: Int
    /// The method.
    public let method: HTTPRequest.Method
    /// The header fields, including those of the session and the credential.
    public var headers: HTTPFields
    /// The description of the body; `nil` for a request without a body.
    public let body: BodyDescription?
    private var target: URLReference

    init(_ request: TransferRequest, attempt: Int) {
        id = request.id
        self.attempt = attempt
        method = request.method
        headers = request.headers
        body = request.body.map { BodyDescription($0) }
        target = URLReference(request.url)
    }

    /// The absolute URL.
    public var url: String { target.description }

    /// The path of the URL, percent-encoded.
    public var path: String { target.path }

    /// The query of the URL, percent-encoded and without the `?`; `nil` without a query. A new value is
    /// percent-encoded where necessary; existing percent-encoding is preserved.
    public var query: String? {
        get { target.query }
        set { target.query = newValue.map { URLText.encoded($0, as: .query) } }
    }

    /// Appends a name and a value to the query. All characters except letters, digits and `-._~` are percent-encoded
    /// (RFC 3986 section 2.3).
    public mutating func appendQuery(_ name: String, _ value: String) {
        let pair = "\(URLText.component(name))=\(URLText.component(value))"
        target.query = target.query.map { $0.isEmpty ? pair : "\($0)&\(pair)" } ?? pair
    }
}

/// The description of a body without its bytes.
public struct BodyDescription: Sendable, Hashable {
    /// The length in bytes, or `nil` if unknown.
    public var length: Int64?
    /// The content type of the body.
    public var contentType: String?
    /// Whether the body can be sent again.
    public var isReplayable: Bool
    /// The named parts with their ranges in the body. The length of a range is the size of the part. Empty for bodies
    /// without parts.
    public var parts: [BodyPart]

    init(_ body: any UploadBody) {
        length = body.length
        contentType = body.contentType
        isReplayable = body.isReplayable
        parts = body.parts
    }
}

extension OutgoingRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, the URL without user, password and query, and the attempt.
    public var description: String { "\(method) \(Redaction.url(url)) attempt \(attempt)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The redacted text only.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
