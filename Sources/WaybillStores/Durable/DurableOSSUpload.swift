public import Waybill
import WaybillCore
import WaybillMultipart

/// A durable upload of an object to Aliyun OSS: it can be persisted in a queue, and continues after the process was
/// restarted, killed (`kill -9`) or stopped by a power failure.
///
/// ```swift
/// configuration.kinds = [DurableOSSUpload.self]
/// configuration.credentials = StoreAccounts(oss: ["scans": .environment()])
/// let outbox = try await Outbox(at: "/var/lib/kiosk/outbox", configuration: configuration)
///
/// let upload = try await DurableOSSUpload(
///     file: "film.mov", to: "films/7.mov", configuration: client.configuration, credential: "scans")
/// try await outbox.enqueue(upload)
/// ```
///
/// The queue stores the path of the file or a copy of the file, the destination, the object options, and only the name
/// of the account (``StoreAccounts``). Of the client's configuration, it stores the settings for the endpoint, the
/// signature and the parts. Time limits, proxy, TLS and slots are those of the session that delivers.
///
/// A small file is uploaded in a single request, a large one in parts (`singleRequestLimit`, `partSize`). The state of
/// a multipart upload, including its ID, is stored in the queue with the upload. The queue's directory must therefore
/// be accessible only to its owner, which an outbox ensures. Parts that the store lists are never sent again. This
/// requires the permissions to list parts (`oss:ListParts`) and to query the object (`oss:GetObject`).
///
/// Outcomes besides success:
///
/// - An object that is stored although its callback failed counts as delivered; its response has the status 203.
/// - Expired credentials, or a signature or clock that the store rejects, block the lane: nothing is sent to this
///   bucket with this account until the problem is fixed. No attempt is used up.
/// - With ``OSSObjectOptions/forbidsOverwrite``, an existing object leads to rejection.
///
/// The parts of a cancelled upload stay in the store until a lifecycle rule of the bucket deletes them.
public struct DurableOSSUpload: DurableUpload {
    /// The kind of the upload: `oss`.
    public static let kind = "oss"

    /// The bucket.
    public let bucket: String
    /// The object key.
    public let key: String
    /// The name of the account, see ``StoreAccounts``.
    public let credential: String
    /// The options of the object.
    public let options: OSSObjectOptions
    let sending: OSSDeliverySettings
    private var file: DurableFile

    /// Creates an upload of a file, which must exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - key: The object key.
    ///   - configuration: The configuration of a client for the endpoint.
    ///   - bucket: The bucket, or `nil` for the bucket of the configuration.
    ///   - credential: The name of the account.
    ///   - options: The content type, metadata, access control and callback of the object.
    /// - Throws: ``StoreError`` if the file, the destination or the options are invalid, with the code `notDurable` for
    ///   a header field that contains a secret.
    public init(
        file path: String, to key: String, configuration: AliyunOSSClient.Configuration, in bucket: String? = nil,
        credential: String, options: OSSObjectOptions = OSSObjectOptions()
    ) async throws(StoreError) {
        try self.init(try await DurableFile.examined(at: path), key, configuration, bucket, credential, options)
    }

    /// Creates an upload of bytes. The outbox writes them to its own file.
    ///
    /// - Throws: ``StoreError``, as for a file.
    public init(
        _ bytes: some Sequence<UInt8>, to key: String, configuration: AliyunOSSClient.Configuration,
        in bucket: String? = nil, credential: String, options: OSSObjectOptions = OSSObjectOptions()
    ) throws(StoreError) {
        try self.init(DurableFile(bytes: Array(bytes)), key, configuration, bucket, credential, options)
    }

    /// Creates an upload of an object prepared by a recipe: its compressed image, or its unchanged file.
    ///
    /// ```swift
    /// let object = try await UploadRecipe.idCardFront.prepare(file: "IMG_0042.jpg", parameters: ["businessNo": number])
    /// try await outbox.enqueue(DurableOSSUpload(object, configuration: client.configuration, credential: "cards"))
    /// ```
    ///
    /// - Throws: ``StoreError``, as for a file.
    public init(
        _ object: PreparedObject, configuration: AliyunOSSClient.Configuration, in bucket: String? = nil,
        credential: String, options: OSSObjectOptions = OSSObjectOptions()
    ) async throws(StoreError) {
        var options = options
        options.contentType = options.contentType ?? object.contentType
        options.metadata.merge(object.metadata) { own, _ in own }
        try self.init(try await DurableFile.of(object), object.key, configuration, bucket, credential, options)
    }

    private init(
        _ file: DurableFile, _ key: String, _ configuration: AliyunOSSClient.Configuration, _ bucket: String?,
        _ credential: String, _ options: OSSObjectOptions
    ) throws(StoreError) {
        try configuration.check()
        let bucket = try configuration.bucket(bucket)
        try DurableFile.checkSecrets(in: options.headers)
        var options = options
        // Persist the derived type: the table of file extensions can change in the next release.
        options.contentType = try options.fields(for: key)[.contentType]
        _ = try options.limitFields()
        _ = try options.callback?.fields()
        _ = try configuration.endpoint.url(bucket: bucket, key: key)
        try OSSName.checkKey(key)
        self.bucket = bucket
        self.key = key
        self.credential = credential
        self.options = options
        self.file = file
        sending = OSSDeliverySettings(configuration)
        // Errors of the part size are thrown to the caller, not to the worker.
        guard let size = file.count, isInParts else { return }
        _ = try PartPlan(
            objectSize: size, preferredPartSize: configuration.partSize, limits: OSSObjectRequests.limits)
    }

    /// The host of the bucket and the account.
    public var lane: DurableLane {
        let host = (try? sending.parsedEndpoint().url(bucket: bucket, key: "")).flatMap {
            try? DurableLane(url: $0, account: credential)
        }
        return host ?? DurableLane(host: sending.endpoint, account: credential)
    }

    /// The file, as the only element.
    public var files: [DurableFile] {
        get { [file] }
        set { if let first = newValue.first { file = first } }
    }

    /// Whether the upload uses parts. Bytes in memory do not: there is no file to resume from.
    var isInParts: Bool { file.pending == nil && (file.count ?? 0) > max(0, sending.singleRequestLimit) }

    var source: DurableFile { file }
}

extension DurableOSSUpload: RedactedDescription {
    /// The bucket, the key and the file.
    public var description: String { "oss://\(StoreError.shown(bucket))/\(StoreError.shown(key)) (\(file))" }
}
