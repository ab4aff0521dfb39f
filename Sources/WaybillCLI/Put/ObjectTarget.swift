import Waybill
import WaybillStores

/// A bucket of a store whose client is an `ObjectClient`.
struct ObjectTarget<Client: ObjectClient>: PutTarget {
    private let client: Client
    /// The beginning of locations, such as `s3`.
    private let scheme: String
    private let bucket: String
    private let options: Client.Options
    private let multipart: OSSMultipartOptions
    /// Throws for a key that the store does not permit.
    private let checkKey: @Sendable (String) throws(StoreError) -> Void
    /// Converts a stored object.
    private let stored: @Sendable (Client.Stored) -> PutStored

    func location(of key: String) -> String { "\(scheme)://\(bucket)/\(key)" }

    func check(key: String) throws(StoreError) { try checkKey(key) }

    func start(_ file: PutFile) -> PutTransfer {
        var multipart = multipart
        // The copy of a pipe is removed when the process ends, so its upload can't be resumed.
        if file.isPipe { multipart.resumes = false }
        let upload = client.startUpload(
            file: file.source, to: file.key, in: bucket, options: options, multipart: multipart)
        return PutTransfer(upload, size: file.size, stored: stored)
    }
}

extension ObjectTarget<AliyunOSSClient> {
    /// Creates a target at Aliyun OSS.
    init(
        bucket: String, configuration: AliyunOSSClient.Configuration, session: UploadSession,
        options: OSSObjectOptions, multipart: OSSMultipartOptions
    ) throws(StoreError) {
        try OSSName.checkBucket(bucket)
        client = try AliyunOSSClient(configuration: configuration, credentials: .environment(), session: session)
        (scheme, self.bucket, self.options, self.multipart) = ("oss", bucket, options, multipart)
        checkKey = OSSName.checkKey
        stored = { object in
            PutStored(
                url: object.url,
                // JSON numbers are too imprecise for a 64-bit checksum.
                members: [
                    "etag": object.etag, "crc64": object.checksum.map { "\($0)" }, "requestID": object.requestID,
                ], object.beginning, wasFoundStored: object.wasFoundStored, wasSkipped: object.wasSkipped)
        }
    }
}

extension ObjectTarget<S3Client> {
    /// Creates a target at Amazon S3 or a compatible store.
    init(
        bucket: String, configuration: S3Client.Configuration, session: UploadSession, options: S3ObjectOptions,
        multipart: S3MultipartOptions
    ) throws(StoreError) {
        try S3Name.checkBucket(bucket)
        try configuration.checkCondition(of: options)
        client = try S3Client(configuration: configuration, credentials: S3Location.credentials, session: session)
        (scheme, self.bucket, self.options, self.multipart) = ("s3", bucket, options, multipart)
        checkKey = S3Name.checkKey
        stored = { object in
            PutStored(
                url: object.url,
                members: ["etag": object.etag, "versionID": object.versionID, "requestID": object.requestID],
                object.beginning, wasFoundStored: object.wasFoundStored, wasSkipped: object.wasSkipped)
        }
    }
}

extension S3Client.Configuration {
    /// Throws if the store would ignore the condition of a write.
    func checkCondition(of options: S3ObjectOptions) throws(StoreError) {
        guard options.condition == nil || profile.supportsConditionalWrites else {
            throw StoreError(
                .invalidArgument,
                "--forbid-overwrite does not apply: by its profile, \(profile.name) would overwrite the object "
                    + "nevertheless. Leave it out, or choose the store with --profile.")
        }
    }
}
