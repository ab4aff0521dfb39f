import WaybillCore
import WaybillStores

/// Uploads one file to a test store of Qiniu.
///
///     StoreTestHelper qiniu HOST KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE
///
/// It prints the hash and the number of bytes that an earlier run had stored.
enum QiniuUpload {
    static func run(_ words: [String]) async throws(StoreError) {
        guard words.count == 6, let partSize = Int64(words[4]), let partsAtOnce = Int(words[5]) else {
            throw StoreError(
                .invalidArgument, "usage: StoreTestHelper qiniu HOST KEY FILE RECORDS PART-SIZE PARTS-AT-ONCE")
        }
        var configuration = QiniuClient.Configuration()
        configuration.hosts = .fixed([words[0]])
        configuration.records = RecordDirectory(path: words[3])
        configuration.partSize = .bytes(partSize)
        configuration.partsAtOnce = partsAtOnce
        let keys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))
        let client = QiniuClient(tokens: .keys(keys, bucket: "photos"), configuration: configuration)
        let object = try await client.upload(.file(path: words[2]), to: words[1])
        print("\(object.hash ?? "") \(object.resumedBytes)")
    }
}
