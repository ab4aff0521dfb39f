import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillOutbox
import WaybillStores

extension PutCommand {
    /// Adds the uploads of the command to the outbox.
    func enqueue(_ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit {
        try checkQueueable()
        guard let last = paths.last, paths.count >= 2 else {
            throw .usage("Files and a destination are required. Write waybill put FILE... oss://bucket/key.")
        }
        let destination = try PutDestination(last)
        try PutOptionTable.check(self, for: destination.store)
        var scan = try PutPlan.scan(Array(paths.dropLast()), to: destination, files)
        try await scan.copyPipes(isDryRun: files.isDryRun)
        if let skipped = scan.skippedLine, !output.silent { console.line(skipped) }
        try queue.checkKey(of: scan.files.count)
        switch destination {
        case .tus(let url):
            let entries = try tusEntries(url, scan.files)
            return try await add(entries, to: entries.map { _ in Redaction.url(url) }, console, json)
        case .presigned(let url):
            let entries = try presignedEntries(url, scan.files, console)
            return try await add(entries, to: entries.map { _ in Redaction.url(url) }, console, json)
        case .oss(let bucket, _):
            let destinations = scan.files.map { "oss://\(bucket)/\($0.key)" }
            return try await add(try ossEntries(bucket: bucket, scan.files), to: destinations, console, json)
        case .s3(let bucket, _):
            let destinations = scan.files.map { "s3://\(bucket)/\($0.key)" }
            return try await add(try s3Entries(bucket: bucket, scan.files), to: destinations, console, json)
        case .qiniu(let bucket, _):
            let destinations = scan.files.map { "qiniu://\(bucket)/\($0.key)" }
            return try await add(try qiniuEntries(bucket: bucket, scan.files), to: destinations, console, json)
        }
    }

    private func add<Upload: DurableUpload>(
        _ entries: [QueueRun<Upload>.Entry], to destinations: [String], _ console: Console, _ json: JSONOutput?
    ) async throws(CommandFailure) -> Exit {
        if self.files.isDryRun {
            let dryRun = QueueDryRun(
                outbox: try queue.location.resolved().shown, entries: entries, destinations: destinations)
            return try await dryRun.run(console, json, isSilent: output.silent)
        }
        let outbox = try await queue.location.resolved().open()
        var report = QueueReport(console: console, json: json, isSilent: output.silent)
        let exit = try await QueueRun(outbox: outbox, entries: entries).run(&report)
        await outbox.close()
        return exit
    }

    /// Throws for options that apply only to files that are sent immediately.
    func checkQueueable() throws(CommandFailure) {
        try QueueCheck.delivery(network, limits, isInsecure: request.insecure)
        if files.skipsSame { throw .usage("--skip-same can't be combined with --queue. Leave it out.") }
        if files.failEarly { throw .usage("--fail-early can't be combined with --queue. Leave it out.") }
    }

    /// Returns entries for a presigned URL, which needs no credential. The URL is stored with the upload, protected by
    /// the permissions of the outbox directory.
    func presignedEntries(
        _ url: String, _ files: [PutFile], _ console: Console
    ) throws(CommandFailure) -> [QueueRun<DurableFileUpload>.Entry] {
        console.hide(PutTargets.secrets(ofQueryIn: url))
        try QueueCheck.url(url)
        let headers = try QueueCheck.headers(request.header)
        let (credential, idempotency) = (try queue.requestCredential(), try queue.requestIdempotency())
        var left: Duration?
        do throws(StoreError) {
            left = try OSSPresignedUpload(url, headers: headers).expiration.map { .seconds($0.timeIntervalSinceNow) }
        } catch {
            throw .usage(error.message.sentence)
        }
        if let left, left <= .zero { throw .usage("The presigned URL has expired. Request a new one.") }
        return try files.map { (file) throws(CommandFailure) in
            var options = try queue.options(for: file.path)
            // The store rejects the URL after its expiration.
            if let left { options.deadline = min(left, options.deadline ?? .seconds(7 * 86_400)) }
            return Self.entry(file, options) { () async throws(UploadError) in
                try await DurableFileUpload(
                    path: file.source, to: url, headers: headers, credential: credential, idempotency: idempotency,
                    sendsContentType: false)
            }
        }
    }

    /// Returns entries for a tus server.
    func tusEntries(
        _ url: String, _ files: [PutFile]
    ) throws(CommandFailure) -> [QueueRun<DurableFileUpload>.Entry] {
        try QueueCheck.url(url)
        try checkRecords()
        if store.partsAtOnce != nil {
            throw .usage("--parts-at-once can't be combined with --queue for a tus server. Leave it out.")
        }
        let headers = try QueueCheck.headers(request.header)
        let (credential, idempotency) = (try queue.requestCredential(), try queue.requestIdempotency())
        let metadata: [String: String]
        do throws(StoreError) { metadata = try object.tusMetadata() } catch { throw .usage(error.message.sentence) }
        return try files.map { (file) throws(CommandFailure) in
            Self.entry(file, try queue.options(for: file.path)) { () async throws(UploadError) in
                try await DurableFileUpload(
                    path: file.source, to: url, method: .post, headers: headers, credential: credential,
                    idempotency: idempotency, resumption: .tus, metadata: TusTarget.metadata(of: file, metadata))
            }
        }
    }

    private static func entry(
        _ file: PutFile, _ options: EnqueueOptions,
        _ make: @escaping @Sendable () async throws(UploadError) -> DurableFileUpload
    ) -> QueueRun<DurableFileUpload>.Entry {
        QueueRun.Entry(file: file.path, options: options, unread: file.isUnread ? [0] : []) {
            do throws(UploadError) {
                return .success(try await make())
            } catch {
                return .failure(CommandFailure(error))
            }
        }
    }

    /// Throws for options of records, which a queue keeps itself.
    private func checkRecords() throws(CommandFailure) {
        guard store.records == nil, !store.doesNotResume else {
            throw .usage(
                "--records and --no-resume can't be combined with --queue: the outbox stores resume records itself. "
                    + "Leave them out.")
        }
    }
}

/// Queued objects for object stores. All their options are stored, but only the name of the account.
extension PutCommand {
    /// Returns entries for objects in Aliyun OSS.
    func ossEntries(
        bucket: String, _ files: [PutFile]
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
            configuration.maximumConcurrentParts = parts.maximumConcurrentParts ?? configuration.maximumConcurrentParts
            configuration.singleRequestLimit = parts.singleRequestLimit ?? configuration.singleRequestLimit
            try OSSName.checkBucket(bucket)
        } catch {
            throw .usage(error.message.sentence)
        }
        let fixed = configuration
        return try entries(files) { file async throws(StoreError) in
            try await DurableOSSUpload(
                file: file.source, to: file.key, configuration: fixed, in: bucket, credential: account, options: options
            )
        }
    }

