// The rows of Docs/ComingFromS3Clients.md, compiled: each region is the right-hand cell of the row that it is named after.
import Foundation
import HTTPTypes
import Logging
import Waybill
import WaybillOutbox
import WaybillStores

private func log(_ text: String) {}
private func fetchCredentials() async throws -> StoreCredentials { try StoreCredentials(json: []) }

private func clients(
    _ configuration: inout S3Client.Configuration, _ settings: inout UploadSession.Configuration, _ logger: Logger
) async throws {
    // row: AWSClient(credentialProvider:), S3(client:region:)
    let plain = try S3Client(configuration: configuration, credentials: .aws())
    // end
    _ = plain
    // row: S3Client.S3ClientConfig(region:)
    configuration.region = "eu-west-1"
    // end
    // row: S3(client:region:endpoint:), S3ClientConfig.endpoint, aws --endpoint-url
    var other = S3Client.Configuration(.ceph, bucket: "scans")
    other.endpoint = "https://rgw.example:7480"
    // end
    // row: S3ClientConfig.forcePathStyle
    configuration.addressing = .path
    // end
    // row: AWSServiceConfig.Options.s3ForceVirtualHost
    configuration.addressing = .virtualHost
    // end
    // none: S3ClientConfig.accelerate, AWSServiceConfig.Options.s3UseTransferAcceleratedEndpoint
    // row: RetryPolicyFactory.jitter(base:maxRetries:), S3ClientConfig.awsRetryMode, AWS_MAX_ATTEMPTS
    configuration.retry = RetryPolicy(maxRetries: 5, baseDelay: .milliseconds(200))
    // end
    // row: S3(client:region:timeout:), aws --cli-read-timeout, aws --cli-connect-timeout
    configuration.transfer.limits.response = .seconds(60)
    configuration.transfer.limits.connect = .seconds(15)
    // end
    // row: aws --ca-bundle, AWS_CA_BUNDLE
    configuration.transfer.tls.certificateAuthorities = "/etc/ssl/company.pem"
    // end
    // none: aws --no-verify-ssl
    // row: HTTPS_PROXY
    configuration.transfer.proxy = "http://proxy.example:3128"
    // end
    // row: s3.max_concurrent_requests
    configuration.maximumConcurrentRequests = 10
    // end
    // row: AWSLoggingMiddleware, aws --debug
    settings.logger = logger
    // end
}

private func credentials(
    _ id: String, _ secret: String
) async throws {
    // row: CredentialProviderFactory.default, DefaultAWSCredentialIdentityResolverChain
    let chain: CredentialProvider = .aws()
    // end
    _ = chain
    // row: CredentialProviderFactory.environment, EnvironmentAWSCredentialIdentityResolver
    let environment: CredentialProvider = .aws([.environment])
    // end
    _ = environment
    // row: CredentialProviderFactory.static(accessKeyId:secretAccessKey:sessionToken:), StaticAWSCredentialIdentityResolver
    let keys = StoreCredentials(accessKeyID: id, accessKeySecret: .secret(secret))
    let fixed: CredentialProvider = .fixed(keys)
    // end
    _ = keys
    _ = fixed
    // row: CredentialProviderFactory.configFile(profile:), ProfileAWSCredentialIdentityResolver, aws --profile, AWS_PROFILE
    let profile: CredentialProvider = .aws([.profile], profile: "backup")
    // end
    _ = profile
    // row: STSWebIdentityAWSCredentialIdentityResolver
    let identity: CredentialProvider = .aws([.webIdentity])
    // end
    _ = identity
    // row: CredentialProviderFactory.ecs, ECSAWSCredentialIdentityResolver
    let container: CredentialProvider = .aws([.container])
    // end
    _ = container
    // row: CredentialProviderFactory.ec2, IMDSAWSCredentialIdentityResolver
    let instance: CredentialProvider = .aws([.instance])
    // end
    _ = instance
    // row: CredentialProviderFactory.custom, CustomAWSCredentialIdentityResolver
    let own: CredentialProvider = .federated { try await fetchCredentials() }
    // end
    _ = own
    // row: ProcessAWSCredentialIdentityResolver, credential_process
    let process: CredentialProvider = .process(["/usr/local/bin/login", "--json"])
    // end
    _ = process
    // none: CredentialProviderFactory.sso, SSOAWSCredentialIdentityResolver, CredentialProviderFactory.login, STSAssumeRoleAWSCredentialIdentityResolver, source_profile
}

