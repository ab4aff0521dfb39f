import FoundationEssentials
import HTTPTypes
import Waybill

/// The details of an error response of OSS or S3, from its body or its header fields.
struct StoreErrorResponse: Sendable, Hashable {
    /// The format of the body.
    enum Form: Sendable, Hashable {
        /// An error document of the store.
        case xml
        /// No body.
        case empty
        /// An HTML page, usually from a proxy.
        case html
        case json
        /// Another format, with the reason why it can't be parsed.
        case unreadable(String)
    }

    var form = Form.empty
    var code: String?
    var message: String?
    var requestID: String?
    var hostID: String?
    var detailCode: String?
    /// The endpoint of the bucket's region, reported if the request was sent to another one.
    var endpoint: String?
    /// The region of the bucket, as S3 reports it.
    var region: String?
    var serverTime: Date?
    var stringToSign: String?
    var canonicalRequest: String?

    /// Parses body and header fields. Malformed content never causes an error.
    init(_ response: UploadResponse) {
        let fields = response.headers
        read(response.body)
        // A response to HEAD has no body: OSS puts the same XML into a header field.
        if code == nil, let field = fields[.ossError], let bytes = Data(base64Encoded: field) { read(Array(bytes)) }
        requestID = requestID ?? fields[.ossRequestID] ?? fields[.s3RequestID]
        detailCode = detailCode ?? fields[.ossDetailCode]
        region = region ?? fields[.s3BucketRegion]
    }

    private mutating func read(_ body: [UInt8]) {
        guard let first = body.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else { return }
        let start = String(decoding: body.prefix(512), as: UTF8.self).lowercased()
        if start.contains("<html") || start.contains("<!doctype html") {
            form = .html
        } else if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            form = .json
        } else {
            do throws(BoundedXMLParser.ParseError) {
                read(try BoundedXMLParser.read(body))
            } catch {
                form = .unreadable(error.description)
            }
        }
    }

    private mutating func read(_ root: XMLNode) {
        // AWS STS nests the error.
        if root.name == "ErrorResponse", let error = root.all("Error").first { return read(error) }
        guard root.name == "Error" else {
            form = .unreadable("it is XML, but not an error document")
            return
        }
        form = .xml
        code = root["Code"]
        message = root["Message"]
        requestID = root["RequestId"]
        hostID = root["HostId"]
        detailCode = root["EC"]
        endpoint = root["Endpoint"]
        region = root["Region"]
        serverTime = root["ServerTime"].flatMap { StoreDate.parse($0) }
        stringToSign = root.children.first { $0.name == "StringToSign" }?.text
        canonicalRequest = root.children.first { $0.name == "CanonicalRequest" }?.text
    }

    /// Whether the store reports that the local clock is wrong, by its own code or by that of a version 4 signature.
    var isClockError: Bool {
        code == "RequestTimeTooSkewed"
            || code == "InvalidArgument" && message?.lowercased().contains("invalid signing date") == true
    }

    /// Whether the store reports that the credentials have expired or are no longer valid.
    var isCredentialError: Bool {
        [
            "SecurityTokenExpired", "InvalidSecurityToken", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken",
        ].contains(code)
    }

    /// The codes with which a store asks for the same request again, whatever the status is: the body arrived too
    /// slowly, another conditional write of the same key was in progress, or a completion failed after its status.
    static let transientCodes = [
        "RequestTimeout", "ConditionalRequestConflict", "InternalError", "ServiceUnavailable", "SlowDown",
    ]

    /// The codes for a body that differs from the digest that was sent with it.
    static let mismatchCodes = ["BadDigest", "XAmzContentSHA256Mismatch"]

    /// An explanation for a body that is not from the store; `nil` if it is, or without a body.
    var foreignResponseHint: String? {
        switch form {
        case .xml, .empty: nil
        case .html:
            "The response is an HTML page. Check for a proxy or captive portal between this machine and the store."
        case .json: "The response is JSON, which the store does not send. Check the endpoint."
        case .unreadable(let why): "The response is not a valid document of the store: \(why)."
        }
    }
}

extension StoreError {
    /// Creates the error for a response that is not from the store.
    init(foreign response: UploadResponse, store: String) {
        let hint = StoreErrorResponse(response).foreignResponseHint
        self.init(
            .unexpectedResponse,
            "A server that is not \(store) responded with \(response.status.code). "
                + (hint ?? "Check for a proxy between this machine and the store."),
            outcome: .unknown)
        status = response.status.code
    }

    /// Creates the error for a rejection by a store.
    init(
        _ reply: StoreErrorResponse, _ response: UploadResponse, outcome: UploadOutcome, cause: UploadError?,
        store: String = "OSS"
    ) {
        let name = reply.code.map { " \(Self.shown($0))" } ?? ""
        var message = "\(store) responded with \(response.status.code)\(name)"
        let text = reply.message ?? ""
        message += text.isEmpty ? "." : ": \(StoreError.shown(text).sentence)"
        if let endpoint = reply.endpoint, !endpoint.isEmpty {
            message += " The endpoint of the bucket is \(Self.shown(endpoint))."
        }
        if let hint = reply.foreignResponseHint { message += " \(hint)" }
        let isGone = reply.code == "NoSuchUpload"
        self.init(isGone ? .uploadGone : .rejected, message, outcome: outcome, cause: cause)
        status = response.status.code
        storeCode = reply.code.map { Self.shown($0) }
        detailCode = reply.detailCode.map { Self.shown($0) }
        requestID = reply.requestID.map { Self.shown($0) }
        host = reply.hostID.map { Self.shown($0) }
    }
}
