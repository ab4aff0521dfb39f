public import FoundationEssentials

/// Qiniu's put policy: what an upload token allows, and what the store does with the object. All members are supported.
///
/// ```swift
/// var policy = QiniuPutPolicy(scope: .prefix("cards/", bucket: "branch-7"), deadline: .now + 3_600)
/// policy.fileSizeLimit = 100 * 1_024
/// policy.allowedTypes = .only(["image/jpeg"])
/// let token = try keys.uploadToken(for: policy)
/// ```
///
/// Contradictory members are rejected when a token is created; the error has Qiniu's names of them. Strings can contain
/// magic variables such as `$(key)`, `$(etag)`, `$(fsize)` and `$(x:name)`.
public struct QiniuPutPolicy: Sendable, Hashable, Codable {
    /// The objects that can be written.
    public var scope: QiniuScope
    /// The date by which an upload must be *complete*; the store checks it when the object is created. Whole seconds.
    public var deadline: Date
    /// Whether existing objects are never overwritten. For a single key, use ``QiniuScope/newKey(_:bucket:)``.
    public var insertOnly = false
    /// The ID of the uploading user, for callbacks.
    public var endUser: String?

    // Response

    /// The URL to which a browser is redirected after the upload.
    public var returnURL: String?
    /// The response body, as JSON, that replaces the default one with hash and key.
    public var returnBody: String?
    /// The callback URLs, tried in order before the store responds. The response of the callback becomes that of the
    /// upload.
    public var callbackURLs: [String] = []
    /// The value of `Host` in the callback.
    public var callbackHost: String?
    /// The body of the callback; required for a callback.
    public var callbackBody: String?
    /// The content type of ``callbackBody``.
    public var callbackBodyType: CallbackBodyType?
    /// Whether the callback's response sets the key.
    public var callbackFetchesKey = false

    // Processing

    /// The processing of the object after the upload, as Qiniu's `fop` commands.
    public var persistentOps: String?
    /// The URL that is notified when the processing has finished.
    public var persistentNotifyURL: String?
    /// The queue of the processing.
    public var persistentPipeline: String?
    /// The type of the task: 0 for normal, 1 for idle time.
    public var persistentType: Int?
    /// A workflow template that replaces ``persistentOps``.
    public var persistentWorkflowTemplateID: String?

    // Object

    /// The key if the upload has none; with ``forcesSaveKey``, the key in any case.
    public var saveKey: String?
    /// Whether ``saveKey`` replaces the key of the upload.
    public var forcesSaveKey = false
    /// The minimum size in bytes.
    public var fileSizeMinimum: Int64?
    /// The maximum size in bytes.
    public var fileSizeLimit: Int64?
    /// The source of the object's content type.
    public var typeDetection: TypeDetection?
    /// The content types that are accepted.
    public var allowedTypes: TypeLimit?
    /// The storage class of the object.
    public var storageClass: StorageClass?
    /// The number of days after which the object is deleted.
    public var deleteAfterDays: Int?
    /// The maximum rate of the upload in bits per second: 819,200 to 838,860,800.
    public var trafficLimit: Int?

    /// Creates a policy with the required members.
    public init(scope: QiniuScope, deadline: Date) {
        self.scope = scope
        self.deadline = deadline
    }

    /// The content type of a callback's body.
    public enum CallbackBodyType: String, Sendable, Hashable, CaseIterable, Codable {
        /// A URL-encoded form; magic variables are percent-encoded.
        case form = "application/x-www-form-urlencoded"
        /// JSON; magic variables become JSON strings.
        case json = "application/json"
    }

    /// The source of an object's content type: `detectMime`.
    public enum TypeDetection: Int, Sendable, Hashable, CaseIterable, Codable {
        /// The type in the upload, or else by the name, or else by the content.
        case asGiven = 0
        /// The type by the content, regardless of the upload.
        case always = 1
        /// The type in the upload, or else `application/octet-stream`.
        case never = -1
    }

    /// The accepted content types: `mimeLimit`. An entry is a type or `image/*`.
    public enum TypeLimit: Sendable, Hashable, Codable {
        /// Only these types.
        case only([String])
        /// All types except these.
        case allBut([String])

        var text: String {
            switch self {
            case .only(let types): types.joined(separator: ";")
            case .allBut(let types): "!" + types.joined(separator: ";")
            }
        }

        var types: [String] {
            switch self {
            case .only(let types), .allBut(let types): types
            }
        }
    }

    /// The storage class of an object: `fileType`.
    public enum StorageClass: Int, Sendable, Hashable, CaseIterable, Codable {
        /// Standard storage, immediately readable.
        case standard = 0
        /// Storage for infrequent access.
        case infrequent = 1
        /// Archive storage; must be restored before reading.
        case archive = 2
        /// Deep archive storage; restoring takes hours.
        case deepArchive = 3
        /// Archive storage that is immediately readable.
        case archiveInstant = 4
    }
}
