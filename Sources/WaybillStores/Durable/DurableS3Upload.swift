public import Waybill
import WaybillCore

/// A durable upload of an object to Amazon S3 or a compatible store: it can be persisted in a queue, and continues after
/// the process was restarted, killed (`kill -9`) or stopped by a power failure.
///
/// ```swift
/// configuration.kinds = [DurableS3Upload.self]
/// configuration.credentials = StoreAccounts(s3: ["backup": .aws()])
/// let outbox = try await Outbox(at: "/var/lib/kiosk/outbox", configuration: configuration)
///
/// let upload = try await DurableS3Upload(
///     file: "film.mov", to: "films/7.mov", configuration: client.configuration, credential: "backup")
/// try await outbox.enqueue(upload)
/// ```
///
/// It works as a ``DurableOSSUpload`` does: the queue stores the same, parts that the store lists are never sent again,
/// and errors of the account block the lane. Besides writing, it requires the permissions to list parts
/// (`s3:ListMultipartUploadParts`) and to query objects, including absent ones (`s3:GetObject`, `s3:ListBucket`).
/// An unmet ``S3ObjectOptions/condition`` leads to rejection.
public struct DurableS3Upload: DurableUpload {
    /// The kind of the upload: `s3`.
    public static let kind = "s3"

    /// The bucket.
    public let bucket: String
    /// The object key.
    public let key: String
    /// The name of the account, see ``StoreAccounts``.
    public let credential: String
    /// The options of the object.
    public let options: S3ObjectOptions
    let sending: S3DeliverySettings
    private var file: DurableFile

    /// Creates an upload of a file, which must exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - key: The object key.
    ///   - configuration: The configuration of a client for the store.
    ///   - bucket: The bucket, or `nil` for the bucket of the configuration.
    ///   - credential: The name of the account.
    ///   - options: The content type, metadata, access control and condition of the object.
    /// - Throws: ``StoreError`` if the file, the destination or the options are invalid, with the code `notDurable` for
    ///   a header field that contains a secret.
    public init(
        file path: String, to key: String, configuration: S3Client.Configuration, in bucket: String? = nil,
        credential: String, options: S3ObjectOptions = S3ObjectOptions()
    ) async throws(StoreError) {
        try self.init(try await DurableFile.examined(at: path), key, configuration, bucket, credential, options)
    }

    /// Creates an upload of bytes. The outbox writes them to its own file.
    ///
    /// - Throws: ``StoreError``, as for a file.
    public init(
        _ bytes: some Sequence<UInt8>, to key: String, configuration: S3Client.Configuration, in bucket: String? = nil,
        credential: String, options: S3ObjectOptions = S3ObjectOptions()
    ) throws(StoreError) {
        try self.init(DurableFile(bytes: Array(bytes)), key, configuration, bucket, credential, options)
    }

    private init(
        _ file: DurableFile, _ key: String, _ configuration: S3Client.Configuration, _ bucket: String?,
        _ credential: String, _ options: S3ObjectOptions
    ) throws(StoreError) {
        self.bucket = try configuration.bucket(bucket)
        self.key = key
        self.credential = credential
        self.file = file
        try DurableFile.checkSecrets(in: options.headers)
        var options = options
        // Persist the derived type: the table of file extensions can change in the next release.
        options.contentType = try options.fields(for: key, configuration.profile)[.contentType]
        self.options = options
        sending = try S3DeliverySettings(configuration)
        // Errors of the destination and the part size are thrown to the caller, not to the worker.
        let service = try S3Service(configuration, Self.noCredentials)
        try configuration.check(service)
        try S3Name.checkKey(key)
        _ = try service.url(bucket: self.bucket, key: key)
        guard let size = file.count, isInParts else { return }
        _ = try PartPlan(
            objectSize: size, preferredPartSize: configuration.partSize, limits: configuration.profile.limits)
    }

    /// The host of the bucket and the account.
    public var lane: DurableLane {
        let service = try? S3Service(sending.configuration, Self.noCredentials)
        let lane = (try? service?.url(bucket: bucket, key: "")).flatMap {
            try? DurableLane(url: $0, account: credential)
        }
        return lane ?? DurableLane(host: sending.endpoint, account: credential)
    }

    /// The file, as the only element.
    public var files: [DurableFile] {
        get { [file] }
        set { if let first = newValue.first { file = first } }
    }

    /// Whether the upload uses parts. Bytes in memory do not: there is no file to resume from.
    private var isInParts: Bool { file.pending == nil && (file.count ?? 0) > max(0, sending.singleRequestLimit.bytes) }

    private static let noCredentials = CredentialProvider { _, _ throws(StoreError) in
        throw StoreError(.credentialsUnavailable, "The credentials are those of the worker.")
    }
}

extension DurableS3Upload {
    /// Uploads the object. Parts that the store has from an earlier attempt are not sent again.
    /// The file is checked for changes, and failures are handled, as by ``DurableOSSUpload/deliver(_:)``.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        try await delivery.deliver(file) { () throws(StoreError) in try fileUpload(delivery) }
    }

    /// Queries the store for the parts, then for an object with the size and the checksum or `ETag` of the file.
    ///
    /// The verdicts are those of ``DurableOSSUpload/verify(_:)``. An `ETag` depends on the size of the parts: the same
    /// bytes, stored in other parts, do not count. Without a comparable checksum or `ETag`, as with encryption by a key
    /// service, the verdict is ``/Waybill/DeliveryVerdict/undetermined``.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict {
        try await delivery.verify(file, isRepeatable: options.condition == nil) { () throws(StoreError) in
            try fileUpload(delivery)
        }
    }

    private func fileUpload(_ delivery: Delivery) throws(StoreError) -> FileUpload {
        var configuration = sending.configuration
        configuration.transfer = delivery.session.options.transfer
        // A single request is retried by the queue, which stores the number of attempts; a part is no attempt.
        if !isInParts { configuration.retry = .none }
        let client = try S3Client(
            configuration: configuration, credentials: delivery.credentials.storeAccount(credential, of: .s3),
            session: delivery.session, clock: delivery.clock(of: sending.endpoint, configuration.now))
        return client.fileUpload(file.path, to: key, in: bucket, options)
    }
}

extension DurableS3Upload: RedactedDescription {
    /// The bucket, the key and the file.
    public var description: String { "s3://\(StoreError.shown(bucket))/\(StoreError.shown(key)) (\(file))" }
}
