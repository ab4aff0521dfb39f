import FoundationEssentials
import HTTPTypes
import Waybill

/// What a store has reported about a bucket.
public struct S3BucketAccess: Sendable, Hashable {
    /// The region in signatures that the store accepts for the bucket.
    public var region: String
    /// The offset of the store's clock from the local clock in seconds, positive if it is ahead; `nil` if the response
    /// has no date.
    public var clockOffset: Double?
    /// The ID of the request.
    public var requestID: String?
}

extension S3Client {
    /// Checks the connection, the credentials and the access to a bucket by one request for at most one key. Nothing is
    /// changed.
    ///
    /// The credentials must permit listing the bucket (`s3:ListBucket`), which uploads do not need.
    ///
    /// - Parameters:
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - prefix: The prefix of the keys.
    /// - Returns: The region, which is another one than that of the configuration if that is wrong, and the clock.
    /// - Throws: ``StoreError``; its store code is `NoSuchBucket`, `AccessDenied`, `SignatureDoesNotMatch` and so on.
    public func access(
        to bucket: String? = nil, prefix: String = ""
    ) async throws(StoreError) -> S3BucketAccess {
        try await ObjectUpload { run throws(StoreError) in
            let bucket = try self.bucket(bucket)
            var call = StoreCall(.get, bucket: bucket, key: "")
            call.isToBucket = true
            call.isIdempotent = true
            call.query = [
                StoreQueryItem("list-type", "2"), StoreQueryItem("max-keys", "1"), StoreQueryItem("prefix", prefix),
            ]
            let response = try await self.caller.make(call, run).response
            guard (try? BoundedXMLParser.read(response.body))?.name == "ListBucketResult" else {
                throw StoreError(foreign: response, store: self.service.name)
            }
            return S3BucketAccess(
                region: self.service.region(of: bucket),
                clockOffset: response.date?.timeIntervalSince(self.configuration.now()),
                requestID: response.headers[.s3RequestID])
        }.value
    }
}
