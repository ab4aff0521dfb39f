import HTTPTypes
import Waybill
import WaybillStores

extension PutCommand {
    /// Returns the options of every request, and strings that must not be printed.
    func uploadOptions() throws(CommandFailure) -> (UploadOptions, [String]) {
        var options = UploadOptions()
        options.retry = try limits.retry() ?? options.retry
        let secrets = try network.apply(to: &options, limits.times, isInsecure: request.insecure)
        return (options, secrets)
    }

    /// Returns the session of the command. The rate applies to all files together.
    func session(_ console: Console, rate: ByteCount?) -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.userAgent = "waybill/\(WaybillCommand.version)"
        configuration.retryBudget = nil
        let requests = max(8, files.parallel * (store.partsAtOnce ?? 5))
        configuration.maximumConcurrentTransfers = requests
        configuration.maximumConcurrentTransfersPerHost = requests
        configuration.rateLimit = rate
        if output.verbose { configuration.logger = EventLog.logger(console) }
        return UploadSession(configuration: configuration)
    }

    /// Returns the options of uploads to a tus server.
    func resumeOptions() throws(StoreError) -> ResumeOptions {
        var resume = ResumeOptions(.tus)
        resume.parallelParts = try store.checkedPartsAtOnce() ?? 1
        guard resume.parallelParts <= 16 else {
            throw StoreError(.invalidArgument, "--parts-at-once must be between 1 and 16 for a tus server.")
        }
        if let path = store.records { resume.records = ResumeRecordDirectory(path: path) }
        if store.doesNotResume { resume.records = nil }
        return resume
    }

    /// Returns the configuration of the OSS client.
    func ossConfiguration(_ options: UploadOptions) throws(StoreError) -> AliyunOSSClient.Configuration {
        let region = store.region ?? Environment.text("OSS_REGION")
        let endpoint: OSSEndpoint
        if let text = store.endpoint ?? Environment.text("OSS_ENDPOINT") {
            endpoint = try OSSEndpoint(text)
        } else if let region {
            endpoint = try .region(region)
        } else {
            throw StoreError(
                .invalidEndpoint,
                "The location of the bucket is unknown. Pass --region or --endpoint, or set OSS_REGION or OSS_ENDPOINT."
            )
        }
        var configuration = AliyunOSSClient.Configuration(endpoint: endpoint)
        configuration.region = region
        configuration.signatureVersion = try signatureVersion()
        configuration.allowsUnencrypted = store.allowsHTTP
        configuration.transfer = Self.storeTransfer(options)
        if limits.retries != nil { configuration.retry = options.retry }
        if let path = store.records { configuration.records = RecordDirectory(path: path) }
        return configuration
    }

    /// Returns the options of every object.
    func objectOptions(_ headers: HTTPFields) throws(StoreError) -> OSSObjectOptions {
        var options = OSSObjectOptions()
        options.headers = headers
        options.contentType = object.contentType ?? headers[.contentType]
        options.headers[.contentType] = nil
        options.forbidsOverwrite = object.forbidsOverwrite
        options.metadataPolicy = .percentEncode
        options.metadata = try object.metadataFields()
        options.access = try object.access.map { (name) throws(StoreError) in
            try Self.validated(name, OSSAccess(rawValue: name), OSSAccess.allCases.map(\.rawValue), "--acl")
        }
        options.storageClass = try object.storageClass.map { (name) throws(StoreError) in
            try Self.validated(
                name, OSSStorageClass(rawValue: name), OSSStorageClass.allCases.map(\.rawValue), "--storage-class")
        }
        return options
    }

    /// Returns the transfer options of each request to a store.
    static func storeTransfer(_ options: UploadOptions) -> TransferOptions {
        var transfer = options.transfer
        // Set on the session, which shares the rate among all requests.
        transfer.rateLimit = nil
        if transfer.limits.total == nil { transfer.limits.total = .seconds(7 * 86_400) }
        return transfer
    }

    /// Returns the options for uploads of large files in parts.
    func multipart(partSizeFrom minimum: ByteCount = .kibibytes(100)) throws(StoreError) -> OSSMultipartOptions {
        var options = OSSMultipartOptions()
        options.resumes = !store.doesNotResume
        options.skipsSame = files.skipsSame
        options.maximumConcurrentParts = try store.checkedPartsAtOnce()
        if let size = try store.checkedPartSize(from: minimum) {
            options.partSize = size
            options.singleRequestLimit = size
        }
        return options
    }

    private func signatureVersion() throws(StoreError) -> OSSSignatureVersion? {
        try store.signVersion.map { (name) throws(StoreError) in
            try Self.validated(
                name, OSSSignatureVersion(rawValue: name.lowercased()), OSSSignatureVersion.allCases.map(\.rawValue),
                "--sign-version")
        }
    }

    static func validated<Value>(
        _ name: String, _ value: Value?, _ names: [String], _ option: String
    ) throws(StoreError) -> Value {
        guard let value else {
            throw StoreError(
                .invalidArgument,
                "\(option) must be one of \(names.joined(separator: ", ")); got \(Redaction.quoted(name)).")
        }
        return value
    }
}
