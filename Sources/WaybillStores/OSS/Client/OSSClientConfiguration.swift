public import FoundationEssentials
public import HTTPTypes
public import Waybill
public import WaybillCore

extension AliyunOSSClient {
    /// The configuration of a client. The defaults follow Aliyun's own SDKs: three retries, five concurrent requests,
    /// and a stall limit of 15 seconds.
    public struct Configuration: Sendable, ObjectStoreConfiguration {
        /// The endpoint of OSS.
        public var endpoint: OSSEndpoint
        /// The bucket of calls that do not name one.
        public var bucket: String?
        /// The endpoint in the URLs of stored objects, such as the domain of a content delivery network; `nil` for
        /// ``endpoint``.
        public var publicEndpoint: OSSEndpoint?
        /// The version of the signature; `nil` for version 4 if the region is known, otherwise version 1.
        public var signatureVersion: OSSSignatureVersion?
        /// The region ID; `nil` for the region in the endpoint's host name.
        public var region: String?
        /// The product in the signature: `oss`, or `oss-cloudbox` for a cloud box.
        public var product = "oss"
        /// Additional header fields that version 4 signs.
        public var additionalHeaders: [HTTPField.Name] = []
        /// Whether the checksum that the store reports is compared with that of the bytes sent.
        public var comparesChecksums = true
        /// Whether requests can be sent over an unencrypted connection. An eavesdropper can then read the objects, and
        /// can use a signature, with a security token also for more than that, for as long as it is valid.
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
        /// The part size, 100 KB to 5 GB. It is increased if the object would need more than 10,000 parts.
        public var partSize: ByteCount = .mebibytes(6)
        /// The maximum number of concurrent parts of one object.
        public var maximumConcurrentParts = 5
        /// The maximum size of a file that is uploaded in a single request.
        public var singleRequestLimit: ByteCount = .mebibytes(8)
        /// Returns the local date. If it is wrong, the store's date is used.
        public var now: @Sendable () -> Date = { Date() }

        /// Creates a configuration with the defaults for an endpoint.
        public init(endpoint: OSSEndpoint, bucket: String? = nil) {
            self.endpoint = endpoint
            self.bucket = bucket
            transfer = TransferOptions()
            transfer.limits.total = .seconds(7 * 86_400)
        }

        /// The region in signatures.
        var signingRegion: String? { region ?? endpoint.region }

        var rules: OSSSigningRules {
            OSSSigningRules(
                signatureVersion ?? (signingRegion == nil ? .v1 : .v4), region: signingRegion, product: product,
                additionalHeaders: additionalHeaders)
        }

        func check() throws(StoreError) {
            try check(endpoint: "\(endpoint)", isEncrypted: endpoint.isEncrypted)
            if let bucket { try OSSName.checkBucket(bucket) }
            if let region { try OSSName.checkRegion(region) }
            if rules.version == .v4, rules.region == nil {
                throw StoreError(
                    .invalidRegion,
                    "Version 4 signatures require the region, which the endpoint does not contain. \(Remedy.provideRegion)"
                )
            }
        }
    }
}
