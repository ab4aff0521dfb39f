// The rows of Docs/ComingFromAliyunOSS.md, compiled: each region is the right-hand cell of the row that it is named after.
import Dispatch
import Foundation
import Logging
import Waybill
import WaybillOutbox
import WaybillStores

private struct Bar: Sendable {
    func show(_ fraction: Double?) {}
}

private let bar = Bar()
private func log(_ text: String) {}
private func fetchCredentials() async throws -> StoreCredentials { try StoreCredentials(json: Array(fetchText().utf8)) }
private func fetchText() -> String { "" }
private func decrypt(_ bytes: [UInt8]) throws -> [UInt8] { bytes }
private func signOnServer(_ text: String) async throws -> String { text }

private func clients(
    _ provider: CredentialProvider, _ session: UploadSession, _ logger: Logger,
    _ configuration: inout AliyunOSSClient.Configuration, _ settings: inout UploadSession.Configuration
) async throws {
    // row: initWithEndpoint:credentialProvider:, initWithEndpoint:credentialProvider:clientConfiguration:
    let plain = try AliyunOSSClient(configuration: .init(endpoint: .region("cn-hangzhou")), credentials: provider)
    let ours = try AliyunOSSClient(configuration: configuration, credentials: provider, session: session)
    // end
    _ = plain
    _ = ours
    // row: OSSClient.region
    configuration.region = "cn-hangzhou"
    // end
    // row: OSSClient.cloudBoxId
    configuration.region = "cb-123"
    configuration.product = "oss-cloudbox"
    // end
    // row: +[OSSLog enableLog]
    settings.logger = logger
    // end
}

private func configurations(
    _ configuration: inout AliyunOSSClient.Configuration, _ settings: inout UploadSession.Configuration,
    _ session: UploadSession
) async throws {
    // row: maxRetryCount
    configuration.retry = RetryPolicy(maxRetries: 3)
    // end
    // row: maxConcurrentRequestCount
    configuration.maximumConcurrentRequests = 5
    // end
    // row: HTTPMaximumConnectionsPerHost
    settings.maximumConcurrentTransfersPerHost = 5
    // end
    // row: timeoutIntervalForRequest
    configuration.transfer.limits.stall = .seconds(15)
    // end
    // row: timeoutIntervalForResource
    configuration.transfer.limits.total = .seconds(7 * 86_400)
    // end
    // row: proxyHost, proxyPort, userAgentMark
    configuration.transfer.proxy = "http://proxy.example:3128"
    settings.userAgent = "Kiosk/2.1"
    // end
    // row: cnameExcludeList
    configuration.endpoint = try OSSEndpoint("https://oss.cloud.example", excludedFromDomains: ["cloud.example"])
    // end
    // row: isPathStyleAccessEnable
    configuration.endpoint = try OSSEndpoint("https://oss.cloud.example", form: .path)
    // end
    // row: isCustomPathPrefixEnable
    configuration.endpoint = try OSSEndpoint("https://gate.example/oss", form: .path, keepsPath: true)
    // end
    // row: crc64Verifiable
    configuration.comparesChecksums = true
    // end
    // row: signVersion
    configuration.signatureVersion = .v4
    // end
    // none: isFollowRedirectsEnable
    // row: isHttpdnsEnable
    configuration.transfer.resolve = ["oss-cn-hangzhou.aliyuncs.com:443:203.0.113.7"]
    // end
    // row: isAllowNetworkMetricInfo
    for await event in session.events { log("\(event)") }
    // end
}

