import FoundationEssentials
import HTTPTypes
import Waybill

/// The details of an OSS error response, from its body or its header fields.
struct OSSErrorResponse: Sendable, Hashable {
    /// The format of the body.
    enum Form: Sendable, Hashable {
        /// An error document of OSS.
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
    var serverTime: Date?
    var stringToSign: String?
    var canonicalRequest: String?

    /// Parses body and header fields. Malformed content never causes an error.
    init(_ response: UploadResponse) {
        let fields = response.headers
        read(response.body)
        // A response to HEAD has no body: the same XML is in a header field.
        if code == nil, let field = fields[.ossError], let bytes = Data(base64Encoded: field) { read(Array(bytes)) }
        requestID = requestID ?? fields[.ossRequestID]
        detailCode = detailCode ?? fields[.ossDetailCode]
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
        serverTime = root["ServerTime"].flatMap { StoreDate.parse($0) }
        stringToSign = root.children.first { $0.name == "StringToSign" }?.text
        canonicalRequest = root.children.first { $0.name == "CanonicalRequest" }?.text
    }

    /// Whether OSS reports that the local clock is wrong, by its own code or by that of a version 4 signature.
    var isClockError: Bool {
        code == "RequestTimeTooSkewed"
            || code == "InvalidArgument" && message?.lowercased().contains("invalid signing date") == true
    }

    /// Whether OSS reports that the credentials have expired or are no longer valid.
    var isCredentialError: Bool {
        ["SecurityTokenExpired", "InvalidSecurityToken", "InvalidAccessKeyId"].contains(code)
    }

    /// An explanation for a body that is not from OSS; `nil` if it is, or without a body.
    var foreignResponseHint: String? {
        switch form {
        case .xml, .empty: nil
        case .html:
            "The response is an HTML page. Check for a proxy or captive portal between this machine and the store."
        case .json: "The response is JSON, which OSS does not send. Check the endpoint."
        case .unreadable(let why): "The response is not a valid OSS document: \(why)."
        }
    }
}

extension HTTPField.Name {
    static let ossError = HTTPField.Name("x-oss-err")!
    static let ossRequestID = HTTPField.Name("x-oss-request-id")!
    static let ossDetailCode = HTTPField.Name("x-oss-ec")!
    static let ossChecksum = HTTPField.Name("x-oss-hash-crc64ecma")!
    static let ossVersionID = HTTPField.Name("x-oss-version-id")!
    static let ossNextPosition = HTTPField.Name("x-oss-next-append-position")!
    static let ossObjectType = HTTPField.Name("x-oss-object-type")!
    static let ossStorageClass = HTTPField.Name("x-oss-storage-class")!
    static let ossACL = HTTPField.Name("x-oss-object-acl")!
    static let ossForbidOverwrite = HTTPField.Name("x-oss-forbid-overwrite")!
    static let ossTagging = HTTPField.Name("x-oss-tagging")!
    static let ossTrafficLimit = HTTPField.Name("x-oss-traffic-limit")!
    static let ossCallback = HTTPField.Name("x-oss-callback")!
    static let ossCallbackVariables = HTTPField.Name("x-oss-callback-var")!
    static let ossEncryption = HTTPField.Name("x-oss-server-side-encryption")!
    static let ossEncryptionKeyID = HTTPField.Name("x-oss-server-side-encryption-key-id")!
}

extension StoreError {
    /// Creates the error for an object that OSS has stored but whose callback failed.
    init(callbackFailed response: UploadResponse) {
        let rejection = UploadError(
            .rejected, "The callback failed.", phase: .awaitingResponse, outcome: .rejected, response: response)
        self.init(OSSErrorResponse(response), response, outcome: .rejected, cause: rejection)
        code = .storedButCallbackFailed
        isStored = true
        message =
            "The object is stored, but the callback failed: \(message) Do not upload it again; notify your server in "
            + "another way."
    }

    /// Creates the error for a stored object whose checksum differs from that of the bytes sent.
    init(checksums ours: UInt64, _ theirs: UInt64, _ response: UploadResponse) {
        self.init(
            .checksumMismatch,
            "Checksum mismatch: the store reports the CRC-64 \(theirs), expected \(ours).",
            outcome: .rejected)
        requestID = response.headers[.ossRequestID]
    }
}

extension StoreError {
    /// Creates the error for a rejection by OSS, or by another store with the same error format.
    init(
        _ reply: OSSErrorResponse, _ response: UploadResponse, outcome: UploadOutcome, cause: UploadError?,
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
