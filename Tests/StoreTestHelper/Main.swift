import Glibc
import Waybill
import WaybillCore
import WaybillOutbox
import WaybillStores

/// Uploads one file to a store and prints the result, as a program that tests may kill.
///
///     StoreTestHelper ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///     StoreTestHelper qiniu HOST KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///     StoreTestHelper s3 ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///     StoreTestHelper outbox PATH
///
/// It resumes from a record if there is one in the directory. It prints the ETag and how the upload began.
@main struct StoreTestHelper {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.first != "qiniu" else { return await toQiniu(Array(words.dropFirst())) }
        guard words.first != "s3" else { return await toS3(Array(words.dropFirst())) }
        if words.count == 2, words[0] == "outbox" { return await fromOutbox(words[1]) }
        guard words.count == 6, let partSize = Int64(words[4]), let maximumConcurrentParts = Int(words[5]) else {
            fail("usage: StoreTestHelper ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE")
        }
        do throws(StoreError) {
            var configuration = AliyunOSSClient.Configuration(
                endpoint: try OSSEndpoint(words[0]), bucket: "examplebucket")
            configuration.region = "cn-hangzhou"
            configuration.allowsUnencrypted = true
            configuration.records = RecordDirectory(path: words[3])
            configuration.partSize = .bytes(partSize)
            configuration.maximumConcurrentParts = maximumConcurrentParts
            configuration.maximumConcurrentRequests = maximumConcurrentParts
            let client = try AliyunOSSClient(
                configuration: configuration,
                credentials: .fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))))
            let stored = try await client.upload(file: words[2], to: words[1])
            print("\(stored.etag) \(stored.beginning)")
        } catch {
            fail("\(error)")
        }
    }

    private static func toQiniu(_ words: [String]) async {
        do throws(StoreError) {
            try await QiniuUpload.run(words)
        } catch {
            fail("\(error)")
        }
    }

    private static func toS3(_ words: [String]) async {
        do throws(StoreError) {
            try await S3Upload.run(words)
        } catch {
            fail("\(error)")
        }
    }

    private static func fromOutbox(_ path: String) async {
        do {
            try await OutboxDelivery.run(path)
        } catch {
            fail("\(error)")
        }
    }

    private static func fail(_ message: String) -> Never {
        let line = Array("StoreTestHelper: \(message)\n".utf8)
        unsafe _ = write(STDERR_FILENO, line, line.count)
        exit(1)
    }
}

/// Uploads one file to a test store of Qiniu.
///
///     StoreTestHelper qiniu HOST KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///
/// It prints the hash and the number of bytes that an earlier run had stored.
private enum QiniuUpload {
    static func run(_ words: [String]) async throws(StoreError) {
        guard words.count == 6, let partSize = Int64(words[4]), let maximumConcurrentParts = Int(words[5]) else {
            throw StoreError(
                .invalidArgument, "usage: StoreTestHelper qiniu HOST KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE")
        }
        var configuration = QiniuClient.Configuration()
        configuration.hosts = .fixed([words[0]])
        configuration.records = RecordDirectory(path: words[3])
        configuration.partSize = .bytes(partSize)
        configuration.maximumConcurrentParts = maximumConcurrentParts
        let keys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))
        let client = QiniuClient(tokens: .keys(keys, bucket: "photos"), configuration: configuration)
        let object = try await client.upload(.file(path: words[2]), to: words[1])
        print("\(object.hash ?? "") \(object.resumedBytes)")
    }
}

/// Uploads one file to a test store with the protocol of S3.
///
///     StoreTestHelper s3 ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///
/// It prints the ETag and how the upload began.
private enum S3Upload {
    static func run(_ words: [String]) async throws(StoreError) {
        guard words.count == 6, let partSize = Int64(words[4]), let maximumConcurrentParts = Int(words[5]) else {
            throw StoreError(
                .invalidArgument, "usage: StoreTestHelper s3 ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE")
        }
        var profile = S3Profile.generic
        profile.hasMD5ETags = true
        profile.minimumPartSize = .bytes(1)
        var configuration = S3Client.Configuration(profile, bucket: "examplebucket")
        configuration.endpoint = words[0]
        configuration.region = "cn-hangzhou"
        configuration.allowsUnencrypted = true
        configuration.records = RecordDirectory(path: words[3])
        configuration.partSize = .bytes(partSize)
        configuration.maximumConcurrentParts = maximumConcurrentParts
        configuration.maximumConcurrentRequests = maximumConcurrentParts
        let client = try S3Client(
            configuration: configuration,
            credentials: .fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))))
        let stored = try await client.upload(file: words[2], to: words[1])
        print("\(stored.etag) \(stored.beginning)")
    }
}

/// Delivers the items of an outbox to test stores until the queue is idle.
///
///     StoreTestHelper outbox PATH
///
/// It uses the account `test` of each store. It prints the number of delivered items.
private enum OutboxDelivery {
    static func run(_ path: String) async throws(OutboxError) {
        var configuration = Outbox.Configuration()
        configuration.kinds = [DurableOSSUpload.self, DurableS3Upload.self, DurableQiniuUpload.self]
        let keys = CredentialProvider.fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))
        configuration.credentials = StoreAccounts(
            oss: ["test": keys], s3: ["test": keys],
            qiniu: ["test": .keys(QiniuKeys(accessKey: "ak", secretKey: .secret("sk")), bucket: "photos")])
        configuration.retry = OutboxRetry(maxAttempts: 20, baseDelay: .milliseconds(1), maxDelay: .milliseconds(20))
        configuration.retryBudget = nil
        let outbox = try await Outbox(at: path, configuration: configuration)
        try await outbox.runUntilIdle()
        print(try await outbox.tally()[.done])
        await outbox.close()
    }
}
