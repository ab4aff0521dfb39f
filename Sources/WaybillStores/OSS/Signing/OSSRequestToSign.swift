public import HTTPTypes
import WaybillCore

/// Everything of a request that its signature covers.
///
/// The URL is not among it: OSS signs bucket and key, whether the bucket stands in the host, in the path or behind a domain
/// of your own.
///
/// ```swift
/// var request = OSSRequestToSign(.put, bucket: "cards", key: "2026/front.jpg")
/// request.headers[.contentType] = "image/jpeg"
/// ```
///
/// It prints without its query and its header fields.
public struct OSSRequestToSign: Sendable, Hashable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The bucket, or `nil` for a request to the service.
    public var bucket: String?
    /// The key as it is, not encoded, or `nil` for a request to the bucket.
    public var key: String?
    /// The query as it is meant, not encoded.
    public var query: [StoreQueryItem]
    /// The header fields as they will be sent. `Content-Type` must be there if one is sent at all, also when a client would
    /// add one by itself.
    public var headers: HTTPFields

    /// Describes a request.
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

    /// `/bucket/key`, `/bucket/` or `/`, not encoded: the resource that every signature names.
    var resource: String { "/" + (bucket.map { "\($0)/" } ?? "") + (key ?? "") }

    func check() throws(StoreError) {
        if let bucket { try OSSName.checkBucket(bucket) }
        guard let key else { return }
        guard bucket != nil else {
            throw StoreError(.invalidBucket, "a key was given without a bucket: name the bucket that holds it")
        }
        try OSSName.checkKey(key)
    }

    /// The values of a field, trimmed and joined with commas; empty if it is not there.
    func value(of name: HTTPField.Name) -> String {
        headers[values: name].map { Self.trimmed($0) }.joined(separator: ",")
    }

    /// The lower-case names of the fields that are there.
    var fieldNames: Set<String> { Set(headers.map(\.name.canonicalName)) }

    static func trimmed(_ text: String) -> String {
        let bytes = text.utf8
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(text[first...last])
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension OSSRequestToSign: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method, bucket and key, and the names of the query.
    public var description: String {
        let names = query.isEmpty ? "" : "?" + query.map(\.description).joined(separator: "&")
        return "\(method) \(PercentEncoding.path(resource))\(names)"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// A request with its signature, in its header fields or in its query.
///
/// Send ``headers`` and ``query`` exactly as they are: every byte of them is signed.
public struct OSSSignedRequest: Sendable, Hashable {
    let request: OSSRequestToSign
    /// What was signed, for a look at it beside the store's when the store says that the signature does not match. It may
    /// hold a security token: ``OSSSignatureDifference`` compares without showing it.
    public let stringToSign: String
    /// What version 4 hashed into ``stringToSign``; `nil` with version 1.
    public let canonicalRequest: String?
    /// The credentials that signed, to hand back as `rejecting` when the store refuses them; `nil` when the signature came
    /// from elsewhere.
    public internal(set) var credentials: StoreCredentials?

    init(request: OSSRequestToSign, stringToSign: String, canonicalRequest: String?) {
        self.request = request
        self.stringToSign = stringToSign
        self.canonicalRequest = canonicalRequest
    }

    /// All header fields, `Authorization` and the date among them.
    public var headers: HTTPFields { request.headers }
    /// The whole query, not encoded: what was there, and what the signature added.
    public var query: [StoreQueryItem] { request.query }
    /// The whole query, encoded and without its `?`; `nil` for none.
    public var queryText: String? { query.isEmpty ? nil : StoreQueryItem.text(of: query) }
}

extension OSSSignedRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The request without its values.
    public var description: String { "signed \(request)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
