// The rows of Docs/ComingFromQiniu.md, compiled: each region is the right-hand cell of the row that it is named after.
import FoundationEssentials
import Waybill
import WaybillCore
import WaybillOutbox
import WaybillStores

private func log(_ text: String) {}
private func show(_ index: Int, _ bytes: Int64) {}
private func token(for key: String?) async throws -> QiniuUploadToken { throw CancellationError() }

private func rows1(
    _ client: QiniuClient, _ configuration: inout QiniuClient.Configuration, _ options: inout QiniuPutOptions,
    _ path: String, _ bytes: [UInt8], _ key: String, _ tokens: QiniuTokens, _ session: UploadSession,
    _ upload: ObjectUpload<QiniuObject>
) async throws {
    do {
        // row: [[QNUploadManager alloc] initWithConfiguration:]
        let client = QiniuClient(tokens: tokens, configuration: configuration, session: session)
        // end
        _ = client
    }
    do {
        // row: putFile:key:token:complete:option:
        let object = try await client.upload(.file(path: path), to: key, options: options)
        // end
        _ = object
    }
    // row: putData:key:token:complete:option:
    let stored = try await client.upload(.data(bytes, fileName: "front.jpg"), to: key)
    // end
    _ = stored
    // row: putPHAsset:key:token:complete:option:
    let photo = try await client.upload(.image(path: path, .maxBytes(.kibibytes(100))), to: key)
    // end
    _ = photo
    // none: putInputStream:sourceId:size:fileName:key:token:complete:option:
    // row: key nil
    let named = try await client.upload(.data(bytes), to: nil)
    // end
    _ = named
    // row: QNUpCompletionHandler, waiting with a semaphore
    upload.onCompletion { result in log("\(result)") }
    let value = try await upload.value
    // end
    _ = value
}

private func rows2(
    _ options: inout QiniuPutOptions, _ path: String, _ upload: ObjectUpload<QiniuObject>
) {
    // row: QNUploadOption.progressHandler
    upload.onProgress { log("\($0.fraction ?? 0)") }
    // end
    // row: QNUploadOption.cancellationSignal
    upload.cancel()
    // end
    // row: QNUploadOption.params, QNUploadOption.metaDataParam
    options.variables["order"] = "7"
    options.metadata["author"] = "alice"
    // end
    // row: QNUploadOption.mimeType
    let typed = QiniuSource.file(path: path, contentType: "image/jpeg")
    // end
    _ = typed
    // none: QNUploadOption.checkCrc
    // row: pause
    upload.pause()
    upload.resume()
    // end
}

private func rows3(
    _ configuration: inout QiniuClient.Configuration
) throws {
    // row: putThreshold (4 MB), chunkSize (2 MB), useConcurrentResumeUpload, concurrentTaskCount (3)
    configuration.formThreshold = .mebibytes(4)
    configuration.partSize = .mebibytes(4)
    configuration.maximumConcurrentParts = 3
    // end
    // row: recorder, QNFileRecorder
    configuration.records = RecordDirectory(path: "/var/lib/photos/uploads")
    // end
    // row: retryMax (1), retryInterval (0.5 s)
    configuration.retriesPerHost = 1
    configuration.retryInterval = .milliseconds(500)
    // end
}

private func rows4(
    _ configuration: inout QiniuClient.Configuration
) {
    // row: timeoutInterval (90 s)
    configuration.transfer.limits.stall = .seconds(15)
    configuration.transfer.limits.response = .seconds(60)
    // end
    // row: useHttps
    configuration.usesTLS = true
    // end
    // row: zone: QNAutoZone, zone: QNFixedZone, initWithupDomainList:
    configuration.hosts = .queriedFromQiniu
    configuration.hosts = .regions([.z0, .z1])
    configuration.hosts = .fixed(["upload.example.com"])
    // end
    // none: accelerateUploading
    // row: QNZoneInfo on the disk
    var query = QiniuRegionQuery()
    query.cacheDirectory = "/var/cache/photos"
    configuration.hosts = .queried(query)
    // end
    // row: proxy
    configuration.transfer.proxy = "http://proxy.example:3128"
    // end
}

private func rows5() {
    // none: QNGlobalConfiguration DNS prefetch, DoH
    // none: QNReportConfig
}

private func rows6(
    _ policy: inout QiniuPutPolicy, _ text: String, _ keys: QiniuKeys
) async throws {
    do {
        // row: one token for the whole queue
        let tokens = QiniuTokens.provider { request in try await token(for: request.key) }
        // end
        _ = tokens
    }
    // row: token: given
    let given = QiniuTokens.given(try QiniuUploadToken(.secret(text)))
    // end
    _ = given
    do {
        // row: QiniuToken registerWithScope:SecretKey:Accesskey:
        let keys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))
        let own = QiniuTokens.keys(keys, bucket: "photos")
        // end
        _ = keys
        _ = own
    }
    // row: timeToLive
    let short = QiniuTokens.keys(keys, bucket: "photos", lifetime: .seconds(300))
    // end
    _ = short
    // row: QNUpToken parse:
    let bucket = try QiniuUploadToken(.secret(text)).scope.bucket
    // end
    _ = bucket
    // row: a policy's JSON
    let signed = try keys.uploadToken(for: policy)
    // end
    _ = signed
    // row: scope with a key, isPrefixalScope
    policy.scope = .key("cards/7.jpg", bucket: "photos")
    policy.scope = .prefix("cards/", bucket: "photos")
    // end
}

