public import FoundationEssentials

/// What an upload token allows, and what the store does with the object: Qiniu's put policy, with every member of it.
///
/// ```swift
/// var policy = QiniuPutPolicy(scope: .prefix("cards/", bucket: "branch-7"), deadline: .now + 3_600)
/// policy.fileSizeLimit = 100 * 1_024
/// policy.allowedTypes = .only(["image/jpeg"])
/// let token = try keys.uploadToken(for: policy)
/// ```
///
/// Members that contradict each other are refused when a token is made, with the names that Qiniu gives them. Texts may hold
/// magic variables such as `$(key)`, `$(etag)`, `$(fsize)` and `$(x:name)`.
public struct QiniuPutPolicy: Sendable, Hashable, Codable {
    /// What may be written.
    public var scope: QiniuScope
    /// Until when an upload may *end*; the store looks at it when the object is made. Whole seconds.
    public var deadline: Date
    /// Whether objects that are there are never overwritten. For a single key say ``QiniuScope/newKey(_:bucket:)``.
    public var insertOnly = false
    /// Who uploads, for callbacks.
    public var endUser: String?

    // What is answered.

    /// Where a browser is sent after the upload.
    public var returnURL: String?
    /// What is answered in place of hash and key, as JSON.
    public var returnBody: String?
    /// Whom the store asks before it answers; its answer becomes ours. They are tried one after the other.
    public var callbackURLs: [String] = []
    /// The value of `Host` in the callback.
    public var callbackHost: String?
    /// The body of the callback, which it must have.
    public var callbackBody: String?
    /// The type of ``callbackBody``.
    public var callbackBodyType: CallbackBodyType?
    /// Whether the key is what the callback answers.
    public var callbackFetchesKey = false

    // What happens with the object afterwards.

    /// Work on the object, in Qiniu's language.
    public var persistentOps: String?
    /// Who is told of the work's end.
    public var persistentNotifyURL: String?
    /// The queue of the work.
    public var persistentPipeline: String?
    /// The kind of task: 0 for ordinary, 1 for idle time.
    public var persistentType: Int?
    /// A template of work in place of ``persistentOps``.
    public var persistentWorkflowTemplateID: String?

    // Which object.

    /// The key, where the upload names none, or always with ``forcesSaveKey``.
    public var saveKey: String?
    /// Whether ``saveKey`` counts even if the upload names a key.
    public var forcesSaveKey = false
    /// The least bytes.
    public var fileSizeMinimum: Int64?
    /// The most bytes.
    public var fileSizeLimit: Int64?
    /// Where the type of the object comes from.
    public var typeDetection: TypeDetection?
    /// Which types are taken.
    public var allowedTypes: TypeLimit?
    /// How the object is kept.
    public var storageClass: StorageClass?
    /// After how many days it is deleted.
    public var deleteAfterDays: Int?
    /// The most bits per second of the upload: 819,200 to 838,860,800.
    public var trafficLimit: Int?

    /// A policy with what every policy has.
    public init(scope: QiniuScope, deadline: Date) {
        self.scope = scope
        self.deadline = deadline
    }

    /// The type of a callback's body.
    public enum CallbackBodyType: String, Sendable, Hashable, CaseIterable, Codable {
        /// A form of the old kind; magic variables are percent-encoded.
        case form = "application/x-www-form-urlencoded"
        /// JSON; magic variables become JSON strings.
        case json = "application/json"
    }

    /// Where the type of an object comes from: `detectMime`.
    public enum TypeDetection: Int, Sendable, Hashable, CaseIterable, Codable {
        /// What the upload says; else the name, else the bytes.
        case asGiven = 0
        /// The bytes, whatever the upload says.
        case always = 1
        /// What the upload says, else `application/octet-stream`.
        case never = -1
    }

    /// Which types are taken: `mimeLimit`. An entry is a type or `image/*`.
    public enum TypeLimit: Sendable, Hashable, Codable {
        /// These alone.
        case only([String])
        /// All but these.
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

    /// How an object is kept: `fileType`.
    public enum StorageClass: Int, Sendable, Hashable, CaseIterable, Codable {
        /// At hand.
        case standard = 0
        /// Seldom read.
        case infrequent = 1
        /// Has to be thawed.
        case archive = 2
        /// Has to be thawed for hours.
        case deepArchive = 3
        /// At hand, seldom read.
        case archiveInstant = 4
    }
}
