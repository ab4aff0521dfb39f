public import HTTPTypes
public import WaybillCore

/// The options of an upload: transfer limits, retries, and which responses count as success.
///
/// ```swift
/// var options = UploadOptions()
/// options.transfer.rateLimit = .kibibytes(200)
/// options.retry = .none
/// ```
public struct UploadOptions: Sendable, Hashable {
    /// The options of the transport: limits of time, size and rate, TLS, proxy.
    public var transfer: TransferOptions
    /// The priority of the upload within its session.
    public var priority = UploadPriority.normal
    /// The policy for retries after a failed attempt.
    public var retry: RetryPolicy
    /// The statuses that make the upload a success.
    public var accepts: StatusPolicy
    /// Whether an upload that may have been stored can be sent again, which requires a server that recognizes its key.
    public var idempotency: Idempotency
    /// The policy for redirects.
    public var redirects: RedirectPolicy
    /// The credentials, unless they are in a header field.
    public var authentication: Authentication?
    /// How the upload continues after an interruption; `nil` to send the body in one request. See ``resumable(_:)``.
    public var resume: ResumeOptions? {
        get { resumeBox?.options }
        set { resumeBox = newValue.map { ResumeBox($0) } }
    }
    // A reference: options are copied often, and most have none.
    var resumeBox: ResumeBox?
    /// Header fields that contain a credential although the field usually contains none, such as `Accept`. They are not
    /// sent to another origin. Fields that are not known to be harmless are never sent there.
    public var secretFields: Set<HTTPField.Name> = []
    /// The session defaults that are excluded from the upload: header fields, common fields, interceptors and others.
    public var excludedDefaults: SessionDefaults = []

    // Control: identification and grouping of the upload.

    /// Tags for ``UploadSession/uploads(taggedWith:)``.
    public var tags: Set<String> = []
    /// The name of the group, which can be paused, cancelled and limited as a whole. See ``UploadSession/group(_:)``.
    public var group: String?
    /// A key that identifies duplicate uploads. If an upload with the same key is running in the session, starting
    /// another one sends nothing: its handle joins the running transfer, regardless of its own request. The handles are
    /// cancelled separately, and the transfer stops with the last of them. See ``UploadTask/isJoined``. `nil` to never
    /// join.
    public var deduplicationKey: String?

    /// Creates options: three retries, 2xx is success, and the limits of `TransferLimits`.
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

/// The priority of an upload relative to others of its session.
///
/// Uploads with a higher priority start first, but the effect is bounded: each step is worth
/// ``UploadSession/Configuration/priorityReach`` positions in the queue. For each step of difference, an upload can be
/// overtaken by at most that many later uploads.
///
/// ```swift
/// options.priority = .high                 // before it starts
/// task.priority = .veryHigh                // while it waits
/// ```
///
/// The cases correspond to those of `Operation.QueuePriority`.
public enum UploadPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Lower than all other priorities.
    case veryLow = -2
    /// Lower than normal.
    case low = -1
    /// The default priority.
    case normal = 0
    /// Higher than normal.
    case high = 1
    /// Higher than all other priorities.
    case veryHigh = 2

    /// Returns whether the left priority is lower.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The final statuses that make an upload a success. Any other status throws ``UploadError`` with the code
/// ``UploadError/Code/rejected`` and the response.
public struct StatusPolicy: Sendable, Hashable {
    private enum Rule: Sendable, Hashable {
        case any
        case range(ClosedRange<Int>)
        case only(Set<Int>)
    }
    private let rule: Rule

    /// 200 to 299 (RFC 9110 section 15.3).
    public static let successful = StatusPolicy(rule: .range(200...299))
    /// Every status. The caller checks ``UploadResponse/status``, and no status causes a retry.
    public static let any = StatusPolicy(rule: .any)
    /// Returns a policy that accepts only these status codes.
    public static func only(_ codes: Set<Int>) -> StatusPolicy { StatusPolicy(rule: .only(codes)) }

    /// Returns whether a status counts as success.
    public func accepts(_ status: HTTPResponse.Status) -> Bool {
        switch rule {
        case .any: true
        case .range(let range): range.contains(status.code)
        case .only(let codes): codes.contains(status.code)
        }
    }
}