private func rows7(
    _ policy: inout QiniuPutPolicy, _ bytes: [UInt8], _ keys: QiniuKeys
) {
    // row: insertOnly
    policy.scope = .newKey("cards/7.jpg", bucket: "photos")
    // end
    // row: fsizeLimit, mimeLimit
    policy.fileSizeLimit = 102_400
    policy.allowedTypes = .only(["image/*"])
    // end
    // row: returnBody
    policy.returnBody = #"{"name":$(key),"bytes":$(fsize)}"#
    // end
    // row: callbackUrl, callbackBody
    policy.callbackURLs = ["https://backend.example/stored"]
    policy.callbackBody = "key=$(key)"
    // end
    // row: privateDownloadUrl
    let url = keys.privateURL("https://img.example/7.jpg", until: .now + 3_600)
    // end
    _ = url
    // row: QNEtag
    let hash = QiniuEtag(of: bytes).value
    // end
    _ = hash
}

private func rows8(
    _ client: QiniuClient, _ path: String, _ key: String, _ batch: ObjectBatch<String, QiniuObject>, _ photos: [String],
    _ work: @escaping @Sendable (String) async throws -> QiniuBatchWork
) async {
    do {
        // row: a subclass of NSOperation around putFile:
        let upload = client.startUpload(.file(path: path), to: key)
        // end
        _ = upload
    }
    do {
        // row: QiniuUploader.files, startUpload
        let batch = client.startBatch(of: photos) { QiniuBatchWork(.file(path: $0), to: "photos/\($0)") }
        // end
        _ = batch
    }
    // row: maxConcurrentNumber, maxConcurrentOperationCount
    let bounded = client.startBatch(of: photos, maximumConcurrentRequests: 3, work: work)
    // end
    _ = bounded
    // row: uploadOneFileSucceeded, uploadOneFileFailed
    for await result in batch.results { log("\(result.index): \(result.result)") }
    // end
    // row: uploadOneFileProgress
    let watched = client.startBatch(of: photos, work: work, onProgress: { show($0, $1.acknowledged) })
    // end
    _ = watched
    // row: uploadAllFilesComplete, cancelAllUploadTask, cancelAllOperations, [operation cancel]
    batch.onAllComplete { log("\($0)") }
    batch.cancel()
    batch.cancel(at: 3)
    // end
}

private func rows9(
    _ options: inout QiniuPutOptions, _ session: UploadSession, _ batch: ObjectBatch<String, QiniuObject>
) async {
    // row: queue.isSuspended
    batch.pause()
    batch.resume()
    // end
    // row: progress of the queue, waitUntilAllOperationsAreFinished
    for await progress in batch.progress { log("\(progress.fraction ?? 0)") }
    let summary = await batch.summary
    // end
    _ = summary
    // row: stop at the first failure
    var first = UploadBatchOptions()
    first.onFailure = .stop
    // end
    // row: queuePriority
    options.priority = .high
    // end
    // row: cancel by key
    options.tags = ["order 7"]
    session.uploads(taggedWith: "order 7").forEach { $0.cancel() }
    // end
    // none: a dependency between two uploads
}

private func rows10(
    _ upload: ObjectUpload<QiniuObject>, _ object: QiniuObject, _ error: StoreError
) async {
    // row: resp[@"key"], resp[@"hash"], info.reqId
    log("\(object.key ?? "") \(object.hash ?? "")")
    log(object.requestID ?? "")
    // end
    // row: info.isOK
    do { _ = try await upload.value } catch { log(error.message) }
    // end
    // row: info.isCancelled
    let isOver = error.isCancelled
    // end
    _ = isOver
    // row: info.statusCode 579, info.statusCode 401, info.statusCode 614, info.statusCode 612, 701
    let isThere = error.isStored
    let isRefused = error.status == 401
    let isTaken = error.code == .objectExists
    let isGone = error.code == .uploadGone
    // end
    _ = isThere
    _ = isRefused
    _ = isTaken
    _ = isGone
}

private func rows11(
    _ error: StoreError
) {
    // row: info.isNotQiniu
    let isSomebodyElse = error.code == .unexpectedResponse
    // end
    _ = isSomebodyElse
    // row: kQNFileError, a file that changed
    let isAnother = error.code == .sourceChanged
    // end
    _ = isAnother
    // row: might it be stored already?
    let mayBeThere = error.outcome == .unknown
    // end
    _ = mayBeThere
}

private func background(
    _ settings: inout Outbox.Configuration, _ outbox: Outbox, _ tokens: QiniuTokens, _ session: UploadSession,
    _ policy: QiniuPutPolicy, _ path: String, _ key: String
) async throws {
    // row: a background session around putFile:
    settings.kinds = [DurableQiniuUpload.self]
    settings.credentials = StoreAccounts(qiniu: ["account": tokens])
    // end
    // row: putFile: that must not be lost
    let durable = try await DurableQiniuUpload(file: path, to: key, in: "photos", credential: "account")
    try await outbox.enqueue(durable)
    // end
    // row: recorder after a restart
    try await outbox.run(session: session)
    // end
    // row: a policy for one file
    let strict = try await DurableQiniuUpload(
        file: path, to: key, in: "photos", credential: "account", policy: policy)
    // end
    _ = strict
    // row: a result without a listener
    let missed = try await outbox.results()
    // end
    _ = missed
}
