import HTTPTypes
import WaybillCore

/// A request of a resumable upload, independent of the protocol.
enum ResumeExchange: Sendable, Hashable {
    /// Asks what the server supports.
    case options
    /// Creates the upload, with a range of the body or without one. `isLast`: the body ends with the range.
    case create(Range<Int64>, isLast: Bool)
    /// Asks how much the server has stored.
    case offset
    /// Appends a range of the body. `isLast`: the body ends with the range, so the server may act on it.
    case append(Range<Int64>, isLast: Bool)
    /// Removes the upload.
    case delete
    /// Sends the whole body as a request that can't be resumed.
    case ordinary
    /// Uploads the parts of the body concurrently. It consists of many requests, and reports them as one.
    case parts
    /// Joins the uploads of all parts, given by their URLs in order.
    case concatenate([String])

    /// The range of the body that the request carries; `nil` for a request without a body.
    var range: Range<Int64>? {
        switch self {
        case .create(let range, _), .append(let range, _): range
        case .options, .offset, .delete, .ordinary, .parts, .concatenate: nil
        }
    }

    /// Whether the server may act on the upload after this request.
    var completesBody: Bool {
        switch self {
        case .create(_, let isLast), .append(_, let isLast): isLast
        case .ordinary, .concatenate: true
        case .options, .offset, .delete, .parts: false
        }
    }
}

/// The parts of a request that depend on the protocol.
struct ResumeRequest: Sendable, Hashable {
    var method: HTTPRequest.Method
    /// Whether the request is sent to the URL of the upload instead of that of the request.
    var isToUpload: Bool
    var fields: HTTPFields
    /// Whether the request also has the fields that describe the body, such as `Content-Type`.
    var describesBody = false
    /// Whether the request creates what the caller uploads, and so has the idempotency key. A part of it has none: the
    /// server would take all parts for one.
    var createsUpload = false
}

/// A response as the state machine needs it, independent of the protocol.
struct ResumeReply: Sendable, Hashable {
    var status: Int
    /// The number of stored bytes; `nil` if the field is missing or invalid.
    var offset: Int64?
    /// Whether the body is complete, so that the response is that of the application.
    var isComplete: Bool?
    /// The length of the whole body, as known to the server.
    var length: Int64?
    var location: String?
    var limits: ResumeLimits?
    /// Whether the response has the field Upload-Limit, which only servers of the draft send.
    var offersDraft = false
    /// Whether the response belongs to the protocol and its version.
    var isOfProtocol = true
    /// The versions of tus that the server supports, in its own order.
    var tusVersions: [String] = []
    var tusExtensions: Set<String> = []
    var tusChecksums: [String] = []

    var isSuccess: Bool { 200...299 ~= status }
    /// Whether the upload does not exist.
    var isGone: Bool { status == 404 || status == 410 }
    /// Whether the content of the request may be lost, because it took too long, or because a proxy lost the server.
    /// Less content is then more likely to arrive.
    var mayHaveLostContent: Bool { [408, 500, 502, 504].contains(status) }
    var isRedirect: Bool { status == 307 || status == 308 }
    /// Whether the server, or a proxy before it, does not allow the method.
    var rejectsMethod: Bool { status == 405 || status == 501 }
}

/// A protocol of resumable uploads: how its requests are written and its responses are read.
enum ResumeDialect: String, Sendable, Hashable, Codable {
    /// The IETF draft, interop version 8 (draft-ietf-httpbis-resumable-upload-09 to -11).
    case draft8
    /// The IETF draft, interop version 6 (-04 and -05).
    case draft6
    /// tus 1.0.0.
    case tus

    /// The protocol and its version, for messages.
    var name: String {
        switch self {
        case .draft8: "the IETF draft, interop version 8"
        case .draft6: "the IETF draft, interop version 6"
        case .tus: "tus 1.0.0"
        }
    }

