import Foundation
import Waybill
import WaybillStores

/// A photo that is to be uploaded.
public struct Photo: Sendable {
    /// What the object is called.
    public var name: String
    /// Its bytes; from a camera's folder it would be a path.
    public var bytes: [UInt8]

    /// Describes a photo.
    public init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    /// So many of them, of 20 to 60 KB.
    public static func specimens(_ count: Int) -> [Photo] {
        (0..<count).map { number in
            let size = 20_000 + number * 7_919 % 40_000
            return Photo(
                name: "photos/\(number).jpg",
                bytes: (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) })
        }
    }
}

/// A client whose tokens are made for each photo when it is its turn, and are good for ten minutes.
///
/// - Parameters:
///   - keys: The keys; where others hold the program, ask your server for tokens instead (`QiniuTokens.provider`).
///   - bucket: Where the photos go.
///   - host: Where to send to, or `nil` to ask Qiniu where the bucket is.
///   - session: Whose slots are used.
/// - Returns: The client.
public func makeClient(keys: QiniuKeys, bucket: String, host: String?, session: UploadSession) -> QiniuClient {
    var configuration = QiniuClient.Configuration()
    if let host { configuration.hosts = .fixed([host]) }
    configuration.records = nil
    let tokens = QiniuTokens.keys(keys) { request, now in
        var policy = QiniuPutPolicy(
            scope: request.key.map { .key($0, bucket: bucket) } ?? .bucket(bucket), deadline: now + 600)
        policy.fileSizeLimit = 1 << 20
        return policy
    }
    return QiniuClient(tokens: tokens, configuration: configuration, session: session)
}

/// Puts photos into a bucket, three at once, and gives up those that are named after the first of them have ended.
///
/// - Parameters:
///   - photos: The photos.
///   - client: What they are uploaded with.
///   - unwanted: Places of photos that are cancelled on the way.
///   - show: Called with each end.
/// - Returns: What the batch came to.
public func upload(
    _ photos: [Photo], with client: QiniuClient, cancelling unwanted: Set<Int> = [],
    show: @escaping @Sendable (_ ended: Int, _ result: BatchResult<Photo, QiniuObject, StoreError>) -> Void = { _, _ in
    }
) async -> BatchSummary<StoreError> {
    let batch = client.startBatch(of: photos, atOnce: 3) { photo in
        QiniuBatchWork(.data(photo.bytes, fileName: photo.name, contentType: "image/jpeg"), to: photo.name)
    }
    var ended = 0
    for await result in batch.results {
        ended += 1
        if ended == 10 { for place in unwanted { batch.cancel(at: place) } }
        show(ended, result)
    }
    return await batch.summary
}
