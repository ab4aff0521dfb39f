public import FoundationEssentials
import HTTPTypes
public import Waybill
public import WaybillCore

/// A client that uploads objects to Amazon S3 and compatible stores, signs every request, and determines the outcome of
/// each.
///
/// ```swift
/// var configuration = S3Client.Configuration(.aws, bucket: "scans")
/// configuration.region = "eu-west-1"
/// let client = try S3Client(configuration: configuration, credentials: .aws())
/// let stored = try await client.put(.file(path: "card.jpg"), to: "2026/7/card.jpg")
/// print(stored.etag)
/// ```
///
/// Guarantees:
///
/// - Every attempt has its own date and signature. A wrong local clock is corrected once, by the store's.
/// - A request to the wrong region is signed again for the region that the store reports. The host is always that of
///   the configuration.
/// - The `ETag` is compared with the MD5 of the bytes sent, if the store's `ETag` is one.
/// - A request without a response is not repeated before the store is queried: an object whose response was lost is
///   found, and a part that the store lists is not sent again.
///
/// ``ObjectClient`` documents the methods for uploads. The differences of S3:
///
/// - Stores accept at most 5 GiB in a single request, and require the length of a stream.
/// - If ``S3ObjectOptions/condition`` is not met, the store code of the error is `PreconditionFailed`.
/// - Each part is compared with its `ETag` if that is an MD5; ``Configuration/checksum`` sends one with each part.
///
/// The client can be used from any thread. Uploads continue after the client is released.
public final class S3Client: ObjectClient {
    /// The configuration of a client.
    public struct Configuration: Sendable, ObjectStoreConfiguration {
        /// The properties of the store.
        public var profile: S3Profile
        /// The endpoint without the bucket, which may contain `{region}`; `nil` for that of the profile.
        public var endpoint: String?
        /// The region; `nil` for the default of the profile. Amazon S3 has no default.
        public var region: String?
        /// The bucket of calls that do not name one.
        public var bucket: String?
        /// The position of the bucket in the URL; `nil` for that of the profile.
        public var addressing: S3Profile.Addressing?
        /// The checksum that is sent in advance and compared with that in the response; `nil` for none. The profile must
        /// have it.
        public var checksum: S3Checksum?
        /// Whether requests can be sent over an unencrypted connection. An eavesdropper can then read the objects. The
        /// signature covers the SHA-256 of the body, for which the content is read once more; only a body that can be
        /// read only once is unprotected.
        public var allowsUnencrypted = false
        /// The retry policy for transient failures: three retries, with delays from 0.2 s.
        public var retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(200), maxDelay: .seconds(20))
        /// The maximum number of concurrent requests. The limits of a session that you pass in apply in addition.
        public var maximumConcurrentRequests = 5
        /// The time limits, rate, TLS and proxy of every request: stall 15 s, connect 15 s, 7 days for an attempt.
        public var transfer: TransferOptions
        /// The directory of the records of multipart uploads; `nil` to keep no records, so that no upload can be
        /// resumed.
        public var records = RecordDirectory.standard
        /// The part size. It is increased if the object would need more parts than the store allows.
        public var partSize: ByteCount = .mebibytes(8)
        /// The maximum number of concurrent parts of one object.
        public var maximumConcurrentParts = 5
        /// The maximum size of a file that is uploaded in a single request.
        public var singleRequestLimit: ByteCount = .mebibytes(16)
        /// Returns the local date. If it is wrong, the store's date is used.
        public var now: @Sendable () -> Date = { Date() }

