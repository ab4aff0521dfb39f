import FoundationEssentials
public import Waybill
import WaybillCore
import WaybillMultipart

/// An object on its way to Qiniu that can be written down: a file that goes on being uploaded when the program was started anew,
/// after `kill -9` and after a power cut.
///
/// ```swift
/// configuration.kinds = [DurableQiniuUpload.self]
/// configuration.credentials = StoreAccounts(qiniu: ["photos": .keys(keys, bucket: "photos")])
/// let outbox = try await Outbox(at: "/var/lib/kiosk/outbox", configuration: configuration)
///
/// let upload = try await DurableQiniuUpload(
///     file: "front.jpg", to: "cards/7/front.jpg", in: "photos", credential: "photos")
/// try await outbox.enqueue(upload)
/// ```
///
/// What is written down is the file's path or a copy of the file, the place, and all that goes with the object; of the account
/// only its name (``StoreAccounts``). The upload token is made or asked for when it is the upload's turn, so none can grow old in
/// the queue. A policy of the upload's own, if it has one, is written down without its deadline and signed by then; that
/// takes an account that has keys.
///
/// A small file goes as a form, a large one in parts (`formThreshold`, `partSize`), as with a client. Where a large one stands
/// is written into the queue with the upload itself. Parts that the store lists are never sent again while the upload lives,
/// which is seven days.
///
/// How it can end, beside success:
///
/// - An object that is stored though its callback failed is delivered, with the status 579 as its answer.
/// - A token that can't be had, that has run out (401) or whose account is frozen (419) blocks the lane: nothing of this bucket
///   and account is sent until somebody has mended that, and no attempt is spent.
/// - Something else under the key that may not be overwritten (614), a file that the policy does not allow: refused.
public struct DurableQiniuUpload: DurableUpload {
    /// `qiniu`.
    public static let kind = "qiniu"

    /// The bucket.
    public let bucket: String
    /// The key; `nil` lets the store choose it.
    public let key: String?
    /// The name of the account: ``StoreAccounts``.
    public let credential: String
    /// The file name that goes with it.
    public let fileName: String
    /// The content type; `nil` where it follows from the file name.
    public let contentType: String?
    /// What else goes with it.
    public let options: QiniuPutOptions
    /// The policy of the upload's own; `nil` for the account's.
    public let policy: QiniuPutPolicy?
    /// How long a token of that policy is good, in seconds.
    public let tokenLifetimeSeconds: Int64
    let sending: QiniuSending
    private var file: DurableFile

    /// Describes the upload of a file, which must be there.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: The key; `nil` lets the store choose it: `saveKey` of the policy, else the hash.
    ///   - bucket: The bucket.
    ///   - credential: The name of the account.
    ///   - configuration: Where and how, as a client is set up. Retries, records, limits and clocks are those of whoever
    ///     delivers.
    ///   - contentType: The content type; `nil` lets it follow from the file name.
    ///   - options: Variables, metadata and other fields.
    ///   - policy: What its token is to allow, if not what the account says. Its deadline is replaced at each delivery.
    ///   - tokenLifetime: How long a token of that policy is good.
    /// - Throws: ``StoreError``: what is wrong with the file, the key, the options or the policy.
    public init(
        file path: String, to key: String?, in bucket: String, credential: String,
        configuration: QiniuClient.Configuration = QiniuClient.Configuration(), contentType: String? = nil,
        options: QiniuPutOptions = QiniuPutOptions(), policy: QiniuPutPolicy? = nil,
        tokenLifetime: Duration = .seconds(3_600)
    ) async throws(StoreError) {
        let named = QiniuSource.file(path: path, contentType: contentType)
        let file = try await DurableFile.looked(at: path)
        try self.init(file, named, key, bucket, credential, configuration, options, policy, tokenLifetime)
    }

