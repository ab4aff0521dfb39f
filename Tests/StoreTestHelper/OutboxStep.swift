import Waybill
import WaybillOutbox
import WaybillStores

/// Delivers the items of an outbox to test stores until the queue is idle.
///
///     StoreTestHelper outbox PATH
///
/// It uses the account `test` of either store. It prints the number of delivered items.
enum OutboxStep {
    static func run(_ path: String) async throws(OutboxError) {
        var configuration = Outbox.Configuration()
        configuration.kinds = [DurableOSSUpload.self, DurableQiniuUpload.self]
        configuration.credentials = StoreAccounts(
            oss: ["test": .fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))],
            qiniu: ["test": .keys(QiniuKeys(accessKey: "ak", secretKey: .secret("sk")), bucket: "photos")])
        configuration.retry = OutboxRetry(maxAttempts: 20, baseDelay: .milliseconds(1), maxDelay: .milliseconds(20))
        configuration.retryBudget = nil
        let outbox = try await Outbox(at: path, configuration: configuration)
        try await outbox.runUntilIdle()
        print(try await outbox.tally()[.done])
        await outbox.close()
    }
}
