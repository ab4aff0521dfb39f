public import WaybillCore

/// The properties of a store that speaks the protocol of Amazon S3, as values that can be changed for other versions of
/// it.
///
/// ```swift
/// var profile = S3Profile.ceph
/// profile.supportsConditionalWrites = true          // since Ceph 20
/// ```
///
/// A profile is encoded with a durable upload (``DurableS3Upload``).
public struct S3Profile: Sendable, Hashable, Codable {
    /// The position of the bucket in the URL.
    public enum Addressing: String, Sendable, Hashable, Codable {
        /// In front of the host name. A bucket with a dot in its name is put into the path over TLS, because the
        /// certificate would not match; a host that is an IP address always has the bucket in the path.
        case virtualHost
        /// In the path.
        case path
    }

    /// The name of the store in error messages.
    public var name: String
    /// The endpoint of each region, in which `{region}` is replaced; `nil` if the endpoint must be configured.
    public var endpointPattern: String?
    /// The position of the bucket in the URL.
    public var addressing: Addressing
    /// The region in signatures if none is configured; `nil` if it must be configured.
    public var defaultRegion: String?
    /// The checksums that the store verifies.
    public var checksums: Set<S3Checksum> = [.md5]
    /// Whether the store rejects a write whose ``S3ObjectOptions/condition`` is not met. A store without support would
    /// ignore the condition and overwrite the object, so the client does not send it.
    public var supportsConditionalWrites = false
    /// Whether the `ETag` of an object that was sent in a single request, without encryption by a key of the client or
    /// of a key service, is its MD5.
    public var hasMD5ETags = true
    /// Whether the `ETag` of an object in parts, without such encryption, is the MD5 of the MD5s of the parts and their
    /// number.
    public var hasMD5PartETags = false
    /// The maximum size of an object that is sent in a single request.
    public var maximumSinglePut = ByteCount.gibibytes(5)
    /// The minimum size of every part except the last.
    public var minimumPartSize = ByteCount.mebibytes(5)
    /// The maximum size of a part.
    public var maximumPartSize = ByteCount.gibibytes(5)
    /// The maximum number of parts of an object.
    public var maximumPartCount = 10_000

    /// Creates a profile.
    public init(
        name: String, endpointPattern: String? = nil, addressing: Addressing = .path, defaultRegion: String? = nil
    ) {
        self.name = name
        self.endpointPattern = endpointPattern
        self.addressing = addressing
        self.defaultRegion = defaultRegion
    }

    private init(
        _ name: String, _ endpointPattern: String?, _ addressing: Addressing = .virtualHost,
        _ change: (inout S3Profile) -> Void = { _ in }
    ) {
        self.init(name: name, endpointPattern: endpointPattern, addressing: addressing)
        change(&self)
    }

    var limits: PartLimits {
        PartLimits(minimumSize: minimumPartSize, maximumSize: maximumPartSize, maximumCount: maximumPartCount)
    }

    /// Amazon S3.
    public static let aws = S3Profile("Amazon S3", "https://s3.{region}.amazonaws.com") {
        $0.checksums = Set(S3Checksum.allCases)
        $0.supportsConditionalWrites = true
        $0.hasMD5PartETags = true
    }
    /// Cloudflare R2. The endpoint contains the account. By its table of checksum types, a CRC of the whole object must be
    /// the CRC-64.
    public static let r2 = S3Profile("Cloudflare R2", nil, .path) {
        $0.defaultRegion = "auto"
        $0.checksums = [.md5, .sha256, .crc64NVME]
        $0.supportsConditionalWrites = true
        $0.hasMD5PartETags = true
    }
    /// Aliyun OSS by the protocol of S3. ``AliyunOSSClient`` verifies more.
    public static let oss = S3Profile("Aliyun OSS", "https://s3.oss-{region}.aliyuncs.com")
    /// Tencent Cloud COS.
    public static let cos = S3Profile("Tencent COS", "https://cos.{region}.myqcloud.com")
    /// Huawei Cloud OBS.
    public static let obs = S3Profile("Huawei OBS", "https://obs.{region}.myhuaweicloud.com")
    /// Qiniu Kodo by the protocol of S3. Its `ETag` is Qiniu's own hash.
    public static let kodo = S3Profile("Qiniu Kodo", "https://s3.{region}.qiniucs.com") { $0.hasMD5ETags = false }
    /// Backblaze B2.
    public static let b2 = S3Profile("Backblaze B2", "https://s3.{region}.backblazeb2.com")
    /// Wasabi. It documents both positions of the bucket and recommends the path; it documents neither conditional writes
    /// nor `x-amz-checksum-` fields.
    public static let wasabi = S3Profile("Wasabi", "https://s3.{region}.wasabisys.com", .path)
    /// RustFS. Conditional writes since September 2025 (rustfs/rustfs#406), checked atomically since August 2026 (#6801).
    /// Its CRC-64 of an object in parts was wrong in 2026 (#2282), so only hashes are listed.
    public static let rustfs = S3Profile("RustFS", nil, .path) {
        $0.defaultRegion = "us-east-1"
        $0.checksums = [.md5, .sha256]
        $0.supportsConditionalWrites = true
    }
    /// The object gateway of Ceph.
    public static let ceph = S3Profile("Ceph", nil, .path) {
        $0.defaultRegion = "us-east-1"
        $0.hasMD5PartETags = true
    }
    /// Garage.
    public static let garage = S3Profile("Garage", nil, .path) {
        $0.defaultRegion = "garage"
        $0.checksums = [.md5, .sha256]
    }
    /// A store of which nothing more is known than that it speaks the protocol.
    public static let generic = S3Profile("The store", nil, .path) {
        $0.defaultRegion = "us-east-1"
        $0.hasMD5ETags = false
    }
}
