public import Waybill
import WaybillCore
import WaybillMultipart

/// An object on its way to Aliyun OSS that can be written down: a file that goes on being uploaded when the program was started
/// anew, after `kill -9` and after a power cut.
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
/// What is written down is the file's path or a copy of the file, the place, and all that is said about the object; of the
/// account only its name (``StoreAccounts``). Of the client's configuration those settings are kept that say where and how an
/// object is made. Limits in time, proxy, TLS and slots are those of the session that delivers.
///
/// A small file goes in one request, a large one in parts (`wholeUpTo`, `partSize`). Where a large one stands is written into the
/// queue with the upload itself, the id of the multipart upload too, so the queue's folder has to be its owner's alone, which
/// an outbox sees to. Parts that the store lists are never sent again. That takes the rights to list parts
/// (`oss:ListParts`), and to look whether an object is there that to read it (`oss:GetObject`).
///
/// How it can end, beside success:
///
/// - An object that is stored though its callback failed is delivered, with the status 203 as its answer.
/// - Credentials that have run out, a signature or a clock that the store does not take block the lane: nothing of this
///   bucket and account is sent until somebody has mended that, and no attempt is spent.
/// - ``OSSObjectOptions/forbidsOverwrite`` and an object that is there: refused.
///
/// Parts of an upload that was called off stay in the store until a lifecycle rule of the bucket removes them.
public struct DurableOSSUpload: DurableUpload {
    /// `oss`.
    public static let kind = "oss"

    /// The bucket.
    public let bucket: String
    /// The key.
    public let key: String
    /// The name of the account: ``StoreAccounts``.
    public let credential: String
    /// What is said about the object.
    public let options: OSSObjectOptions
    let sending: OSSSending
    private var file: DurableFile

    /// Describes the upload of a file, which must be there.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: The key.
    ///   - configuration: Where and how, as a client is set up.
    ///   - bucket: The bucket; `nil` for the configuration's.
    ///   - credential: The name of the account.
    ///   - options: Type, metadata, who may read, callback.
    /// - Throws: ``StoreError``: what is wrong with the file, the place or the options; with the code `notDurable` for a
    ///   header field that holds a secret.
    public init(
        file path: String, to key: String, configuration: AliyunOSSClient.Configuration, in bucket: String? = nil,
        credential: String, options: OSSObjectOptions = OSSObjectOptions()
    ) async throws(StoreError) {
        let file = try await DurableFile.looked(at: path)
        try self.init(file, key, configuration, bucket, credential, options)
        try checkSize()
    }

    /// Describes the upload of bytes. The outbox puts them into a file of its own.
    ///
    /// - Throws: ``StoreError``, as for a file.
    public init(
        _ bytes: some Sequence<UInt8>, to key: String, configuration: AliyunOSSClient.Configuration,
        in bucket: String? = nil, credential: String, options: OSSObjectOptions = OSSObjectOptions()
    ) throws(StoreError) {
        try self.init(DurableFile(bytes: Array(bytes)), key, configuration, bucket, credential, options)
        try checkSize()
    }

    /// Describes the upload of an object that a recipe has made: of its picture, or of its file as it is.
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
        let file: DurableFile
        switch object.source {
        case .bytes(let bytes): file = DurableFile(bytes: bytes)
        case .file(let path): file = try await DurableFile.looked(at: path)
        }
        try self.init(file, object.key, configuration, bucket, credential, options)
        try checkSize()
    }

    private init(
        _ file: DurableFile, _ key: String, _ configuration: AliyunOSSClient.Configuration, _ bucket: String?,
        _ credential: String, _ options: OSSObjectOptions
    ) throws(StoreError) {
        try configuration.check()
        guard let bucket = bucket ?? configuration.bucket else {
            throw StoreError(.invalidBucket, "no bucket was named: give one, or one to the configuration")
        }
        if let field = options.headers.first(where: { Self.secretFields.contains($0.name.canonicalName) }) {
            throw DurableFile.refused(
                "the header field \(field.name) holds a secret, and secrets are not written down: name an account instead"
            )
        }
        var options = options
        // What a table of endings says may be another thing in the next release.
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
        sending = OSSSending(configuration)
    }

    /// Parts that are not allowed, or too many of them, are told now and not when nobody is there to see it.
    private func checkSize() throws(StoreError) {
        guard let size = file.count, isInParts else { return }
        _ = try PartPlan(objectSize: size, wished: .bytes(sending.partSize), limits: OSSFileUpload.limits)
    }

    /// The host of the bucket, and the account.
    public var lane: DurableLane {
        let host = (try? sending.place().url(bucket: bucket, key: "")).flatMap {
            try? DurableLane(url: $0, account: credential)
        }
        return host ?? DurableLane(host: sending.endpoint, account: credential)
    }

    /// The file.
    public var files: [DurableFile] {
        get { [file] }
        set { if let first = newValue.first { file = first } }
    }

    /// Whether it goes in parts. Bytes in memory don't: they have no file to go on from.
    var isInParts: Bool { file.pending == nil && (file.count ?? 0) > max(0, sending.wholeUpTo) }

    var source: DurableFile { file }

    private static let secretFields: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "x-oss-security-token",
        "x-oss-server-side-encryption-customer-key",
    ]
}

extension DurableOSSUpload: CustomStringConvertible, CustomReflectable {
    /// Bucket, key and the file.
    public var description: String { "oss://\(StoreError.shown(bucket))/\(StoreError.shown(key)) (\(file))" }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["upload": description]) }
}
