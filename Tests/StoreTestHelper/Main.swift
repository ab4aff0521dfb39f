import Glibc
import WaybillCore
import WaybillStores

/// Uploads one file to a store and prints the result, as a program that tests may kill.
///
///     StoreTestHelper ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///     StoreTestHelper qiniu HOST KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///     StoreTestHelper outbox PATH
///
/// It resumes from a record if there is one in the directory. It prints the ETag and how the upload began.
@main struct StoreTestHelper {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.first != "qiniu" else { return await toQiniu(Array(words.dropFirst())) }
        if words.count == 2, words[0] == "outbox" { return await fromOutbox(words[1]) }
        guard words.count == 6, let partSize = Int64(words[4]), let partsAtOnce = Int(words[5]) else {
            fail("usage: StoreTestHelper ENDPOINT KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE")
        }
        do throws(StoreError) {
            var configuration = AliyunOSSClient.Configuration(
                endpoint: try OSSEndpoint(words[0]), bucket: "examplebucket")
            configuration.region = "cn-hangzhou"
            configuration.allowsUnencrypted = true
            configuration.records = RecordDirectory(path: words[3])
            configuration.partSize = .bytes(partSize)
            configuration.partsAtOnce = partsAtOnce
            configuration.maximumConcurrentRequests = partsAtOnce
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

    private static func fromOutbox(_ path: String) async {
        do {
            try await OutboxStep.run(path)
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
