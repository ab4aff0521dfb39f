public import HTTPTypes
public import WaybillCore

/// How an upload is to be run: limits of the transfer, retries, and which answers count as a yes.
///
/// ```swift
/// var options = UploadOptions()
/// options.transfer.rateLimit = .kibibytes(200)
/// options.retry = .none
/// ```
public struct UploadOptions: Sendable, Hashable {
    /// Limits in time and size, rate, TLS, proxy: what the transport is told.
    public var transfer: TransferOptions
    /// How urgent it is, beside others of its session.
    public var priority = UploadPriority.normal
    /// When a failed attempt is followed by another one.
    public var retry: RetryPolicy
    /// Which statuses make the upload a success.
    public var accepts: StatusPolicy
    /// Whether an upload that may have been stored can be sent again: only where the server knows it by its key.
    public var idempotency: Idempotency
    /// What is done about an answer that sends the upload elsewhere.
    public var redirects: RedirectPolicy
    /// The credentials, unless they stand in a header field or are none.
    public var authentication: Authentication?
    /// Header fields that hold a credential although others send them without one, such as `Accept`: they are not sent to
    /// another origin. Fields that are not known to be harmless never are.
    public var secretFields: Set<HTTPField.Name> = []
    /// What of the session's own the upload does without: its header fields, its common fields, its interceptors.
    public var omits: SessionDefaults = []

    // Control: how the upload is found, and what it shares with others.

    /// Names to find it by: ``UploadSession/uploads(taggedWith:)``.
    public var tags: Set<String> = []
    /// The group that it belongs to, which can be paused, cancelled and limited as one: ``UploadSession/group(_:)``.
    public var group: String?
    /// What makes it the same upload as another one. While one with this key is alive in the session, starting another
    /// sends nothing: its handle joins the transfer that is there, whatever its own request says. The handles are cancelled
    /// apart, and the transfer stops with the last of them: ``UploadTask/isJoined``. `nil` for an upload of its own.
    public var deduplicationKey: String?

    /// Three retries, 2xx is success, and the limits of `TransferLimits`.
    public init(
        transfer: TransferOptions = TransferOptions(), retry: RetryPolicy = .standard,
        accepts: StatusPolicy = .successful, idempotency: Idempotency = .ignored,
        redirects: RedirectPolicy = .standard,
        authentication: Authentication? = nil
    ) {
        self.transfer = transfer
        self.retry = retry
        self.accepts = accepts
        self.idempotency = idempotency
        self.redirects = redirects
        self.authentication = authentication
    }
}

/// Which final statuses make an upload a success. Every other one throws ``UploadError`` with the code
/// ``UploadError/Code/rejected`` and the response inside.
public struct StatusPolicy: Sendable, Hashable {
    private enum Rule: Sendable, Hashable {
        case any
        case range(ClosedRange<Int>)
        case only(Set<Int>)
    }
    private let rule: Rule

    /// 200 to 299 (RFC 9110 section 15.3).
    public static let successful = StatusPolicy(rule: .range(200...299))
    /// Every status: the caller looks at ``UploadResponse/status``. Nothing is retried for its status then.
    public static let any = StatusPolicy(rule: .any)
    /// Exactly these status codes.
    public static func only(_ codes: Set<Int>) -> StatusPolicy { StatusPolicy(rule: .only(codes)) }

    /// Whether a status is a yes.
    public func accepts(_ status: HTTPResponse.Status) -> Bool {
        switch rule {
        case .any: true
        case .range(let range): range.contains(status.code)
        case .only(let codes): codes.contains(status.code)
        }
    }
}
