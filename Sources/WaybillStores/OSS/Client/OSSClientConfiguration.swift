public import FoundationEssentials
public import HTTPTypes
public import Waybill
public import WaybillCore

extension AliyunOSSClient {
    /// How a client works. The defaults are those that users of Aliyun's own SDKs know: three retries, five requests at
    /// once, 15 seconds without a byte.
    public struct Configuration: Sendable {
        /// Where OSS is.
        public var endpoint: OSSEndpoint
        /// The bucket of calls that name none.
        public var bucket: String?
        /// What stands in the URLs of stored objects, such as the domain of a content delivery network; `nil` for
        /// ``endpoint``.
        public var publicEndpoint: OSSEndpoint?
        /// Which signature; `nil` for version 4 where the region is known, else version 1.
        public var signatureVersion: OSSSignatureVersion?
        /// The region's id; `nil` for the one that the endpoint's host tells.
        public var region: String?
        /// `oss`, or `oss-cloudbox` for a cloud box.
        public var product = "oss"
        /// Further header fields that version 4 signs.
        public var additionalHeaders: [HTTPField.Name] = []
        /// Whether the checksum of what the store has is compared with that of what was sent.
        public var comparesChecksums = true
        /// Whether requests may go over a connection that is not encrypted. Whoever listens then has the objects, and with
        /// a security token, for as long as a signature is good, more than that.
        public var allowsUnencrypted = false
        /// When a request that failed in a passing way is made again: three times, after 0.2 s and more.
        public var retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(200), maxDelay: .seconds(20))
        /// How many requests run at once. Of a session that you hand in, its own numbers hold besides.
        public var requestsAtOnce = 5
        /// Limits in time, rate, TLS and proxy of every request. Stall 15 s, connect 15 s, an attempt 7 days.
        public var transfer: TransferOptions
        /// Where the records of uploads in parts lie; `nil` for none, so that nothing can be resumed.
        public var records = RecordFolder.standard
        /// The size of parts, 100 KB to 5 GB. It grows where 10,000 of them would not do.
        public var partSize: ByteCount = .mebibytes(6)
        /// How many parts of one object are on their way at once.
        public var partsAtOnce = 5
        /// Files of up to this size go in one request.
        public var wholeUpTo: ByteCount = .mebibytes(8)
        /// This machine's date. Where it is wrong, the store's is used.
        public var now: @Sendable () -> Date = { Date() }

        /// The defaults, for an endpoint.
        public init(endpoint: OSSEndpoint, bucket: String? = nil) {
            self.endpoint = endpoint
            self.bucket = bucket
            transfer = TransferOptions()
            transfer.limits.total = .seconds(7 * 86_400)
        }

        /// The region that signatures name.
        var signingRegion: String? { region ?? endpoint.region }

        var rules: OSSSigningRules {
            OSSSigningRules(
                signatureVersion ?? (signingRegion == nil ? .v1 : .v4), region: signingRegion, product: product,
                additionalHeaders: additionalHeaders)
        }

        /// What every request is run with. The session's own header fields and interceptors stay out: they would change what
        /// is signed.
        var options: UploadOptions {
            var options = UploadOptions(transfer: transfer, retry: retry)
            options.omits = [.headers, .commonFields, .interceptors, .cookies]
            // After a lost response the store is asked before anything is sent again.
            options.retry.retriesLostResponses = false
            // A form's policy and token would go along to wherever an answer points.
            options.redirects = .returned
            return options
        }

        func check() throws(StoreError) {
            guard endpoint.isEncrypted || allowsUnencrypted else {
                throw StoreError(
                    .encryptionRequired,
                    "The endpoint \(endpoint) is not encrypted. \(Remedy.allowUnencrypted)")
            }
            guard !transfer.tls.insecureSkipVerification, !transfer.proxyTLS.insecureSkipVerification else {
                throw StoreError(
                    .encryptionRequired,
                    "Credentials are not sent to a store whose certificate is not verified. "
                        + "\(Remedy.trustAuthorityOfStore)")
            }
            if let bucket { try OSSName.checkBucket(bucket) }
            if let region { try OSSName.checkRegion(region) }
            if rules.version == .v4, rules.region == nil {
                throw StoreError(
                    .invalidRegion,
                    "Signatures of version 4 name the region, and the endpoint does not. \(Remedy.giveRegion)")
            }
            guard requestsAtOnce > 0, partsAtOnce > 0 else {
                throw StoreError(.invalidArgument, "at least one request and one part have to run at once")
            }
        }
    }
}