private func objects(
    _ client: S3Client, _ configuration: inout S3Client.Configuration, _ options: inout S3ObjectOptions, _ path: String,
    _ key: String, _ bytes: [UInt8], _ stream: any UploadBody, _ keyID: String, _ etag: String
) async throws {
    // row: S3.putObject(_:), S3Client.putObject(input:), aws s3api put-object
    let stored = try await client.put(.file(path: path), to: key, options: options)
    let same = try await client.put(.data(bytes), to: key)
    // end
    _ = stored
    _ = same
    // row: AWSHTTPBody(asyncSequence:length:), ByteStream.stream(_:)
    let content: UploadContent = .body(stream)
    let streamed = try await client.put(content, to: key)
    // end
    _ = content
    _ = streamed
    // row: PutObjectRequest.contentType, PutObjectInput.contentType, aws s3 cp --content-type
    options.contentType = "application/pdf"
    // end
    // row: PutObjectRequest.metadata, PutObjectInput.metadata, aws s3 cp --metadata
    options.metadata = ["author": "alice"]
    // end
    // row: PutObjectInput.cacheControl, aws s3 cp --cache-control
    options.headers[.cacheControl] = "max-age=3600"
    // end
    // row: PutObjectInput.acl, aws s3 cp --acl
    options.acl = "private"
    // end
    // row: PutObjectInput.storageClass, aws s3 cp --storage-class
    options.storageClass = "STANDARD_IA"
    // end
    // row: PutObjectInput.tagging
    options.tags = ["case": "7"]
    // end
    // row: PutObjectInput.serverSideEncryption, PutObjectInput.ssekmsKeyId, aws s3 cp --sse
    options.encryption = "aws:kms"
    options.encryptionKeyID = keyID
    // end
    // none: PutObjectInput.sseCustomerKey
    // row: PutObjectInput.ifNoneMatch, aws s3api put-object --if-none-match
    options.condition = .isAbsent
    // end
    // row: PutObjectInput.ifMatch
    options.condition = .matches(etag: etag)
    // end
    // row: PutObjectInput.checksumAlgorithm, AWS_REQUEST_CHECKSUM_CALCULATION, aws s3 cp --checksum-algorithm
    configuration.checksum = .crc64NVME
    // end
    // none: CreateMultipartUploadInput.checksumType
    // row: HeadObjectOutput.contentLength, aws s3api head-object
    let size = try await client.head(key).size
    // end
    _ = size
    // row: S3.deleteObject(_:), aws s3 rm
    try await client.delete(key)
    // end
    // none: S3.getObject(_:), S3.multipartDownload(_:filename:), aws s3 cp s3://… FILE
    // none: S3.listObjectsV2Paginator(_:), aws s3 ls
    // none: S3.copyObject(_:), S3.multipartCopy(_:)
    // none: S3.createBucket(_:), aws s3 mb, S3.putBucketPolicy(_:)
}

private func largeFiles(
    _ client: S3Client, _ configuration: inout S3Client.Configuration, _ options: S3ObjectOptions, _ path: String,
    _ key: String, _ names: [String]
) async throws {
    // row: S3.multipartUpload(_:partSize:filename:), S3TransferManager.uploadObject(input:), aws s3 cp FILE s3://…
    let upload = client.startUpload(file: path, to: key, options: options)
    let large = try await upload.value
    // end
    _ = upload
    _ = large
    // row: S3.resumeMultipartUpload(_:), S3ErrorType.multipart.abortedUpload
    let resumed = try await client.upload(file: path, to: key)
    // end
    _ = resumed
    // row: abortOnFail
    var once = S3MultipartOptions()
    once.resumes = false
    try await client.upload(file: path, to: key, multipart: once)
    // end
    // row: S3.abortMultipartUpload(_:), aws s3api abort-multipart-upload
    try await client.abandonUpload(file: path, to: key)
    // end
    // row: s3.multipart_threshold, s3.multipart_chunksize
    configuration.singleRequestLimit = .mebibytes(16)
    configuration.partSize = .mebibytes(8)
    // end
    // row: concurrentUploads
    configuration.maximumConcurrentParts = 5
    // end
    // none: S3.createMultipartUpload(_:), S3.uploadPart(_:), S3.completeMultipartUpload(_:), S3.listParts(_:)
    // row: progress:, UploadObjectTransferListener
    upload.onProgress { log("\($0.fraction ?? 0)") }
    // end
    // row: Task.cancel()
    upload.cancel()
    // end
    // row: S3FileTransferManager.copy(from:to:), aws s3 cp --recursive
    let batch = client.startBatch(of: names) { S3BatchWork(.file(path: "scans/\($0)"), to: "2026/\($0)") }
    let summary = await batch.summary
    // end
    _ = batch
    _ = summary
    // row: S3FileTransferManager.sync(from:to:), aws s3 sync
    var changed = S3MultipartOptions()
    changed.skipsSame = true
    // end
    _ = changed
    // row: aws s3api head-bucket
    let access = try await client.access(to: "scans")
    // end
    _ = access
    // row: s3.max_bandwidth
    configuration.transfer.rateLimit = .mebibytes(2)
    // end
}

