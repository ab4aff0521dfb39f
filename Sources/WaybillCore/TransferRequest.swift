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

// What `print` and `dump` show of the values that carry credentials on their way to a transport: the harmless half.

extension TransferRequest: CustomReflectable {
    /// Id, method and the names of the header fields. URL and header values may hold credentials.
    public var customMirror: Mirror {
        Mirror(
            self, children: ["id": "\(id)", "method": "\(method)", "headers": headers.map { "\($0.name)" }],
            displayStyle: .struct)
    }
}

extension TransferOptions: CustomReflectable {
    /// All options; a proxy that brings its user and password along is not shown.
    public var customMirror: Mirror {
        let shown = proxy.map { $0.contains("@") ? Secret.placeholder : $0 }
        return Mirror(
            self,
            children: [
                "limits": limits, "rateLimit": rateLimit as Any, "httpVersion": httpVersion,
                "expectContinue": expectContinue, "tls": tls, "proxy": shown as Any,
                "proxyCredential": proxyCredential as Any, "proxyExceptions": proxyExceptions, "proxyTLS": proxyTLS,
                "resolve": resolve, "addressFamily": addressFamily, "unixSocket": unixSocket as Any,
                "curlOptions": curlOptions,
            ],
            displayStyle: .struct)
    }
}
