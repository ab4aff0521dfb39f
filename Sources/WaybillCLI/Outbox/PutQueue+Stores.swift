import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillOutbox
import WaybillStores

/// Objects of stores in the outbox: all that is said of them is written down, and of the account only its name.
extension PutCommand {
    /// Objects of Aliyun OSS.
    func objects(
        ofOSS bucket: String, _ files: [PutFile]
    ) throws(CommandFailure) -> [QueueRun<DurableOSSUpload>.Entry] {
        let headers = try QueueCheck.headers(request.header)
        let account = try account(StoreAccountName.oss)
        var configuration: AliyunOSSClient.Configuration
        let options: OSSObjectOptions
        do throws(StoreError) {
            configuration = try ossConfiguration(UploadOptions())
            options = try objectOptions(headers)
            let parts = try multipart()
            configuration.partSize = parts.partSize ?? configuration.partSize
            configuration.partsAtOnce = parts.partsAtOnce ?? configuration.partsAtOnce
            configuration.wholeUpTo = parts.wholeUpTo ?? configuration.wholeUpTo
            try OSSName.checkBucket(bucket)
        } catch {
            throw .usage(CommandFailure.sentence(error.message))
        }
        let fixed = configuration
        return try entries(files) { file async throws(StoreError) in
            try await DurableOSSUpload(
                file: file.source, to: file.key, configuration: fixed, in: bucket, credential: account, options: options
            )
        }
    }

    /// Objects of Qiniu.
    func objects(
        ofQiniu bucket: String, _ files: [PutFile]
    ) throws(CommandFailure) -> [QueueRun<DurableQiniuUpload>.Entry] {
        let headers = try QueueCheck.headers(request.header)
        let account = try account(StoreAccountName.qiniu)
        let configuration: QiniuClient.Configuration
        let options: QiniuPutOptions
        do throws(StoreError) {
            try QiniuTarget.refuse(self, headers)
            configuration = try QiniuTarget.configuration(self, UploadOptions())
            options = try QiniuTarget.objectOptions(self)
            try QiniuName.check(bucket: bucket)
        } catch {
            throw .usage(CommandFailure.sentence(error.message))
        }
        let (contentType, isInsertOnly) = (object.contentType, object.forbidsOverwrite)
        return try entries(files) { file async throws(StoreError) in
            try await DurableQiniuUpload(
                file: file.source, to: file.key, in: bucket, credential: account, configuration: configuration,
                contentType: contentType, options: options,
                policy: isInsertOnly
                    ? QiniuPutPolicy(scope: .newKey(file.key, bucket: bucket), deadline: .distantFuture) : nil)
        }
    }

    /// The account that is named, or the one of the environment of whoever delivers.
    private func account(_ standard: String) throws(CommandFailure) -> String {
        if queue.idempotency != nil {
            throw .usage(
                "--idempotency says nothing of an object: a key holds one, however often it is put. Leave it out.")
        }
        if store.records != nil || store.doesNotResume {
            throw .usage(
                "--records, --no-resume: where a large file stands is kept in the outbox itself. Leave them out.")
        }
        guard let name = queue.credential else { return standard }
        guard !name.contains("=") else {
            throw .usage("--credential: an account of a store is named alone, without a field.")
        }
        return try CredentialName.checked(name, for: "--credential")
    }

    private func entries<Upload: DurableUpload>(
        _ files: [PutFile], _ make: @escaping @Sendable (PutFile) async throws(StoreError) -> Upload
    ) throws(CommandFailure) -> [QueueRun<Upload>.Entry] {
        var entries: [QueueRun<Upload>.Entry] = []
        for file in files {
            entries.append(
                QueueRun<Upload>.Entry(
                    file: file.path, options: try queue.options(for: file.path), unread: file.isUnread ? [0] : []
                ) {
                    do throws(StoreError) { return .success(try await make(file)) } catch {
                        return .failure(
                            CommandFailure(
                                code: CommandFailure.Code(error.code.description), exit: Exit(error, signal: nil),
                                message: "\(error)"))
                    }
                })
        }
        return entries
    }
}

/// The accounts of the environment of whoever delivers, as queues name them.
enum StoreAccountName {
    /// `OSS_ACCESS_KEY_ID`, `OSS_ACCESS_KEY_SECRET` and `OSS_SESSION_TOKEN`.
    static let oss = "oss"
    /// `QINIU_UPLOAD_TOKEN`, or `QINIU_ACCESS_KEY` and `QINIU_SECRET_KEY`.
    static let qiniu = "qiniu"
}