    /// Returns entries for objects in Amazon S3 and compatible stores.
    func s3Entries(
        bucket: String, _ files: [PutFile]
    ) throws(CommandFailure) -> [QueueRun<DurableS3Upload>.Entry] {
        let headers = try QueueCheck.headers(request.header)
        let account = try account(StoreAccountName.s3)
        var configuration: S3Client.Configuration
        let options: S3ObjectOptions
        do throws(StoreError) {
            configuration = try s3Configuration(UploadOptions())
            options = try s3ObjectOptions(headers)
            let parts = try multipart(partSizeFrom: configuration.profile.minimumPartSize)
            configuration.partSize = parts.partSize ?? configuration.partSize
            configuration.maximumConcurrentParts = parts.maximumConcurrentParts ?? configuration.maximumConcurrentParts
            configuration.singleRequestLimit = parts.singleRequestLimit ?? configuration.singleRequestLimit
            try configuration.checkCondition(of: options)
            try S3Name.checkBucket(bucket)
        } catch {
            throw .usage(error.message.sentence)
        }
        let fixed = configuration
        return try entries(files) { file async throws(StoreError) in
            try await DurableS3Upload(
                file: file.source, to: file.key, configuration: fixed, in: bucket, credential: account, options: options
            )
        }
    }

    /// Returns entries for objects in Qiniu.
    func qiniuEntries(
        bucket: String, _ files: [PutFile]
    ) throws(CommandFailure) -> [QueueRun<DurableQiniuUpload>.Entry] {
        let account = try account(StoreAccountName.qiniu)
        let configuration: QiniuClient.Configuration
        let options: QiniuPutOptions
        do throws(StoreError) {
            configuration = try QiniuTarget.configuration(self, UploadOptions())
            options = try QiniuTarget.objectOptions(self)
            try QiniuName.check(bucket: bucket)
        } catch {
            throw .usage(error.message.sentence)
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

    /// Returns the name of the given account, or of the account from the environment of `outbox run`.
    private func account(_ standard: String) throws(CommandFailure) -> String {
        if queue.idempotency != nil {
            throw .usage(
                "--idempotency does not apply to objects, which are replaced by a repeated upload. Leave it out.")
        }
        try checkRecords()
        guard let name = queue.credential else { return standard }
        guard !name.contains("=") else {
            throw .usage("--credential: for an object store, pass only the name of the account, without a field.")
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

/// The names that queues use for the accounts from the environment of `outbox run`.
enum StoreAccountName {
    /// The account of `OSS_ACCESS_KEY_ID`, `OSS_ACCESS_KEY_SECRET` and `OSS_SESSION_TOKEN`.
    static let oss = "oss"
    /// The account of `AWS_ACCESS_KEY_ID` and the other sources of the `aws` command.
    static let s3 = "s3"
    /// The account of `QINIU_UPLOAD_TOKEN`, or of `QINIU_ACCESS_KEY` and `QINIU_SECRET_KEY`.
    static let qiniu = "qiniu"
}