    /// The values that the requests of an upload share.
    struct Context: Sendable {
        /// The method of the upload.
        var method: HTTPRequest.Method
        /// The length of the body; `nil` if it is not known yet.
        var length: Int64?
        /// Whether the upload was created without its length.
        var isLengthDeferred = false
        /// Whether the upload is a part of another one.
        var isPart = false
        /// The metadata of a tus upload.
        var metadata: String?
        /// Whether a proxy does not allow HEAD, PATCH or DELETE.
        var avoidsMethods = false
    }

    /// Returns a request. It must be one of this protocol, not ``ResumeExchange/ordinary`` or ``ResumeExchange/parts``.
    func request(for exchange: ResumeExchange, _ context: Context) -> ResumeRequest {
        self == .tus ? tusRequest(for: exchange, context) : draftRequest(for: exchange, context)
    }

    /// Reads a response, interim or final.
    func reply(_ head: HTTPResponse) -> ResumeReply {
        self == .tus ? Self.tusReply(head) : draftReply(head)
    }

    /// Reads the response to OPTIONS, which can be of any protocol.
    func offer(_ head: HTTPResponse) -> ResumeReply {
        var reply = draftReply(head)
        let tus = Self.tusReply(head)
        reply.tusVersions = tus.tusVersions
        reply.tusExtensions = tus.tusExtensions
        reply.tusChecksums = tus.tusChecksums
        if reply.limits == nil { reply.limits = tus.limits }
        return reply
    }
}

// MARK: - The IETF draft

extension ResumeDialect {
    private var interopVersion: Int { self == .draft6 ? 6 : 8 }

    private func draftRequest(for exchange: ResumeExchange, _ context: Context) -> ResumeRequest {
        var fields: HTTPFields = [.uploadDraftInteropVersion: "\(interopVersion)"]
        switch exchange {
        case .options, .ordinary, .parts, .concatenate:
            return ResumeRequest(method: .options, isToUpload: false, fields: fields)
        case .create(_, let isLast):
            fields[.uploadComplete] = isLast ? "?1" : "?0"
            fields[.uploadLength] = context.length.map { "\($0)" }
            return ResumeRequest(method: context.method, isToUpload: false, fields: fields, describesBody: true)
        case .offset:
            return ResumeRequest(method: context.avoidsMethods ? .get : .head, isToUpload: true, fields: fields)
        case .append(let range, let isLast):
            fields[.contentType] = "application/partial-upload"
            fields[.uploadOffset] = "\(range.lowerBound)"
            fields[.uploadComplete] = isLast ? "?1" : "?0"
            return ResumeRequest(method: .patch, isToUpload: true, fields: fields)
        case .delete:
            return ResumeRequest(method: .delete, isToUpload: true, fields: fields)
        }
    }

    private func draftReply(_ head: HTTPResponse) -> ResumeReply {
        let fields = head.headerFields
        var reply = ResumeReply(status: head.status.code)
        reply.offset = StructuredField.integer(fields[.uploadOffset])
        reply.isComplete = StructuredField.boolean(fields[.uploadComplete])
        reply.length = StructuredField.integer(fields[.uploadLength])
        reply.location = Self.location(fields)
        reply.offersDraft = fields[.uploadLimit] != nil
        reply.limits = draftLimits(fields[.uploadLimit])
        // Only interim responses must have the version: an intermediary does not know what they mean.
        if head.status.code < 200 {
            let version = StructuredField.integer(fields[.uploadDraftInteropVersion])
            reply.isOfProtocol = version == Int64(interopVersion)
        }
        return reply
    }

    private func draftLimits(_ text: String?) -> ResumeLimits? {
        let age = self == .draft6 ? "expires" : "max-age"
        let keys: Set<String> = ["max-size", "min-size", "max-append-size", "min-append-size", age]
        return StructuredField.integers(text, keys: keys).map { values in
            ResumeLimits(
                maximumLength: values["max-size"], minimumLength: values["min-size"],
                maximumAppend: values["max-append-size"], minimumAppend: values["min-append-size"],
                maximumAge: values[age])
        }
    }
}

// MARK: - tus

extension ResumeDialect {
    /// The version of tus.
    static let tusVersion = "1.0.0"