    /// Describes the upload of bytes. The outbox puts them into a file of its own.
    ///
    /// - Throws: ``StoreError``, as for a file.
    public init(
        _ bytes: some Sequence<UInt8>, fileName: String = "file", to key: String?, in bucket: String,
        credential: String,
        configuration: QiniuClient.Configuration = QiniuClient.Configuration(), contentType: String? = nil,
        options: QiniuPutOptions = QiniuPutOptions(), policy: QiniuPutPolicy? = nil,
        tokenLifetime: Duration = .seconds(3_600)
    ) throws(StoreError) {
        let named = QiniuSource.data([], fileName: fileName, contentType: contentType)
        let file = DurableFile(bytes: Array(bytes))
        try self.init(file, named, key, bucket, credential, configuration, options, policy, tokenLifetime)
    }

    /// Describes the upload of an object that a recipe has made: of its picture, or of its file as it is.
    ///
    /// ```swift
    /// let object = try await UploadRecipe.idCardFront.prepare(file: "IMG_0042.jpg", parameters: ["businessNo": number])
    /// try await outbox.enqueue(DurableQiniuUpload(object, in: "photos", credential: "photos"))
    /// ```
    ///
    /// - Throws: ``StoreError``, as for a file.
    public init(
        _ object: PreparedObject, in bucket: String, credential: String,
        configuration: QiniuClient.Configuration = QiniuClient.Configuration(),
        options: QiniuPutOptions = QiniuPutOptions(), policy: QiniuPutPolicy? = nil,
        tokenLifetime: Duration = .seconds(3_600)
    ) async throws(StoreError) {
        var options = options
        options.metadata.merge(object.metadata) { own, _ in own }
        let name = object.key.split(separator: "/").last.map(String.init) ?? object.key
        let named = QiniuSource.data([], fileName: name, contentType: object.contentType)
        let file: DurableFile
        switch object.source {
        case .bytes(let bytes): file = DurableFile(bytes: bytes)
        case .file(let path): file = try await DurableFile.looked(at: path)
        }
        try self.init(file, named, object.key, bucket, credential, configuration, options, policy, tokenLifetime)
    }

    private init(
        _ file: DurableFile, _ named: QiniuSource, _ key: String?, _ bucket: String, _ credential: String,
        _ configuration: QiniuClient.Configuration, _ options: QiniuPutOptions, _ policy: QiniuPutPolicy?,
        _ tokenLifetime: Duration
    ) throws(StoreError) {
        try configuration.checkTrust()
        try QiniuName.check(bucket: bucket)
        try QiniuName.check(key: key)
        _ = try options.namedFields()
        self.bucket = bucket
        self.key = key
        self.credential = credential
        self.options = options
        self.file = file
        fileName = named.fileName
        contentType = named.contentType
        sending = QiniuSending(configuration)
        tokenLifetimeSeconds = max(1, tokenLifetime.components.seconds)
        var policy = policy
        // A deadline of its own would run out in the queue; and an equal upload is written down equally.
        policy?.deadline = Date(timeIntervalSince1970: 0)
        self.policy = policy
        if let policy = self.policy(at: .now) {
            try policy.check(at: .now)
            guard policy.scope.bucket == bucket, policy.forcesSaveKey || policy.scope.covers(key) else {
                throw StoreError(
                    .invalidPutPolicy, "the scope of the policy is for another bucket or another key than the upload")
            }
        }
        guard let size = file.count, isInParts else { return }
        _ = try PartPlan(objectSize: size, wished: configuration.partSize, limits: QiniuPartsUpload.limits)
    }

    /// The bucket and the account. Which hosts it has is no matter: where one is out of reach, the next one is tried.
    public var lane: DurableLane { DurableLane(host: "qiniu:\(bucket)", account: credential) }

    /// The file.
    public var files: [DurableFile] {
        get { [file] }
        set { if let first = newValue.first { file = first } }
    }

    /// Whether it goes in parts.
    var isInParts: Bool { (file.count ?? 0) > sending.formThreshold }

    var source: DurableFile { file }

    /// The policy with a deadline.
    func policy(at now: Date) -> QiniuPutPolicy? {
        var policy = policy
        policy?.deadline = now.addingTimeInterval(TimeInterval(tokenLifetimeSeconds))
        return policy
    }
}

extension DurableQiniuUpload: CustomStringConvertible, CustomReflectable {
    /// Bucket, key and the file.
    public var description: String {
        "qiniu://\(StoreError.shown(bucket))/\(StoreError.shown(key ?? "")) (\(file))"
    }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["upload": description]) }
}
