import QiniuBatchKit
import Testing
import Waybill
import WaybillStores

@Suite(.timeLimit(.minutes(1))) struct QiniuBatchTests {
    @Test func `a batch uploads all photos except cancelled ones, three at a time`() async throws {
        let store = try await LocalQiniu(accessKey: "ak", secretKey: "sk")
        let client = makeClient(
            keys: QiniuKeys(accessKey: "ak", secretKey: .secret("sk")), bucket: "photos", host: store.url,
            session: UploadSession())
        let summary = await upload(Photo.specimens(40), with: client, cancelling: [30, 39])
        #expect("\(summary)" == "38 succeeded, 0 failed, 2 cancelled")
        let snapshot = await store.snapshot
        #expect(snapshot.objects.count == 38 && snapshot.peak <= 3)
        await store.stop()
    }

    @Test func `a wrong key fails each photo`() async throws {
        let store = try await LocalQiniu(accessKey: "ak", secretKey: "sk")
        let client = makeClient(
            keys: QiniuKeys(accessKey: "ak", secretKey: .secret("other")), bucket: "photos", host: store.url,
            session: UploadSession())
        let summary = await upload(Photo.specimens(3), with: client)
        #expect(summary.failed == 3)
        #expect(summary.failures.first?.error.status == 401)
        await store.stop()
    }
}
