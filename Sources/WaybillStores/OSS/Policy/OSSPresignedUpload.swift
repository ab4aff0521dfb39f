public import FoundationEssentials
public import HTTPTypes
public import Waybill
public import WaybillCore

/// A presigned URL, valid for one type of request until it expires. It is created on a server and used by a client that
/// has no secret.
///
/// ```swift
/// let ticket = try OSSPresignedUpload("https://cards.oss-cn-hangzhou.aliyuncs.com/7.jpg?…", headers: [.contentType: "image/jpeg"])
/// let response = try await session.send(ticket.request(.file(path: "front.jpg")))
/// ```
///
/// Content type, digest and `x-oss-` fields that were signed must be sent unchanged: ``headers`` contains them. The URL
/// is never printed, because it is the credential.
public struct OSSPresignedUpload: Sendable, Hashable {
    /// The method that was signed.
    public let method: HTTPRequest.Method
    /// The URL with its signature.
    public let url: Secret
    /// The header fields that were signed.
    public let headers: HTTPFields
    /// The date at which the URL expires, read from its query; `nil` if the query does not contain it.
    public let expiration: Date?

    /// Creates an upload from a URL that was signed elsewhere.
    ///
    /// - Throws: ``StoreError/Code/presignedMalformed`` unless it is an `http` or `https` URL without spaces and
    ///   control characters.
    public init(
        _ url: String, method: HTTPRequest.Method = .put, headers: HTTPFields = [:]
    ) throws(StoreError) {
        let isHTTP = url.utf8.starts(with: "https://".utf8) || url.utf8.starts(with: "http://".utf8)
        guard isHTTP, !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw StoreError(
                .presignedMalformed,
                "The presigned URL must begin with https:// or http:// and contain no whitespace. Check whether it "
                    + "was copied correctly.")
        }
        self.method = method
        self.url = .secret(url)
        self.headers = headers
        expiration = PresignedQuery(url).expiration
    }

    /// Creates an upload from a signed request.
    ///
    /// - Parameters:
    ///   - signed: A request that was signed for the query: ``OSSSigningRules/Placement/query(validFor:)``.
    ///   - location: Scheme, host and percent-encoded path, without a query.
    /// - Throws: ``StoreError/Code/presignedMalformed``.
    public init(_ signed: OSSSignedRequest, at location: String) throws(StoreError) {
        guard let query = signed.queryText, signed.headers[.authorization] == nil, !location.utf8.contains(0x3F) else {
            throw StoreError(
                .presignedMalformed, "The request was signed for the header, or its location already has a query.")
        }
        try self.init("\(location)?\(query)", method: signed.request.method, headers: signed.headers)
    }

    /// Returns a request that uploads a content. It has no content type unless ``headers`` contains one, and none of
    /// the session's interceptors, header fields and credentials.
    ///
    /// - Throws: ``StoreError/Code/presignedExpired``.
    public func request(_ content: UploadContent, at now: Date = .now) throws(StoreError) -> UploadRequest {
        if let expiration, expiration <= now {
            throw StoreError(
                .presignedExpired, "The presigned URL expired at \(StoreDate.iso8601(expiration)). Request a new one.")
        }
        var options = UploadOptions()
        options.excludedDefaults = [.interceptors, .headers, .cookies]
        var request = UploadRequest(method, url.value, headers: headers, content: content, options: options)
        // A content type of the body that was not signed would invalidate the signature.
        request.sendsContentType = false
        return request
    }
}

extension OSSPresignedUpload {
    /// Returns the request of ``request(_:at:)``, and a check that compares the CRC-64 of the body with the store's.
    package func checkedRequest(
        _ body: any UploadBody
    ) throws(StoreError) -> (UploadRequest, check: @Sendable (UploadResponse) throws(StoreError) -> Void) {
        let body = ChecksummedBody(body)
        let request = try request(.body(body))
        return (request, { (response) throws(StoreError) in try Self.check(response, body.whole?.checksum) })
    }

    private static func check(_ response: UploadResponse, _ ours: UInt64?) throws(StoreError) {
        if let ours, let theirs = response.headers[.ossChecksum].flatMap({ UInt64($0) }), theirs != ours {
            throw StoreError(checksums: ours, theirs, response)
        }
        // OSS responds with 203 if it stored the object and the callback in the signed URL failed.
        guard response.status.code == 203 else { return }
        guard response.headers[.ossRequestID] == nil else { throw StoreError(callbackFailed: response) }
        throw StoreError(foreign: response, store: "OSS")
    }

    /// Converts the error of a failed request; a rejection gets the store's error code.
    package static func error(_ error: UploadError) -> StoreError {
        guard let response = error.response, error.code == .rejected else { return StoreError(error) }
        let reply = StoreErrorResponse(response)
        // The URL may belong to another store, whose error XML has the same structure.
        guard reply.code != nil else { return StoreError(error) }
        let store = response.headers[.ossRequestID] == nil ? "The store" : "OSS"
        return StoreError(reply, response, outcome: error.outcome, cause: error, store: store)
    }
}

extension OSSPresignedUpload: RedactedDescription {
    /// The method, and the URL without its query.
    public var description: String { "\(method) \(Redaction.url(url.value))" }
}

/// The expiration in the query of a presigned URL. Version 1 has the end as a Unix time; version 4 and Amazon S3 have a
/// start date and a duration.
private struct PresignedQuery {
    private var values: [String: String] = [:]

    init(_ url: String) {
        let query =
            url.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1).dropFirst().first
            ?? url.utf8[url.utf8.endIndex...]
        for pair in query.prefix(while: { $0 != UInt8(ascii: "#") }).split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, let name = String(parts[0]), let value = String(parts[1]) else { continue }
            values[name.lowercased()] = value
        }
    }

    var expiration: Date? {
        if let end = values["expires"].flatMap({ Int($0) }), end < 253_402_300_799 {
            return Date(timeIntervalSince1970: Double(end))
        }
        for (begin, length) in [("x-oss-date", "x-oss-expires"), ("x-amz-date", "x-amz-expires")] {
            guard let date = values[begin].flatMap({ StoreDate.parse($0) }),
                let seconds = values[length].flatMap({ Int($0) }),
                seconds < 1_000_000_000
            else { continue }
            return date.addingTimeInterval(Double(seconds))
        }
        return nil
    }
}
