import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox
@testable import WaybillStores

/// Both stores, a directory with an outbox, and what durable uploads need.
final class DurableFixture: Sendable {
    let oss: OSSStore
    let s3: OSSStore
    let qiniu: QiniuStore
    let folder: TemporaryDirectory
    let session = UploadSession()

    init(
        _ ossSettings: OSSStoreSettings = OSSStoreSettings(), _ qiniuSettings: QiniuStoreSettings = QiniuStoreSettings()
    ) throws {
        oss = try OSSStore(ossSettings)
        s3 = try OSSStore(S3Fixture.settings)
        qiniu = try QiniuStore(qiniuSettings)
        folder = try TemporaryDirectory()
    }

    static let ossKeys = StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))
    static let qiniuKeys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))

    static var accounts: StoreAccounts {
        StoreAccounts(
            oss: ["test": .fixed(ossKeys)], s3: ["test": .fixed(ossKeys)],
            qiniu: ["test": .keys(qiniuKeys, bucket: "photos")])
    }

    /// Parts of 100 KiB above 150,000 bytes.
    var ossConfiguration: AliyunOSSClient.Configuration {
        get throws {
            var configuration = AliyunOSSClient.Configuration(
                endpoint: try OSSEndpoint(oss.endpoint, keepsPath: true), bucket: "examplebucket")
            configuration.allowsUnencrypted = true
            configuration.region = "cn-hangzhou"
            configuration.partSize = .bytes(102_400)
            configuration.maximumConcurrentParts = 2
            configuration.singleRequestLimit = .bytes(150_000)
            return configuration
        }
    }

    /// Parts of 100 KiB above 150,000 bytes.
    var s3Configuration: S3Client.Configuration {
        var profile = S3Profile.aws
        profile.minimumPartSize = .bytes(102_400)
        var configuration = S3Client.Configuration(profile, bucket: "examplebucket")
        configuration.endpoint = s3.endpoint
        configuration.region = "us-east-1"
        configuration.allowsUnencrypted = true
        configuration.partSize = .bytes(102_400)
        configuration.maximumConcurrentParts = 2
        configuration.singleRequestLimit = .bytes(150_000)
        return configuration
    }

    /// Parts of 1 MiB above 256 KiB.
    var qiniuConfiguration: QiniuClient.Configuration {
        var configuration = QiniuClient.Configuration()
        configuration.hosts = .fixed([qiniu.url()])
        configuration.formThreshold = .kibibytes(256)
        configuration.partSize = .mebibytes(1)
        configuration.maximumConcurrentParts = 2
        return configuration
    }

    func file(_ size: Int, _ name: String = "film.mov", seed: UInt64 = 7) throws -> (path: String, bytes: [UInt8]) {
        let bytes = QiniuFixture.bytes(size, seed: seed)
        return (try folder.write(name, bytes), bytes)
    }

    func toOSS(
        _ path: String, _ key: String = "k", credential: String = "test",
        _ change: (inout OSSObjectOptions) -> Void = { _ in }
    ) async throws -> DurableOSSUpload {
        var options = OSSObjectOptions()
        change(&options)
        return try await DurableOSSUpload(
            file: path, to: key, configuration: ossConfiguration, credential: credential, options: options)
    }

    func toS3(
        _ path: String, _ checksum: S3Checksum? = nil, _ change: (inout S3ObjectOptions) -> Void = { _ in }
    ) async throws -> DurableS3Upload {
        var (options, configuration) = (S3ObjectOptions(), s3Configuration)
        change(&options)
        configuration.checksum = checksum
        return try await DurableS3Upload(
            file: path, to: "k", configuration: configuration, credential: "test", options: options)
    }

    func toQiniu(
        _ path: String, _ key: String? = "k", credential: String = "test", policy: QiniuPutPolicy? = nil
    ) async throws -> DurableQiniuUpload {
        try await DurableQiniuUpload(
            file: path, to: key, in: "photos", credential: credential, configuration: qiniuConfiguration, policy: policy
        )
    }

    /// A delivery without an outbox, which records its resume state.
    func delivery(
        resume: [UInt8]? = nil, kept: Watched<[[UInt8]]> = Watched([]), _ accounts: any NamedCredentials = accounts
    ) -> Delivery {
        Delivery(
            session: session, credentials: accounts, idempotencyKey: Delivery.newIdempotencyKey(), resume: resume,
            saveResume: { state in kept.update { $0.append(state) } })
    }

    /// An outbox with short delays.
    func open(
        _ accounts: any NamedCredentials = accounts, _ change: (inout Outbox.Configuration) -> Void = { _ in }
    ) async throws -> Outbox {
        var configuration = Outbox.Configuration()
        configuration.kinds = [DurableOSSUpload.self, DurableS3Upload.self, DurableQiniuUpload.self]
        configuration.credentials = accounts
        configuration.retry = OutboxRetry(maxAttempts: 5, baseDelay: .milliseconds(1), maxDelay: .milliseconds(5))
        configuration.jitter = { 0.5 }
        change(&configuration)
        return try await Outbox(at: folder.path("outbox"), configuration: configuration)
    }

    /// Delivers until the queue is idle.
    func deliver(_ outbox: Outbox) async throws { try await outbox.runUntilIdle(session: session) }

    /// The number of parts that both stores have of incomplete uploads.
    var openParts: Int {
        oss.state.uploads.values.reduce(0) { $0 + $1.parts.count }
            + qiniu.state.uploads.values.reduce(0) { $0 + $1.parts.count }
    }
}

/// Returns the error that a delivery must throw.
func uploadError<Value>(_ call: () async throws -> Value) async throws -> UploadError {
    try await #require(throws: UploadError.self) { _ = try await call() }
}

extension DeliveryVerdict {
    /// The name of the verdict, for comparisons.
    var name: String {
        switch self {
        case .delivered: "delivered"
        case .absent: "absent"
        case .repeatable: "repeatable"
        case .resume: "resume"
        case .undetermined: "undetermined"
        }
    }
}
