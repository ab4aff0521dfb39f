public import FoundationEssentials
public import HTTPTypes
import WaybillCore

/// The parts of a request to Amazon S3, or to a compatible store, that its signature covers (Signature Version 4).
///
/// ```swift
/// var request = S3RequestToSign(.put, "https://cards.s3.eu-west-1.amazonaws.com/2026/front.jpg")
/// request.headers[.contentType] = "image/jpeg"
/// let ticket = try request.presignedUpload(with: credentials, region: "eu-west-1", validFor: .seconds(600))
/// ```
///
/// The signature covers the host, `Content-Type`, `Content-MD5`, all fields that begin with `x-amz-`, and
/// ``additionalHeaders``. The result depends only on the input. The description omits the values of the query and the
/// header fields.
public struct S3RequestToSign: Sendable, Hashable {
    /// The HTTP method.
    public var method: HTTPRequest.Method
    /// Scheme, host and percent-encoded path, without a query. ``PercentEncoding/path(_:)`` encodes a key.
    public var location: String
    /// The query, not percent-encoded.
    public var query: [StoreQueryItem]
    /// The header fields as they will be sent, without `Host`.
    public var headers: HTTPFields
    /// The SHA-256 of the body in 64 lower-case hexadecimal digits; `nil` for `UNSIGNED-PAYLOAD`, which leaves the
    /// protection of the body to TLS. Presigned URLs never cover the body.
    public var payloadHash: String?
    /// Further header fields to sign. Fields that the request does not have are ignored.
    public var additionalHeaders: [HTTPField.Name] = []

    /// Creates a request.
    public init(
        _ method: HTTPRequest.Method, _ location: String, query: [StoreQueryItem] = [], headers: HTTPFields = [:],
        payloadHash: String? = nil
    ) {
        self.method = method
        self.location = location
        self.query = query
        self.headers = headers
        self.payloadHash = payloadHash
    }

    /// Signs the request in its header fields. Send them and the query unchanged.
    ///
    /// - Parameters:
    ///   - credentials: The credentials that sign.
    ///   - region: The region, such as `eu-west-1`, or the name that the store expects instead, such as `auto`.
    ///   - service: The service: `s3`.
    ///   - date: The date of the signature. Stores accept a difference of 15 minutes.
    /// - Returns: All header fields, with `Authorization`, `x-amz-date`, `x-amz-content-sha256` and, for temporary
    ///   credentials, `x-amz-security-token`.
    /// - Throws: ``StoreError/Code/invalidRegion``, ``StoreError/Code/invalidEndpoint``,
    ///   ``StoreError/Code/credentialsUnavailable`` or ``StoreError/Code/credentialsMalformed``.
    public func signedHeaders(
        with credentials: StoreCredentials, region: String, service: String = "s3", at date: Date = .now
    ) throws(StoreError) -> HTTPFields {
        let scope = S3SignatureV4.Scope(date: date, region: region, product: service)
        return try signed(with: credentials, scope: scope).headers
    }

    /// Signs the request in a URL, with which anyone can send this one request until it expires. A URL that was signed
    /// with temporary credentials also expires with them.
    ///
    /// - Parameters:
    ///   - credentials: The credentials that sign.
    ///   - region: The region, such as `eu-west-1`, or the name that the store expects instead, such as `auto`.
    ///   - service: The service: `s3`.
    ///   - date: The date from which the URL is valid.
    ///   - duration: The validity in whole seconds: at least 1, at most 604,800 (one week).
    /// - Returns: The URL, and the header fields that must be sent with it.
    /// - Throws: ``StoreError/Code/invalidExpiration`` and the errors of
    ///   ``signedHeaders(with:region:service:at:)``.
    public func presignedUpload(
        with credentials: StoreCredentials, region: String, service: String = "s3", at date: Date = .now,
        validFor duration: Duration
    ) throws(StoreError) -> OSSPresignedUpload {
        let seconds = try duration.validity(atMost: 604_800)
        let scope = S3SignatureV4.Scope(date: date, region: region, product: service)
        let signed = try signed(with: credentials, scope: scope, seconds: seconds)
        return try OSSPresignedUpload(
            "\(location)?\(StoreQueryItem.text(of: signed.query))", method: method, headers: signed.headers)
    }
}

extension S3RequestToSign {
    /// A signed request.
    struct Signed {
        var query: [StoreQueryItem]
        var headers: HTTPFields
        /// The string that was signed, for comparison with the store's after a signature mismatch.
        var stringToSign: String
        /// The string whose hash is part of ``stringToSign``.
        var canonicalRequest: String
    }

    /// Signs the request, in the header or, if it is valid for a number of seconds, in the query.
    func signed(
        with credentials: StoreCredentials, scope: S3SignatureV4.Scope, seconds: Int? = nil
    ) throws(StoreError) -> Signed {
        try credentials.check()
        try S3Name.checkRegion(scope.region)
        let (host, path) = try target()
        var dated = S3SignatureV4.dated(
            query: query, headers: headers, additional: additionalHeaders, identity: credentials.identity,
            scope: scope, seconds: seconds, payload: payloadHash ?? S3SignatureV4.unsignedPayload)
        let canonical = S3SignatureV4.canonicalRequest(method, path: path, host: host, dated)
        let text = S3SignatureV4.stringToSign(canonical, scope: scope)
        let signature = S3SignatureV4.signature(text, secret: credentials.accessKeySecret, scope: scope)
        if seconds == nil {
            dated.headers[.authorization] = S3SignatureV4.authorization(
                signature, identity: credentials.identity, scope: scope, listedNames: dated.listedNames)
        } else {
            dated.query.append(StoreQueryItem(S3SignatureRules.itemNames.signature, signature))
        }
        return Signed(query: dated.query, headers: dated.headers, stringToSign: text, canonicalRequest: canonical)
    }

    /// Returns the value of `Host`, without the default port of the scheme, and the path.
    private func target() throws(StoreError) -> (host: String, path: String) {
        let isPlain = location.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"?#@\\".utf8.contains($0) }
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")] where location.hasPrefix(scheme) && isPlain {
            let rest = location.dropFirst(scheme.count)
            let authority = rest.prefix { $0 != "/" }
            let path = rest.dropFirst(authority.count)
            guard !authority.isEmpty else { break }
            let host = authority.hasSuffix(port) ? authority.dropLast(port.count) : authority
            return (String(host), path.isEmpty ? "/" : String(path))
        }
        throw StoreError(
            .invalidEndpoint,
            "The location of a request must begin with https:// or http://, and be percent-encoded without a query.")
    }
}

extension S3RequestToSign: RedactedDescription {
    /// The method, the location, and the names of the query items.
    public var description: String {
        let names = query.isEmpty ? "" : "?" + query.map(\.description).joined(separator: "&")
        return "\(method) \(location)\(names)"
    }
}
