public import HTTPTypes
public import WaybillCore

/// An attempt as an interceptor sees it: everything but the bytes of its body.
///
/// Header fields and query can be changed. `Content-Length`, `Transfer-Encoding`, `Host`, `Connection`, `Expect` and
/// `Trailer` belong to the transport: an interceptor that sets one ends the upload with
/// ``UploadError/Code/invalidRequest``.
public struct OutgoingRequest: Sendable {
    /// The id of the upload.
    public let id: UploadID
    /// The attempt, from 1.
    public let attempt: Int
    /// The method.
    public let method: HTTPRequest.Method
    /// The header fields that will be sent, the session's and the credential included.
    public var headers: HTTPFields
    /// What will be sent; `nil` for a request without a body.
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

    /// The query of the URL, percent-encoded and without the `?`; `nil` for none. What is set is encoded where it has to
    /// be, and once only.
    public var query: String? {
        get { target.query }
        set { target.query = newValue.map { URLText.encoded($0, as: .query) } }
    }

    /// Adds a name and a value to the query. All but letters, digits and `-._~` is percent-encoded (RFC 3986 section 2.3).
    public mutating func appendQuery(_ name: String, _ value: String) {
        let pair = "\(URLText.component(name))=\(URLText.component(value))"
        target.query = target.query.map { $0.isEmpty ? pair : "\($0)&\(pair)" } ?? pair
    }
}

/// A body without its bytes.
public struct BodyDescription: Sendable, Hashable {
    /// The length in bytes, or `nil` when nobody knows before the end.
    public var length: Int64?
    /// The content type of the body's own.
    public var contentType: String?
    /// Whether it can be sent again.
    public var isReplayable: Bool
    /// The named parts, each with where it lies: the length of a range is the size of the part. Empty for what has none.
    public var parts: [BodyPart]

    init(_ body: any UploadBody) {
        length = body.length
        contentType = body.contentType
        isReplayable = body.isReplayable
        parts = body.parts
    }
}

extension OutgoingRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method, URL without user, password and query, and the attempt.
    public var description: String { "\(method) \(Redaction.url(url)) attempt \(attempt)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The redacted text only.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
