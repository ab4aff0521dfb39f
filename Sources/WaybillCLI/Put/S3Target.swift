import HTTPTypes
import Waybill
import WaybillStores

/// A bucket of Amazon S3 or a compatible store.
struct S3Target: PutTarget {
    private let client: S3Client
    private let bucket: String
    private let options: S3ObjectOptions
    private let multipart: S3MultipartOptions

    init(
        bucket: String, configuration: S3Client.Configuration, session: UploadSession, options: S3ObjectOptions,
        multipart: S3MultipartOptions
    ) throws(StoreError) {
        client = try S3Client(configuration: configuration, credentials: S3Location.credentials, session: session)
        (self.bucket, self.options, self.multipart) = (bucket, options, multipart)
        try Self.checkCondition(options, configuration.profile)
    }

    /// Throws if the store would ignore the condition of the write.
    static func checkCondition(_ options: S3ObjectOptions, _ profile: S3Profile) throws(StoreError) {
        guard options.condition == nil || profile.supportsConditionalWrites else {
            throw StoreError(
                .invalidArgument,
                "--forbid-overwrite does not apply: by its profile, \(profile.name) would overwrite the object "
                    + "nevertheless. Leave it out, or choose the store with --profile.")
        }
    }

    func location(of key: String) -> String { "s3://\(bucket)/\(key)" }

    func check(key: String) throws(StoreError) {
        try S3Name.checkBucket(bucket)
        try S3Name.checkKey(key)
    }

    func start(_ file: PutFile) -> PutTransfer {
        var multipart = multipart
        // The copy of a pipe is removed when the process ends, so its upload can't be resumed.
        if file.isPipe { multipart.resumes = false }
        let upload = client.startUpload(
            file: file.source, to: file.key, in: bucket, options: options, multipart: multipart)
        return PutTransfer(upload, size: file.size) { object in
            PutStored(
                url: object.url,
                members: ["etag": object.etag, "versionID": object.versionID, "requestID": object.requestID],
                object.beginning, wasFoundStored: object.wasFoundStored, wasSkipped: object.wasSkipped)
        }
    }
}

extension PutCommand {
    /// Returns the configuration of the S3 client.
    func s3Configuration(_ options: UploadOptions) throws(StoreError) -> S3Client.Configuration {
        var configuration = try S3Location(
            profile: store.profile, endpoint: store.endpoint, region: store.region
        ).configuration
        configuration.checksum = try store.checksum.map { (name) throws(StoreError) in
            try Self.validated(name, S3Checksum(rawValue: name), S3Checksum.allCases.map(\.rawValue), "--checksum")
        }
        configuration.allowsUnencrypted = store.allowsHTTP
        configuration.transfer = Self.storeTransfer(options)
        if limits.retries != nil { configuration.retry = options.retry }
        if let path = store.records { configuration.records = RecordDirectory(path: path) }
        return configuration
    }

    /// Returns the options of every object.
    func s3ObjectOptions(_ headers: HTTPFields) throws(StoreError) -> S3ObjectOptions {
        var options = S3ObjectOptions()
        options.headers = headers
        options.contentType = object.contentType ?? headers[.contentType]
        options.headers[.contentType] = nil
        if object.forbidsOverwrite { options.condition = .isAbsent }
        options.metadataPolicy = .percentEncode
        options.metadata = try object.metadataFields()
        options.acl = object.access
        options.storageClass = object.storageClass
        return options
    }
}
