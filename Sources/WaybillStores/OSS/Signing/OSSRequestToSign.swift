public import HTTPTypes
import WaybillCore

/// The parts of a request that its signature covers.
///
/// The URL is not among them: OSS signs bucket and key, whether the bucket is in the host name, in the path or implied
/// by a custom domain.
///
/// ```swift
/// var request = OSSRequestToSign(.put, bucket: "cards", key: "2026/front.jpg")
/// request.headers[.contentType] = "image/jpeg"
/// ```
///
/// The description omits the values of the query and the header fields.
public struct OSSRequestToSign: Sendable, Hashable {
    /// The HTTP method.
    public var method: HTTPRequest.Method
    /// The bucket, or `nil` for a request to the service.
    public var bucket: String?
    /// The object key, not percent-encoded, or `nil` for a request to the bucket.
    public var key: String?
    /// The query, not percent-encoded.
    public var query: [StoreQueryItem]
    /// The header fields as they will be sent. `Content-Type` must be included if it is sent at all, even if the HTTP
    /// client would add it implicitly.
    public var headers: HTTPFields

    /// Creates a request.
    public init(
        _ method: HTTPRequest.Method, bucket: String?, key: String? = nil, query: [StoreQueryItem] = [],
        headers: HTTPFields = [:]
    ) {
        self.method = method
        self.bucket = bucket
        self.key = key
        self.query = query
        self.headers = headers
    }

    /// The resource in every signature, not percent-encoded: `/bucket/key`, `/bucket/` or `/`.
    var resource: String { "/" + (bucket.map { "\($0)/" } ?? "") + (key ?? "") }

    func check() throws(StoreError) {
        if let bucket { try OSSName.checkBucket(bucket) }
        guard let key else { return }
        guard bucket != nil else {
            throw StoreError(.invalidBucket, "A key is specified without a bucket. Specify the bucket.")
        }
        try OSSName.checkKey(key)
    }

    /// The lower-case names of the header fields.
    var fieldNames: Set<String> { Set(headers.map(\.name.canonicalName)) }
}

extension OSSRequestToSign: RedactedDescription {
    /// The method, bucket and key, and the names of the query items.
    public var description: String {
        let names = query.isEmpty ? "" : "?" + query.map(\.description).joined(separator: "&")
        return "\(method) \(PercentEncoding.path(resource))\(names)"
    }
}

/// A request with its signature, in the header fields or in the query.
///
/// Send ``headers`` and ``query`` unchanged: every byte is signed.
public struct OSSSignedRequest: Sendable, Hashable {
    let request: OSSRequestToSign
    /// The string that was signed, for comparison with the store's after a signature mismatch. It can contain a
    /// security token: ``OSSSignatureDifference`` compares without revealing it.
    public let stringToSign: String
    /// The string whose hash is part of ``stringToSign`` in version 4; `nil` for version 1.
    public let canonicalRequest: String?
    /// The credentials that signed, to be passed as `rejecting` if the store rejects them; `nil` if the signature was
    /// created elsewhere.
    public internal(set) var credentials: StoreCredentials?

    init(request: OSSRequestToSign, stringToSign: String, canonicalRequest: String?) {
        self.request = request
        self.stringToSign = stringToSign
        self.canonicalRequest = canonicalRequest
    }

    /// All header fields, including `Authorization` and the date.
    public var headers: HTTPFields { request.headers }
    /// The complete query, not percent-encoded, including the items that the signature added.
    public var query: [StoreQueryItem] { request.query }
    /// The complete query, percent-encoded, without `?`; `nil` if empty.
    public var queryText: String? { query.isEmpty ? nil : StoreQueryItem.text(of: query) }
}

extension OSSSignedRequest: RedactedDescription {
    /// The request without its values.
    public var description: String { "signed \(request)" }
}
