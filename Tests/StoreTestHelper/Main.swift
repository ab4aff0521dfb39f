import Glibc
import Waybill
import WaybillCore
import WaybillOutbox
import WaybillStores

/// A program that uploads to test stores, and that tests may kill.
///
///     StoreTestHelper oss|qiniu|s3 ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///     StoreTestHelper outbox PATH
///
/// It resumes from a record if there is one in the directory. For a file, it prints the ETag or hash, and how the upload
/// began; for an outbox, the number of delivered items.
@main struct StoreTestHelper {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            if words.count == 2, words[0] == "outbox" {
                try await deliver(words[1])
            } else {
                try await HelperUpload(words).run()
            }
        } catch {
            let line = Array("StoreTestHelper: \(error)\n".utf8)
            unsafe _ = write(STDERR_FILENO, line, line.count)
            exit(1)
        }
    }

    /// Delivers the items of an outbox until the queue is idle. Each store has the account `test`.
    private static func deliver(_ path: String) async throws(OutboxError) {
        var configuration = Outbox.Configuration()
        configuration.kinds = [DurableOSSUpload.self, DurableS3Upload.self, DurableQiniuUpload.self]
        configuration.credentials = StoreAccounts(
            oss: ["test": HelperUpload.credentials], s3: ["test": HelperUpload.credentials],
            qiniu: ["test": .keys(HelperUpload.qiniuKeys, bucket: "photos")])
        configuration.retry = OutboxRetry(maxAttempts: 20, baseDelay: .milliseconds(1), maxDelay: .milliseconds(20))
        configuration.retryBudget = nil
        let outbox = try await Outbox(at: path, configuration: configuration)
        try await outbox.runUntilIdle()
        print(try await outbox.tally()[.done])
        await outbox.close()
    }
}

/// An upload of one file, as the arguments describe it.
private struct HelperUpload {
    static let credentials = CredentialProvider.fixed(
        StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))
    static let qiniuKeys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))

    let store: String
    let endpoint: String
    let key: String
    let file: String
    let records: RecordDirectory
    let partSize: ByteCount
    let maximumConcurrentParts: Int

    init(_ words: [String]) throws(StoreError) {
        guard words.count == 7, let partSize = Int64(words[5]), let maximumConcurrentParts = Int(words[6]) else {
            throw StoreError(
                .invalidArgument,
                "usage: StoreTestHelper oss|qiniu|s3 ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE")
        }
        (store, endpoint, key, file) = (words[0], words[1], words[2], words[3])
        records = RecordDirectory(path: words[4])
        self.partSize = .bytes(partSize)
        self.maximumConcurrentParts = maximumConcurrentParts
    }

    func run() async throws(StoreError) {
        switch store {
        case "oss": try await toOSS()
        case "s3": try await toS3()
        case "qiniu": try await toQiniu()
        default: throw StoreError(.invalidArgument, "There is no store \(store).")
        }
    }

    private func toOSS() async throws(StoreError) {
        var configuration = AliyunOSSClient.Configuration(
            endpoint: try OSSEndpoint(endpoint), bucket: "examplebucket")
        configuration.region = "cn-hangzhou"
        configuration.allowsUnencrypted = true
        configuration.records = records
        configuration.partSize = partSize
        configuration.maximumConcurrentParts = maximumConcurrentParts
        configuration.maximumConcurrentRequests = maximumConcurrentParts
        let client = try AliyunOSSClient(configuration: configuration, credentials: Self.credentials)
        let stored = try await client.upload(file: file, to: key)
        print("\(stored.etag) \(stored.beginning)")
    }

    private func toS3() async throws(StoreError) {
        var profile = S3Profile.generic
        profile.hasMD5ETags = true
        profile.minimumPartSize = .bytes(1)
        var configuration = S3Client.Configuration(profile, bucket: "examplebucket")
        configuration.endpoint = endpoint
        configuration.region = "cn-hangzhou"
        configuration.allowsUnencrypted = true
        configuration.records = records
        configuration.partSize = partSize
        configuration.maximumConcurrentParts = maximumConcurrentParts
        configuration.maximumConcurrentRequests = maximumConcurrentParts
        let client = try S3Client(configuration: configuration, credentials: Self.credentials)
        let stored = try await client.upload(file: file, to: key)
        print("\(stored.etag) \(stored.beginning)")
    }

    /// Prints the hash, and the number of bytes that an earlier run had stored.
    private func toQiniu() async throws(StoreError) {
        var configuration = QiniuClient.Configuration()
        configuration.hosts = .fixed([endpoint])
        configuration.records = records
        configuration.partSize = partSize
        configuration.maximumConcurrentParts = maximumConcurrentParts
        let client = QiniuClient(tokens: .keys(Self.qiniuKeys, bucket: "photos"), configuration: configuration)
        let object = try await client.upload(.file(path: file), to: key)
        print("\(object.hash ?? "") \(object.resumedBytes)")
    }
}