private func credentials(
    _ session: UploadSession, _ url: String, _ id: String, _ secret: String, _ token: String, _ end: Date,
    _ configuration: AliyunOSSClient.Configuration
) async throws {
    // row: OSSPlainTextAKSKPairCredentialProvider
    let keys = StoreCredentials(accessKeyID: id, accessKeySecret: .secret(secret))
    let plainText: CredentialProvider = .fixed(keys)
    // end
    _ = keys
    _ = plainText
    // row: OSSStsTokenCredentialProvider
    let temporary = StoreCredentials(
        accessKeyID: id, accessKeySecret: .secret(secret), securityToken: .secret(token), expiration: end)
    let sts: CredentialProvider = .fixed(temporary)
    // end
    _ = temporary
    _ = sts
    // row: OSSFederationCredentialProvider, federationTokenGetter
    let federated: CredentialProvider = .federated { try await fetchCredentials() }
    // end
    _ = federated
    // row: OSSFederationToken, expirationTimeInMilliSecond, expirationTimeInGMTFormat
    let credentials = try StoreCredentials(json: Array(fetchText().utf8))
    // end
    _ = credentials
    // row: OSSAuthCredentialProvider
    let server: CredentialProvider = .tokenServer(url, through: session)
    // end
    _ = server
    // row: responseDecoder
    let decoded: CredentialProvider = .federated {
        try StoreCredentials(json: decrypt(try await session.send(UploadRequest(.get, url)).body))
    }
    // end
    _ = decoded
    // row: OSSCustomSignerCredentialProvider
    let signer = OSSRemoteSigner(accessKeyID: id) { material in
        try await signOnServer(material.stringToSign)
    }
    let remote = try AliyunOSSClient(configuration: configuration, signer: signer)
    // end
    _ = signer
    _ = remote
}

private func signatures(
    _ secret: Secret, _ identity: OSSSigningIdentity, _ key: String, _ endpoint: OSSEndpoint,
    _ provider: CredentialProvider, _ credentials: StoreCredentials, _ session: UploadSession, _ path: String,
    _ theirs: String, _ answer: UploadResponse, _ url: String, _ client: AliyunOSSClient, _ question: UploadRequest
) async throws {
    // row: Authorization: OSS id:base64(hmac-sha1(…))
    let request = OSSRequestToSign(.put, bucket: "cards", key: key, headers: [.contentType: "image/jpeg"])
    let material = try OSSSigningMaterial(request, rules: OSSSigningRules(.v1), identity: identity, date: .now)
    let fields = material.signed(with: material.signature(with: secret)).headers
    // end
    _ = request
    _ = material
    _ = fields
    // row: Authorization: OSS4-HMAC-SHA256 …
    let rules = OSSSigningRules(.v4, region: "cn-hangzhou")
    let newer = try OSSSigningMaterial(request, rules: rules, identity: identity, date: .now)
    // end
    _ = rules
    _ = newer
    // row: the string to sign, in a log
    let signed = material.signed(with: material.signature(with: secret))
    log("\(OSSSignatureDifference(of: signed, theirStringToSign: theirs))")
    // end
    _ = signed
    // row: stringByAddingPercentEncoding… of the key
    let encoded = PercentEncoding.path(key)
    // end
    _ = encoded
    // row: presignConstrainURLWithBucketName:withObjectKey:withExpirationInterval:
    let forLater = OSSSigningRules(.v4, region: "cn-hangzhou", placement: .query(validFor: .seconds(600)))
    let presigned = try await OSSCredentialSigner(provider).sign(request, rules: forLater, at: .now, rejecting: nil)
    let link = try OSSPresignedUpload(presigned, at: endpoint.url(bucket: "cards", key: key))
    // end
    _ = forLater
    _ = presigned
    _ = link
    // row: a presigned URL from your server
    let ticket = try OSSPresignedUpload(url, headers: [.contentType: "image/jpeg"])
    let uploaded = try await session.send(ticket.request(.file(path: path)))
    // end
    _ = ticket
    _ = uploaded
    // row: a presigned URL that would expire while the upload waits
    let asked = TicketedUpload(file: path, ask: question, format: TicketFormat(url: "/url"))
    let result = try await session.run(asked)
    // end
    _ = result
    // row: policy and signature of a form, made on a server
    var policy = OSSPostPolicy(expiration: .now.addingTimeInterval(600))
    policy.conditions = [.bucket("cards"), .startsWith("key", "2026/"), .contentLength(1...102_400)]
    let form = try policy.form(at: endpoint.url(bucket: "cards", key: ""), rules: rules, credentials: credentials)
    // end
    _ = form
    // row: accessid, policy, signature, dir from your server
    let fromServer = try OSSPostForm(json: answer.body)
    let posted = try await client.post(.file("file", path: path), to: key, form: fromServer)
    // end
    _ = fromServer
    _ = posted
    // none: NSDateFormatter for Date
}

