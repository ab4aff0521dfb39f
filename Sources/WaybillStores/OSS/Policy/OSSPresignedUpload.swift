public import FoundationEssentials
public import HTTPTypes
public import Waybill
public import WaybillCore

/// A URL that somebody has signed, good for one kind of request until its time is over: made on a server, used by a program
/// that has no secret.
///
/// ```swift
/// let ticket = try OSSPresignedUpload("https://cards.oss-cn-hangzhou.aliyuncs.com/7.jpg?…", headers: [.contentType: "image/jpeg"])
/// let response = try await session.send(ticket.request(.file(path: "front.jpg")))
/// ```
///
/// Content type, digest and `x-oss-` fields that were signed must be sent exactly so: ``headers`` has them. The URL is never
/// printed, for it is the credential.
public struct OSSPresignedUpload: Sendable, Hashable {
    /// The method that was signed.
    public let method: HTTPRequest.Method
    /// The URL with its signature.
    public let url: Secret
    /// The header fields that were signed.
    public let headers: HTTPFields
    /// When it is no longer good, read from the URL; `nil` if that doesn't say.
    public let expiration: Date?

    /// Takes a URL that somebody has signed.
    ///
    /// - Throws: ``StoreError/Code/presignedMalformed`` for what is no `http` or `https` URL with a query.
    public init(
        _ url: String, method: HTTPRequest.Method = .put, headers: HTTPFields = [:]
    ) throws(StoreError) {
        let isHTTP = url.utf8.starts(with: "https://".utf8) || url.utf8.starts(with: "http://".utf8)
        guard isHTTP, !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw StoreError(
                .presignedMalformed,
                "a presigned URL begins with https:// and holds no blank or line break: look for what was pasted along")
        }
        self.method = method
        self.url = .secret(url)
        self.headers = headers
        expiration = PresignedQuery(url).expiration
    }

    /// The signed request as a URL.
    ///
    /// - Parameters:
    ///   - signed: A request that was signed for the query: ``OSSSigningRules/Placement/query(validFor:)``.
    ///   - location: Scheme, host and encoded path, without a query.
    /// - Throws: ``StoreError/Code/presignedMalformed``.
    public init(_ signed: OSSSignedRequest, at location: String) throws(StoreError) {
        guard let query = signed.queryText, signed.headers[.authorization] == nil, !location.utf8.contains(0x3F) else {
            throw StoreError(
                .presignedMalformed, "the request was signed for the header, or its location has a query already")
        }
        try self.init("\(location)?\(query)", method: signed.request.method, headers: signed.headers)
    }

    /// A request that sends a content there, without a content type unless ``headers`` has one. The session's interceptors,
    /// header fields and credentials are left out of it.
    ///
    /// - Throws: ``StoreError/Code/presignedExpired``.
    public func request(_ content: UploadContent, at now: Date = .now) throws(StoreError) -> UploadRequest {
        if let expiration, expiration <= now {
            throw StoreError(
                .presignedExpired, "the presigned URL ran out at \(StoreDate.iso8601(expiration)): ask for another")
        }
        var options = UploadOptions()
        options.omits = [.interceptors, .headers, .cookies]
        var request = UploadRequest(method, url.value, headers: headers, content: content, options: options)
        // A body's own type would be sent, too, and one that was not signed makes the signature wrong.
        let type = headers[.contentType]
        request.interceptors = [.adapting("presigned upload") { $0.headers[.contentType] = type }]
        return request
    }
}

extension OSSPresignedUpload {
    /// A request as ``request(_:at:)`` makes it, of a body whose CRC-64 is compared with that of the store.
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
        // OSS says so when the object is there and the callback that was signed into the URL failed.
        guard response.status.code == 203 else { return }
        guard response.headers[.ossRequestID] == nil else { throw StoreError(callbackFailed: response) }
        var error = StoreError(
            .unexpectedAnswer,
            "a server that is not OSS answered 203. Check what is between this machine and the store",
            outcome: .unknown)
        error.status = 203
        throw error
    }

    /// What a failed request means: a refusal by the store's own code.
    package static func error(_ error: UploadError) -> StoreError {
        guard let response = error.response, error.code == .rejected else { return StoreError(error) }
        let reply = OSSErrorReply(response)
        // A URL may have been signed for another store, whose refusal is XML of the same shape.
        guard reply.code != nil else { return StoreError(error) }
        let store = response.headers[.ossRequestID] == nil ? "the store" : "OSS"
        return StoreError(reply, response, outcome: error.outcome, cause: error, store: store)
    }
}

extension OSSPresignedUpload: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method, and the URL without its query.
    public var description: String { "\(method) \(Redaction.url(url.value))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["upload": description]) }
}

/// What the query of a presigned URL says of its end: version 1 names the second, version 4 and Amazon's begin and length.
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
