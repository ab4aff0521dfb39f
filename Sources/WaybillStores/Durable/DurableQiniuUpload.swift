import FoundationEssentials
public import Waybill
import WaybillCore
import WaybillMultipart

/// A durable upload of an object to Qiniu: it can be persisted in a queue, and continues after the process was
/// restarted, killed (`kill -9`) or stopped by a power failure.
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
/// The queue stores the path of the file or a copy of the file, the destination, the options of the object, and only
/// the name of the account (``StoreAccounts``). The upload token is created or requested when the upload starts, so it
/// can't expire in the queue. If the upload has its own policy, that is stored without its deadline and signed when the
/// upload starts, which requires an account with keys.
///
/// A small file is uploaded as a form, a large one in parts (`formThreshold`, `partSize`), as by a client. The state of
/// a multipart upload is stored in the queue with the upload. Parts that the store lists are never sent again during
/// the lifetime of the multipart upload, which is seven days.
///
/// Outcomes besides success:
///
/// - An object that is stored although its callback failed counts as delivered; its response has the status 579.
/// - A token that is unavailable, that has expired (401), or whose account is frozen (419) blocks the lane: nothing is
///   sent to this bucket with this account until the problem is fixed. No attempt is used up.
/// - A different object under the key that can't be overwritten (614), or a file that the policy does not allow, leads
///   to rejection.
public struct DurableQiniuUpload: DurableUpload {
    /// The kind of the upload: `qiniu`.
    public static let kind = "qiniu"

    /// The bucket.
    public let bucket: String
    /// The object key, or `nil` to let the store choose it.
    public let key: String?
    /// The name of the account, see ``StoreAccounts``.
    public let credential: String
    /// The file name that is sent.
    public let fileName: String
    /// The content type; `nil` to derive it from the file name.
    public let contentType: String?
    /// The options of the object.
    public let options: QiniuPutOptions
    /// The put policy of this upload; `nil` for that of the account.
    public let policy: QiniuPutPolicy?
    /// The validity of a token for ``policy``, in seconds.
    public let tokenLifetimeSeconds: Int64
    let sending: QiniuDeliverySettings
    private var file: DurableFile

    /// Creates an upload of a file, which must exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - key: The object key. `nil` lets the store choose: the policy's `saveKey`, or else the hash.
    ///   - bucket: The bucket.
    ///   - credential: The name of the account.
    ///   - configuration: The configuration of a client. Retries, records, limits and clocks are those of the worker
    ///     that delivers the upload.
    ///   - contentType: The content type; `nil` to derive it from the file name.
    ///   - options: Variables, metadata and other fields.
    ///   - policy: The put policy of the token, if it is not that of the account. Its deadline is replaced at each
    ///     delivery.
    ///   - tokenLifetime: The validity of a token for `policy`.
    /// - Throws: ``StoreError`` if the file, the key, the options or the policy are invalid.
    public init(
        file path: String, to key: String?, in bucket: String, credential: String,
        configuration: QiniuClient.Configuration = QiniuClient.Configuration(), contentType: String? = nil,
        options: QiniuPutOptions = QiniuPutOptions(), policy: QiniuPutPolicy? = nil,
        tokenLifetime: Duration = .seconds(3_600)
    ) async throws(StoreError) {
        let named = QiniuSource.file(path: path, contentType: contentType)
        let file = try await DurableFile.examined(at: path)
        try self.init(file, named, key, bucket, credential, configuration, options, policy, tokenLifetime)
    }

    /// Creates an upload of bytes. The outbox writes them to its own file.
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

    /// Creates an upload of an object prepared by a recipe: its compressed image, or its unchanged file.
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
        let file = try await DurableFile.of(object)
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
        sending = QiniuDeliverySettings(configuration)
        tokenLifetimeSeconds = max(1, tokenLifetime.components.seconds)
        var policy = policy
        // Clear the deadline: it would expire in the queue, and equal uploads must have equal encodings.
        policy?.deadline = Date(timeIntervalSince1970: 0)
        self.policy = policy
        if let policy = self.policy(at: .now) {
            try policy.check(at: .now)
            guard policy.scope.bucket == bucket, policy.forcesSaveKey || policy.scope.covers(key) else {
                throw StoreError(
                    .invalidPutPolicy, "The scope of the put policy does not cover the bucket and key of the upload.")
            }
        }
        guard let size = file.count, isInParts else { return }
        _ = try PartPlan(objectSize: size, preferredPartSize: configuration.partSize, limits: QiniuPartsUpload.limits)
    }

    /// The bucket and the account. The upload hosts are not part of the lane: if one is unreachable, the next is tried.
    public var lane: DurableLane { DurableLane(host: "qiniu:\(bucket)", account: credential) }

    /// The file, as the only element.
    public var files: [DurableFile] {
        get { [file] }
        set { if let first = newValue.first { file = first } }
    }

    /// Whether the upload uses parts.
    var isInParts: Bool { (file.count ?? 0) > sending.formThreshold }

    var source: DurableFile { file }

    /// Returns the policy with a deadline.
    func policy(at now: Date) -> QiniuPutPolicy? {
        var policy = policy
        policy?.deadline = now.addingTimeInterval(TimeInterval(tokenLifetimeSeconds))
        return policy
    }
}

extension DurableQiniuUpload: RedactedDescription {
    /// The bucket, the key and the file.
    public var description: String {
        "qiniu://\(StoreError.shown(bucket))/\(StoreError.shown(key ?? "")) (\(file))"
    }
}