private func puts(
    _ client: AliyunOSSClient, _ configuration: inout AliyunOSSClient.Configuration, _ options: inout OSSObjectOptions,
    _ path: String, _ key: String, _ bytes: [UInt8], _ fileURL: URL, _ session: UploadSession,
    _ upload: ObjectUpload<OSSStoredObject>
) async throws {
    // row: putObject:, bucketName, objectKey, uploadingData, uploadingFileURL
    let stored = try await client.put(.file(path: path), to: key, options: options)
    try await client.put(.file(path: path), to: key, in: "cards")
    try await client.put(.file(path: path), to: "2026/7/front.jpg")
    try await client.put(.data(bytes), to: key)
    try await client.put(.file(path: fileURL.path), to: key)
    // end
    _ = stored
    // row: callbackParam, callbackVar
    options.callback = OSSCallback(["https://example.com/stored"], body: "object=${object}&size=${size}")
    options.callback?.variables = ["order": "7"]
    // end
    // row: contentType
    options.contentType = "image/jpeg"
    // end
    // none: contentMd5, contentSHA1
    // row: contentDisposition, contentEncoding, cacheControl, expires
    options.headers[.contentDisposition] = "attachment"
    options.headers[.contentEncoding] = "gzip"
    options.headers[.cacheControl] = "max-age=3600"
    options.headers[.expires] = "Wed, 28 Dec 2033 10:27:41 GMT"
    // end
    // row: objectMeta
    options.metadata = ["author": "alice"]
    options.access = .publicRead
    options.storageClass = .infrequentAccess
    // end
    // row: uploadProgress
    upload.onProgress { bar.show($0.fraction) }
    // end
    // row: uploadRetryCallback
    for await event in session.events { log("\(event)") }
    // end
    // none: isAuthenticationRequired
    // row: crcFlag
    configuration.comparesChecksums = false
    // end
    // row: cancel, isCancelled
    upload.cancel()
    // end
    // row: OSSPutObjectResult.eTag, serverReturnJsonString
    let tag = stored.etag
    let callbackResponse = stored.callbackResponse
    // end
    _ = tag
    _ = callbackResponse
}

private func largeFiles(
    _ client: AliyunOSSClient, _ configuration: inout AliyunOSSClient.Configuration, _ options: OSSObjectOptions,
    _ path: String, _ key: String, _ bytes: [UInt8], _ position: Int64
) async throws {
    // row: resumableMultipartUpload:, OSSResumableUploadRequest
    let upload = client.startUpload(file: path, to: key, options: options)
    // end
    _ = upload
    // row: multipartUpload:
    var once = OSSMultipartOptions()
    once.resumes = false
    try await client.upload(file: path, to: key, multipart: once)
    // end
    // row: sequentialMultipartUpload:
    var inOrder = OSSMultipartOptions()
    inOrder.maximumConcurrentParts = 1
    try await client.upload(file: path, to: key, multipart: inOrder)
    // end
    // row: partSize
    configuration.partSize = .mebibytes(1)
    // end
    // row: recordDirectoryPath
    configuration.records = RecordDirectory(path: "/var/lib/kiosk/uploads")
    // end
    // row: deleteUploadIdOnCancelling, abortResumableMultipartUpload:
    try await client.abandonUpload(file: path, to: key)
    // end
    // none: multipartUploadInit:, uploadPart:, completeMultipartUpload:, listParts:, abortMultipartUpload:
    // row: appendObject:
    let next = try await client.append(.data(bytes), to: key, at: position).nextPosition
    // end
    _ = next
    // row: headObject:, doesObjectExistInBucket:objectKey:error:
    let size = try await client.head(key).size
    // end
    _ = size
    // row: deleteObject:
    try await client.delete(key)
    // end
    // none: getObject:
    // none: getBucket:, createBucket:, putObjectACL:, copyObject:
}

