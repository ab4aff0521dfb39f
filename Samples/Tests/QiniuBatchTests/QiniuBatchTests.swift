import QiniuBatchKit
import Testing
import Waybill
import WaybillStores

@Suite(.timeLimit(.minutes(1))) struct QiniuBatchTests {
    @Test func `all photos arrive but those that were cancelled, three at once`() async throws {
        let stand = try await StandIn(accessKey: "ak", secretKey: "sk")
        let client = makeClient(
            keys: QiniuKeys(accessKey: "ak", secretKey: .secret("sk")), bucket: "photos", host: stand.url,
            session: UploadSession())
        let summary = await upload(Photo.specimens(40), with: client, cancelling: [30, 39])
        #expect("\(summary)" == "38 succeeded, 0 failed, 2 cancelled")
        let books = await stand.books
        #expect(books.objects.count == 38 && books.peak <= 3)
        await stand.stop()
    }

    @Test func `a wrong key is a failure of each photo`() async throws {
        let stand = try await StandIn(accessKey: "ak", secretKey: "sk")
        let client = makeClient(
            keys: QiniuKeys(accessKey: "ak", secretKey: .secret("other")), bucket: "photos", host: stand.url,
            session: UploadSession())
        let summary = await upload(Photo.specimens(3), with: client)
        #expect(summary.failed == 3)
        #expect(summary.failures.first?.error.status == 401)
        await stand.stop()
    }
}
