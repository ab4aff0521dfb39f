import WaybillCore
import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillStores

/// A bucket of Qiniu.
struct QiniuTarget: PutTarget {
    private let client: QiniuClient
    private let bucket: String
    private let options: QiniuPutOptions
    private let contentType: String?

    init(
        bucket: String, _ command: PutCommand, _ options: UploadOptions, session: UploadSession
    ) throws(StoreError) {
        self.bucket = bucket
        try QiniuName.check(bucket: bucket)
        guard !options.transfer.tls.insecureSkipVerification else {
            throw StoreError(
                .encryptionRequired,
                "Tokens are not sent to a store whose certificate is not verified. \(Remedy.trustAuthorityOfStore)")
        }
        client = QiniuClient(
            tokens: try Self.tokens(bucket, command), configuration: try Self.configuration(command, options),
            session: session)
        contentType = command.object.contentType
        self.options = try Self.objectOptions(command)
    }

    func location(of key: String) -> String { "qiniu://\(bucket)/\(key)" }

    func check(key: String) throws(StoreError) {
        try QiniuName.check(key: key)
    }

    func start(_ file: PutFile) -> PutTransfer {
        let upload = client.startUpload(
            .file(path: file.source, contentType: contentType), to: file.key, options: options)
        let url = location(of: file.key)
        return PutTransfer(upload, size: file.size) { object in
            PutStored(
                url: url,
                members: [
                    "key": object.key, "hash": object.hash, "isHashChecked": object.isHashChecked,
                    "requestID": object.requestID, "resumedBytes": object.resumedBytes,
                ],
                note: object.resumedBytes > 0 ? "resumed after \(ByteCount(bytes: object.resumedBytes))" : nil,
                wasSkipped: object.wasSkipped)
        }
    }

    // MARK: From the command line

    /// Returns a token from the environment, or keys to create one for each file.
    private static func tokens(_ bucket: String, _ command: PutCommand) throws(StoreError) -> QiniuTokens {
        let isInsertOnly = command.object.forbidsOverwrite
        guard !command.files.skipsSame || Environment.text("QINIU_UPLOAD_TOKEN") == nil else {
            throw StoreError(
                .invalidArgument,
                "--skip-same requires QINIU_ACCESS_KEY and QINIU_SECRET_KEY: the token in QINIU_UPLOAD_TOKEN permits only "
                    + "uploads. Unset it, or leave --skip-same out.")
        }
        if let text = Environment.text("QINIU_UPLOAD_TOKEN") {
            let token = try QiniuUploadToken(.secret(text))
            guard token.scope.bucket == bucket else {
                throw StoreError(
                    .uploadTokenDoesNotCover,
                    "QINIU_UPLOAD_TOKEN is for the bucket \(token.scope.bucket), not \(bucket). Use another token.")
            }
            guard !isInsertOnly || token.isInsertOnly else {
                throw StoreError(
                    .invalidArgument,
                    "--forbid-overwrite requires a token with insertOnly in QINIU_UPLOAD_TOKEN. Use another token.")
            }
            return .given(token)
        }
        guard let accessKey = Environment.text("QINIU_ACCESS_KEY"), let secretKey = Environment.text("QINIU_SECRET_KEY")
        else {
            throw StoreError(
                .uploadTokenUnavailable,
                "No credentials were found. Set QINIU_ACCESS_KEY and QINIU_SECRET_KEY, or QINIU_UPLOAD_TOKEN.")
        }
        return .keys(QiniuKeys(accessKey: accessKey, secretKey: .secret(secretKey))) { request, now in
            let key = request.key ?? ""
            return QiniuPutPolicy(
                scope: isInsertOnly ? .newKey(key, bucket: bucket) : .key(key, bucket: bucket),
                deadline: now.addingTimeInterval(3_600))
        }
    }

    static func configuration(
        _ command: PutCommand, _ options: UploadOptions
    ) throws(StoreError) -> QiniuClient.Configuration {
        var configuration = QiniuClient.Configuration()
        configuration.transfer = options.transfer
        // Set on the session, which shares the rate among all requests.
        configuration.transfer.rateLimit = nil
        let hosts =
            command.store.upHosts.isEmpty ? Environment.text("QINIU_UP_HOST").map { [$0] } ?? [] : command.store.upHosts
        if !hosts.isEmpty {
            configuration.hosts = .fixed(hosts)
        }
        let resourceHost = command.store.resourceHost ?? Environment.text("QINIU_RS_HOST")
        if let resourceHost { configuration.resourceHost = resourceHost }
        let all = hosts + [configuration.resourceHost]
        guard command.store.allowsHTTP || !all.contains(where: { $0.lowercased().hasPrefix("http://") }) else {
            throw StoreError(
                .encryptionRequired,
                "An eavesdropper can read the token sent to an http:// host. Use https, or pass --allow-http.")
        }
        if let retries = command.limits.retries { configuration.retriesPerHost = max(0, retries) }
        if let path = command.store.records { configuration.records = RecordDirectory(path: path) }
        if command.store.doesNotResume { configuration.records = nil }
        configuration.maximumConcurrentParts =
            try command.store.checkedPartsAtOnce() ?? configuration.maximumConcurrentParts
        if let text = command.store.partSize {
            guard let size = ByteCount(text), size >= .mebibytes(1), size <= .gibibytes(1) else {
                throw StoreError(.invalidArgument, "--part-size must be between 1MiB and 1GiB for Qiniu, as in 4MiB.")
            }
            configuration.partSize = size
            configuration.formThreshold = min(size, configuration.formThreshold)
        }
        return configuration
    }

    static func objectOptions(_ command: PutCommand) throws(StoreError) -> QiniuPutOptions {
        var options = QiniuPutOptions()
        options.metadata = try command.object.metadataFields()
        options.skipsSame = command.files.skipsSame
        return options
    }
}