private func tasks(
    _ client: AliyunOSSClient, _ upload: ObjectUpload<OSSStoredObject>, _ path: String, _ key: String, _ other: String,
    _ queue: DispatchQueue
) async throws {
    // row: result
    let stored = try await upload.value
    // end
    // row: error, exception
    do {
        try await client.put(.file(path: path), to: key)
    } catch {
        log(error.message)
    }
    // end
    _ = stored
    // row: completed, isCompleted, cancelled, faulted, isSuccessful
    let isOver = upload.currentProgress.phase.isTerminal
    let hasFailed = upload.currentProgress.phase == .failed
    // end
    _ = isOver
    _ = hasFailed
    // row: continueWithBlock:
    upload.onCompletion { result in log("\(result)") }
    // end
    // row: continueWithSuccessBlock:
    let first = try await client.put(.file(path: path), to: key)
    try await client.put(.data(first.url.utf8), to: other)
    // end
    _ = first
    // row: continueWithExecutor:withBlock:, completed:, waitUntilFinished
    upload.onCompletion { result in queue.async { log("\(result)") } }
    upload.onCompletion { if case .failure(let error) = $0 { log(error.message) } }
    _ = try await upload.value
    // end
    // row: taskForCompletionOfAllTasks:, taskForCompletionOfAllTasksWithResults:
    async let front = client.put(.file(path: path), to: key)
    async let back = client.put(.file(path: path), to: other)
    let both = try await [front, back]
    // end
    _ = both
    // none: taskForCompletionOfAnyTask:
    // row: taskWithDelay:
    try await Task.sleep(for: .seconds(1))
    // end
    // none: taskWithResult:, taskWithError:, cancelledTask, taskFromExecutor:withBlock:, OSSTaskCompletionSource
    // row: OSSCancellationTokenSource, cancellationToken:
    let task = Task { try await upload.value }
    task.cancel()
    // end
    _ = task
}

private func errors(
    _ error: StoreError
) async throws {
    // row: OSSClientErrorCodeNetworkingFailWithResponseCode0, OSSClientErrorCodeNetworkError
    let reason = (error.cause as? UploadError)?.code
    let outcome = error.outcome
    // end
    _ = reason
    _ = outcome
    // row: OSSClientErrorCodeSignFailed
    let isUnsigned = error.code == .signingFailed
    // end
    _ = isUnsigned
    // row: OSSClientErrorCodeFileCantWrite
    let cantKeepRecords = error.code == .recordDirectoryUnusable
    // end
    _ = cantKeepRecords
    // row: OSSClientErrorCodeFileCantRead
    let isMissing = error.code == .fileNotFound
    // end
    _ = isMissing
    // row: OSSClientErrorCodeInvalidArgument
    let isWrong = error.code == .invalidArgument
    // end
    _ = isWrong
    // row: OSSClientErrorCodeTaskCancelled
    let isCancelled = error.isCancelled
    // end
    _ = isCancelled
    // row: OSSClientErrorCodeInvalidCRC
    let differs = error.code == .checksumMismatch
    // end
    _ = differs
    // row: OSSClientErrorCodeCannotResumeUpload
    let isGone = error.code == .uploadGone
    // end
    _ = isGone
    // row: OSSClientErrorCodeNotKnown
    let underneath = error.cause
    // end
    _ = underneath
    // row: OSSServerErrorDomain, Code, RequestId, HostId
    let code = error.storeCode
    let request = error.requestID
    let host = error.host
    // end
    _ = code
    _ = request
    _ = host
    // row: OSSServerCallBackFailed (203)
    let isThere = error.code == .storedButCallbackFailed && error.isStored
    // end
    _ = isThere
}

