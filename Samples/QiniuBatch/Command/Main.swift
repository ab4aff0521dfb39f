import Foundation
import QiniuBatchKit
import Waybill
import WaybillStores

@main
struct QiniuBatchSample {
    static func main() async throws {
        let environment = ProcessInfo.processInfo.environment
        let session = UploadSession()
        let photos = Photo.specimens(200)
        let cancelled: Set<Int> = [50, 51, 60, 120, 199]
        let show: @Sendable (Int, BatchResult<Photo, QiniuObject, StoreError>) -> Void = { ended, result in
            if case .failure(let error) = result.result { print("\(result.item.name): \(error.code)") }
            if ended % 50 == 0 { print("\(ended) of 200 ended") }
        }
        if let accessKey = environment["QINIU_ACCESS_KEY"], let secretKey = environment["QINIU_SECRET_KEY"],
            let bucket = environment["QINIU_BUCKET"]
        {
            let keys = QiniuKeys(accessKey: accessKey, secretKey: .secret(secretKey))
            let client = makeClient(keys: keys, bucket: bucket, host: environment["QINIU_UP_HOST"], session: session)
            print(await upload(photos, with: client, cancelling: cancelled, show: show))
        } else {
            let store = try await LocalQiniu(accessKey: "ak", secretKey: "sk")
            let keys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))
            let client = makeClient(keys: keys, bucket: "photos", host: store.url, session: session)
            print(await upload(photos, with: client, cancelling: cancelled, show: show))
            let snapshot = await store.snapshot
            let (count, peak) = (snapshot.objects.count, snapshot.peak)
            print("the store has \(count) objects and received at most \(peak) concurrent requests")
            await store.stop()
        }
        await session.close()
    }
}