private func background(
    _ background: inout Outbox.Configuration, _ configuration: S3Client.Configuration, _ session: UploadSession,
    _ path: String, _ key: String
) async throws {
    // row: AWSS3TransferUtility.register(with:forKey:)
    background.kinds = [DurableS3Upload.self]
    background.credentials = StoreAccounts(s3: ["scans": .aws()])
    let outbox = try await Outbox(at: "/var/lib/kiosk/outbox", configuration: background)
    // end
    // row: AWSS3TransferUtility.uploadFile(_:bucket:key:contentType:expression:completionHandler:)
    let durable = try await DurableS3Upload(file: path, to: key, configuration: configuration, credential: "scans")
    try await outbox.enqueue(durable)
    // end
    // row: AWSS3TransferUtility.getUploadTasks()
    for try await item in outbox.items() { log("\(item.id) \(item.state)") }
    // end
    // row: AWSS3TransferUtility.interceptApplication(_:handleEventsForBackgroundURLSession:completionHandler:)
    try await outbox.run(session: session)
    // end
}

private func presigned(
    _ keys: StoreCredentials, _ session: UploadSession, _ path: String, _ question: UploadRequest, _ json: [UInt8]
) async throws {
    // row: S3.signURL(url:httpMethod:expires:), S3Client.presignedURLForPutObject(input:expiration:)
    let request = S3RequestToSign(.put, "https://scans.s3.eu-west-1.amazonaws.com/7.pdf")
    let ticket = try request.presignedUpload(with: keys, region: "eu-west-1", validFor: .seconds(600))
    // end
    _ = request
    _ = ticket
    // row: URLSession.uploadTask(with:fromFile:)
    let sent = try await session.send(ticket.request(.file(path: path)))
    // end
    _ = sent
    // row: a URL that your backend signs
    let asked = TicketedUpload(file: path, ask: question, format: TicketFormat(url: "/url"))
    let result = try await session.run(asked)
    // end
    _ = result
    // row: generate_presigned_post, on a server
    var policy = S3PostPolicy(expiration: .now.addingTimeInterval(600))
    policy.conditions = [.bucket("scans"), .key("7.pdf"), .contentLength(1...102_400)]
    let form = try policy.form(at: "https://scans.s3.eu-west-1.amazonaws.com/", region: "eu-west-1", credentials: keys)
    // end
    _ = form
    // row: generate_presigned_post, its result in an app
    let fromServer = try S3PostForm(json: json)
    let posted = try await session.send(fromServer.request(key: "7.pdf", file: .file("file", path: path)))
    // end
    _ = posted
    // none: S3Client.presignedURLForGetObject(input:expiration:), aws s3 presign
    // row: S3.signHeaders(url:httpMethod:headers:body:)
    let fields = try request.signedHeaders(with: keys, region: "eu-west-1")
    // end
    _ = fields
}

private func errors(
    _ error: StoreError, _ client: S3Client
) {
    // row: S3ErrorType, AWSErrorType.errorCode, AWSServiceError.errorCode
    let code = error.storeCode
    // end
    _ = code
    // row: AWSErrorContext.responseCode, HTTPError.httpResponse
    let status = error.status
    // end
    _ = status
    // row: AWSServiceError.requestID
    let requestID = error.requestID
    // end
    _ = requestID
    // row: RequestTimeTooSkewed
    let seconds = client.clockCorrection
    // end
    _ = seconds
    // row: HTTPClientError.remoteConnectionClosed
    let outcome = error.outcome
    // end
    _ = outcome
}