private func background(
    _ configuration: AliyunOSSClient.Configuration, _ settings: inout Outbox.Configuration, _ session: UploadSession,
    _ path: String, _ key: String
) async throws {
    // row: enableBackgroundTransmitService, backgroundSesseionIdentifier
    settings.kinds = [DurableOSSUpload.self]
    settings.credentials = StoreAccounts(oss: ["scans": .environment()])
    let outbox = try await Outbox(at: "/var/lib/kiosk/outbox", configuration: settings)
    // end
    // row: putObject: in a background session
    let upload = try await DurableOSSUpload(
        file: path, to: key, configuration: configuration, credential: "scans")
    try await outbox.enqueue(upload)
    // end
    // row: handleEventsForBackgroundURLSession:
    try await outbox.run(session: session)
    // end
    // row: resumableMultipartUpload: after a kill
    for try await item in outbox.items() { log("\(item.id) \(item.state)") }
    // end
    // row: OSSPutObjectResult of a task that ended meanwhile
    let missed = try await outbox.results()
    // end
    _ = missed
    // row: an expired OSSFederationToken
    try await outbox.unblock(lane: upload.lane.description)
    // end
}

private func swiftSDK(
    _ configuration: inout AliyunOSSClient.Configuration, _ provider: CredentialProvider, _ keys: StoreCredentials,
    _ id: String, _ client: AliyunOSSClient, _ path: String, _ key: String, _ bytes: [UInt8],
    _ handle: ObjectUpload<OSSStoredObject>
) async throws {
    // row: Configuration.withRegion(_:), Configuration.withCredentialsProvider(_:), Client(_:)
    let newClient = try AliyunOSSClient(configuration: configuration, credentials: provider)
    // end
    _ = newClient
    // row: EnvironmentCredentialsProvider
    let environment: CredentialProvider = .environment()
    // end
    _ = environment
    // row: StaticCredentialsProvider
    let fixed: CredentialProvider = .fixed(keys)
    // end
    _ = fixed
    // row: ClosureCredentialsProvider, RefreshCredentialsProvider
    let refreshed: CredentialProvider = .federated { try await fetchCredentials() }
    // end
    _ = refreshed
    // row: RemoteSignerV4, SignatureDelegate
    let delegate = OSSRemoteSigner(accessKeyID: id) { try await signOnServer($0.stringToSign) }
    let signing = try AliyunOSSClient(configuration: configuration, signer: delegate)
    // end
    _ = delegate
    _ = signing
    // row: withUseInternalEndpoint(_:), withUseDualStackEndpoint(_:)
    configuration.endpoint = try .region("cn-hangzhou", over: .internalNetwork)
    // end
    // row: withUseAccelerateEndpoint(_:)
    configuration.endpoint = .accelerated
    // end
    // row: withEndpoint(_:), withUseCname(_:)
    configuration.endpoint = try OSSEndpoint("https://img.example.com")
    // end
    // row: withRetryMaxAttempts(_:), FullJitterBackoff
    configuration.retry = RetryPolicy(maxRetries: 5, baseDelay: .milliseconds(500))
    // end
    // row: withUploadCRC64Validation(_:)
    configuration.comparesChecksums = true
    // end
    // row: PutObjectRequest, client.putObject(_:)
    let object = try await client.put(.file(path: path), to: key)
    // end
    _ = object
    // row: PutObjectRequest.progress, ProgressClosure
    handle.onProgress { bar.show($0.fraction) }
    // end
    // row: client.initiateMultipartUpload(_:), client.uploadPart(_:), client.completeMultipartUpload(_:)
    let whole = try await client.upload(file: path, to: key)
    // end
    _ = whole
    // row: client.appendObject(_:)
    let position = try await client.append(.data(bytes), to: key, at: 0).nextPosition
    // end
    _ = position
    // row: client.presign(PutObjectRequest)
    let expiring = OSSSigningRules(.v4, region: "cn-hangzhou", placement: .query(validFor: .seconds(600)))
    // end
    _ = expiring
    // row: client.isObjectExist(_:_:), client.headObject(_:)
    let info = try await client.head(key)
    // end
    _ = info
    // none: client.presign(GetObjectRequest), client.getObject(_:), client.getObjectToFile(_:_:)
    // none: client.listObjectsV2Paginator(_:), client.putBucket(_:), AlibabaCloudOSSExtension
    // none: TransportAsyncHTTPClient, HttpTransport
}
