import Foundation
import Waybill
import WaybillStores

/// A photo to upload.
public struct Photo: Sendable {
    /// The key of the object.
    public var name: String
    /// The content. A real program would have a path.
    public var bytes: [UInt8]

    /// Creates a photo.
    public init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    /// Returns photos of 20 to 60 KB.
    public static func specimens(_ count: Int) -> [Photo] {
        (0..<count).map { number in
            let size = 20_000 + number * 7_919 % 40_000
            return Photo(
                name: "photos/\(number).jpg",
                bytes: (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) })
        }
    }
}

/// Returns a client that creates a token for each photo before its upload. Tokens are valid for ten minutes.
///
/// - Parameters:
///   - keys: The keys. A program on a user's device must request tokens from your server instead
///     (`QiniuTokens.provider`).
///   - bucket: The bucket for the photos.
///   - host: The upload host; `nil` to query Qiniu for the hosts of the bucket.
///   - session: The session that sends.
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

/// Uploads photos, three at a time, and cancels some of them after ten results.
///
/// - Parameters:
///   - photos: The photos.
///   - client: The client for the bucket.
///   - unwanted: The positions of photos to cancel.
///   - show: Called with each result.
/// - Returns: The summary of the finished batch.
public func upload(
    _ photos: [Photo], with client: QiniuClient, cancelling unwanted: Set<Int> = [],
    show: @escaping @Sendable (_ ended: Int, _ result: BatchResult<Photo, QiniuObject, StoreError>) -> Void = { _, _ in
    }
) async -> BatchSummary<StoreError> {
    let batch = client.startBatch(of: photos, maximumConcurrentRequests: 3) { photo in
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
