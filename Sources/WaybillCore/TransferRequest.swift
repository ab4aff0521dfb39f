public import HTTPTypes

/// One attempt at a request, with all its details, which a transport runs unchanged.
///
/// Retries, redirects and credentials are decided by the layers above. A transport adds nothing and repeats nothing.
public struct TransferRequest: Sendable {
    /// The identifier of the upload in logs, errors and events.
    public var id: UploadID
    /// The method.
    public var method: HTTPRequest.Method
    /// The absolute URL, `http` or `https`.
    public var url: String
    /// The header fields, except those that the transport sets (``TransferRequest/reservedFields``).
    public var headers: HTTPFields
    /// The body, or `nil` for none.
    public var body: (any UploadBody)?
    /// The limits, rate, TLS and other options.
    public var options: TransferOptions

    /// Creates an attempt.
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

    /// The fields that describe the message framing, which only the transport can set correctly. Conflicting lengths
    /// enable request smuggling (RFC 9112 section 11.2), so these fields are rejected in ``headers``.
    public static let reservedFields: [HTTPField.Name] = [
        .contentLength, .transferEncoding, .host, .connection, .expect, .trailer,
    ]
}

extension HTTPField.Name {
    static let host = HTTPField.Name("Host")!
}

/// The identifier of an upload, in the program and in its logs: 16 hexadecimal digits.
public struct UploadID: Sendable, Hashable, CustomStringConvertible {
    /// The number that the digits represent.
    public let rawValue: UInt64

    /// Creates a random identifier.
    public init() {
        var generator = BufferedRandomNumberGenerator()
        rawValue = generator.next()
    }

    /// Creates an identifier from its number.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The 16 digits.
    public var description: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

// Descriptions for `print` and `dump` that leave out credentials.

extension TransferRequest: CustomReflectable {
    /// The identifier, the method and the names of the header fields. URL and header values may contain credentials.
    public var customMirror: Mirror {
        Mirror(
            self, children: ["id": "\(id)", "method": "\(method)", "headers": headers.map { "\($0.name)" }],
            displayStyle: .struct)
    }
}

extension TransferOptions: CustomReflectable {
    /// All options. A proxy URL that contains a user name and password is redacted.
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