        /// Creates a configuration with the defaults for a store.
        public init(_ profile: S3Profile, bucket: String? = nil) {
            self.profile = profile
            self.bucket = bucket
            transfer = TransferOptions()
            transfer.limits.total = .seconds(7 * 86_400)
        }
    }

    /// The configuration of the client.
    public let configuration: Configuration
    /// The session that sends the client's requests.
    public let session: UploadSession
    let service: S3Service
    let caller: StoreCaller

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - configuration: The store, the bucket and the behavior of the client.
    ///   - credentials: The provider of the credentials that sign requests.
    ///   - session: The session that sends requests, or `nil` to create a session for this client.
    /// - Throws: ``StoreError/Code/encryptionRequired`` for an endpoint without TLS, or TLS without verification;
    ///   ``StoreError/Code/invalidEndpoint``, ``StoreError/Code/invalidRegion``, ``StoreError/Code/invalidBucket``,
    ///   ``StoreError/Code/invalidArgument``.
    public convenience init(
        configuration: Configuration, credentials: CredentialProvider, session: UploadSession? = nil
    ) throws(StoreError) {
        try self.init(
            configuration: configuration, credentials: credentials, session: session,
            clock: StoreClock(now: configuration.now))
    }

    /// Creates a client that shares the correction of the clock with other clients.
    init(
        configuration: Configuration, credentials: CredentialProvider, session: UploadSession?, clock: StoreClock
    ) throws(StoreError) {
        service = try S3Service(configuration, credentials)
        try configuration.check(service)
        self.configuration = configuration
        self.session = configuration.session(session, "Waybill-S3")
        caller = StoreCaller(
            service: service, session: self.session, clock: clock, options: configuration.options)
    }
}

extension S3Client.Configuration {
    /// Returns the endpoint, in which `{region}` is not replaced, and the region.
    func location() throws(StoreError) -> (endpoint: String, region: String) {
        guard let endpoint = endpoint ?? profile.endpointPattern else {
            throw StoreError(.invalidEndpoint, "\(profile.name) has no common endpoint. Set endpoint.")
        }
        guard let region = region ?? profile.defaultRegion else {
            throw StoreError(.invalidRegion, "Signatures require the region. \(Remedy.provideRegion)")
        }
        try S3Name.checkRegion(region)
        return (endpoint, region)
    }

    /// Throws if a client with this configuration can't be created.
    func check(_ service: S3Service) throws(StoreError) {
        let address = service.address
        try check(endpoint: address.text, isEncrypted: address.isEncrypted)
        if let bucket { try S3Name.checkBucket(bucket) }
        if let checksum, !profile.checksums.contains(checksum) {
            throw StoreError(
                .invalidArgument, "\(profile.name) does not verify \(checksum). Use another checksum.")
        }
    }
}

extension S3Client {
    /// Checks whether the store rejects a write whose condition is not met: a store without conditional writes ignores
    /// the condition and overwrites the object. Sends up to four requests. Use it for a store without a profile, to set
    /// ``S3Profile/supportsConditionalWrites``.
    ///
    /// - Parameters:
    ///   - key: A key that nothing else uses: an empty object is written twice and deleted.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    /// - Returns: Whether the second write was rejected. That does not prove that concurrent writes are.
    /// - Throws: ``StoreError``, with ``StoreError/Code/objectExists`` if there is an object with the key.
    public func checkConditionalWrites(key: String, in bucket: String? = nil) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            _ = try await head(key, in: bucket)
            throw StoreError(.objectExists, "The key of the check is in use. Choose a key without an object.")
        } catch  where error.status == 404 {}
        return try await ObjectUpload { run throws(StoreError) in
            var call = StoreCall(.put, bucket: try self.bucket(bucket), key: key)
            (call.body, call.headers) = (DataBody([]), [.ifNoneMatch: "*"])
            do throws(StoreError) {
                _ = try await self.caller.make(call, run)
            } catch  where error.storeCode == "NotImplemented" {
                return false
            }
            var isRejected = false
            do throws(StoreError) {
                _ = try await self.caller.make(call, run)
            } catch  where error.status == 412 || error.storeCode == "NotImplemented" {
                isRejected = error.status == 412
            }
            try await self.delete(key, in: bucket)
            return isRejected
        }.value
    }
}
