public import HTTPTypes

/// One attempt at a request, complete in every detail: what a transport runs as it stands.
///
/// Retries, redirects and credentials are decided above; a transport adds nothing and repeats nothing.
public struct TransferRequest: Sendable {
    /// The id under which logs, errors and events speak of the upload.
    public var id: UploadID
    /// The method.
    public var method: HTTPRequest.Method
    /// The absolute URL, `http` or `https`.
    public var url: String
    /// The header fields, apart from the ones that the transport owns (``TransferRequest/ownedFields``).
    public var headers: HTTPFields
    /// The body, or `nil` for none.
    public var body: (any UploadBody)?
    /// Limits, rate, TLS and the like.
    public var options: TransferOptions

    /// Describes an attempt.
    public init(
        id: UploadID = UploadID(), method: HTTPRequest.Method, url: String, headers: HTTPFields = [:],
        body: (any UploadBody)? = nil, options: TransferOptions = TransferOptions()
    ) {
        self.id = id
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.options = options
    }

    /// The fields that describe the framing of the message, which only the transport can get right. Two opinions
    /// about a length are how requests are smuggled (RFC 9112 section 11.2), so a caller's are refused.
    public static let ownedFields: [HTTPField.Name] = [
        .contentLength, .transferEncoding, .host, .connection, .expect, .trailer,
    ]
}

extension HTTPField.Name {
    static let host = HTTPField.Name("Host")!
}

/// What identifies an upload, in the program and in its logs: 16 hexadecimal digits.
public struct UploadID: Sendable, Hashable, CustomStringConvertible {
    /// The number behind the digits.
    public let rawValue: UInt64

    /// A new id from the system's random numbers.
    public init() {
        rawValue = .random(in: .min ... .max)
    }

    /// The id of a known number.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The 16 digits.
    public var description: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