    private func tusRequest(for exchange: ResumeExchange, _ context: Context) -> ResumeRequest {
        var fields: HTTPFields = [.tusResumable: Self.tusVersion]
        switch exchange {
        case .options, .ordinary, .parts:
            return ResumeRequest(method: .options, isToUpload: false, fields: [:])
        case .create(let range, _):
            fields[.uploadLength] = context.length.map { "\($0)" }
            if context.length == nil { fields[.uploadDeferLength] = "1" }
            fields[.uploadMetadata] = context.metadata
            if context.isPart { fields[.uploadConcat] = "partial" }
            if !range.isEmpty { fields[.contentType] = Self.tusContentType }
            return ResumeRequest(method: .post, isToUpload: false, fields: fields, createsUpload: !context.isPart)
        case .offset:
            return overriding(.head, fields, context)
        case .append(let range, let isLast):
            if isLast, context.isLengthDeferred { fields[.uploadLength] = context.length.map { "\($0)" } }
            fields[.contentType] = Self.tusContentType
            fields[.uploadOffset] = "\(range.lowerBound)"
            return overriding(.patch, fields, context)
        case .delete:
            return overriding(.delete, fields, context)
        case .concatenate(let urls):
            fields[.uploadConcat] = "final;" + urls.joined(separator: " ")
            fields[.uploadMetadata] = context.metadata
            return ResumeRequest(method: .post, isToUpload: false, fields: fields, createsUpload: true)
        }
    }

    private static let tusContentType = "application/offset+octet-stream"

    /// tus servers accept a method in a field, for proxies that do not allow it.
    private func overriding(
        _ method: HTTPRequest.Method, _ fields: HTTPFields, _ context: Context
    ) -> ResumeRequest {
        guard context.avoidsMethods else { return ResumeRequest(method: method, isToUpload: true, fields: fields) }
        var fields = fields
        fields[.methodOverride] = method.rawValue
        return ResumeRequest(method: .post, isToUpload: true, fields: fields)
    }

    private static func tusReply(_ head: HTTPResponse) -> ResumeReply {
        let fields = head.headerFields
        var reply = ResumeReply(status: head.status.code)
        reply.offset = decimal(fields[.uploadOffset])
        reply.length = decimal(fields[.uploadLength])
        reply.location = location(fields)
        reply.isOfProtocol = fields[.tusResumable] == tusVersion
        reply.tusVersions = list(fields[.tusVersion])
        reply.tusExtensions = Set(list(fields[.tusExtension]))
        reply.tusChecksums = list(fields[.tusChecksumAlgorithm])
        if let maximum = decimal(fields[.tusMaxSize]) { reply.limits = ResumeLimits(maximumLength: maximum) }
        return reply
    }

    /// Returns the location; `nil` for several of them.
    private static func location(_ fields: HTTPFields) -> String? {
        let values = fields[values: .location]
        return values.count == 1 ? values[0] : nil
    }

    /// Parses a non-negative decimal number; `nil` for any other text, or beyond `Int64`.
    private static func decimal(_ text: String?) -> Int64? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }

    private static func list(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty }
    }
}

extension HTTPField.Name {
    static let uploadDraftInteropVersion = Self("Upload-Draft-Interop-Version")!
    static let uploadComplete = Self("Upload-Complete")!
    static let uploadOffset = Self("Upload-Offset")!
    static let uploadLength = Self("Upload-Length")!
    static let uploadDeferLength = Self("Upload-Defer-Length")!
    static let uploadLimit = Self("Upload-Limit")!
    static let uploadMetadata = Self("Upload-Metadata")!
    static let uploadConcat = Self("Upload-Concat")!
    static let tusResumable = Self("Tus-Resumable")!
    static let tusVersion = Self("Tus-Version")!
    static let tusExtension = Self("Tus-Extension")!
    static let tusChecksumAlgorithm = Self("Tus-Checksum-Algorithm")!
    static let uploadChecksum = Self("Upload-Checksum")!
    static let contentDigest = Self("Content-Digest")!
    static let tusMaxSize = Self("Tus-Max-Size")!
    static let methodOverride = Self("X-HTTP-Method-Override")!
}
