import FoundationEssentials
public import HTTPTypes

/// The versions of OSS's signatures.
public enum OSSSignatureVersion: String, Sendable, Hashable, CaseIterable {
    /// HMAC-SHA1 over method, type, date and resource. Needs no region.
    case v1
    /// HMAC-SHA256 with a key that is derived for one day, region and product. Recommended for new programs.
    case v4
}

/// The rules of a signature: its version, its region, and its placement in the header or in the URL.
///
/// ```swift
/// let header = OSSSigningRules(.v4, region: "cn-hangzhou")
/// let link = OSSSigningRules(.v4, region: "cn-hangzhou", placement: .query(validFor: .seconds(600)))
/// ```
public struct OSSSigningRules: Sendable, Hashable {
    /// The placement of a signature.
    public enum Placement: Sendable, Hashable {
        /// In the header field `Authorization`.
        case header
        /// In the query, so that anyone with the URL can send this one request until it expires. The duration is in
        /// whole seconds: at least 1, at most 604,800 (one week), or 43,200 (twelve hours) with a security token. These
        /// limits of version 4 also apply to version 1 here.
        case query(validFor: Duration)
    }

    /// The version of the signature.
    public var version: OSSSignatureVersion
    /// The region ID, such as `cn-hangzhou`, or the ID of a cloud box. Only version 4 needs it.
    public var region: String?
    /// The product: `oss`, or `oss-cloudbox` for a cloud box. Only version 4 uses it.
    public var product: String
    /// Additional header fields that version 4 signs, besides `Content-Type`, `Content-MD5` and fields that begin with
    /// `x-oss-`. Fields that the request does not have are ignored.
    public var additionalHeaders: [HTTPField.Name]
    /// The placement of the signature.
    public var placement: Placement

    /// Creates rules.
    public init(
        _ version: OSSSignatureVersion, region: String? = nil, product: String = "oss",
        additionalHeaders: [HTTPField.Name] = [], placement: Placement = .header
    ) {
        self.version = version
        self.region = region
        self.product = product
        self.additionalHeaders = additionalHeaders
        self.placement = placement
    }

    /// Returns the scope of a version 4 signature.
    ///
    /// - Throws: ``StoreError/Code/invalidRegion``.
    func scope(at date: Date) throws(StoreError) -> OSSSignatureV4.Scope {
        try OSSName.checkRegion(region ?? "")
        return OSSSignatureV4.Scope(date: date, region: region ?? "", product: product)
    }

    /// Returns the validated validity of a presigned URL in whole seconds; `nil` for a signature in the header.
    func seconds(hasToken: Bool) throws(StoreError) -> Int? {
        guard case .query(let duration) = placement else { return nil }
        // Version 1 does not limit the validity. A URL that is valid for more than a week mainly helps an attacker who
        // obtains it.
        return try hasToken
            ? duration.validity(atMost: 43_200, " with a security token") : duration.validity(atMost: 604_800)
    }
}

extension Duration {
    /// Returns the duration as the validity of a presigned URL in whole seconds.
    ///
    /// - Throws: ``StoreError/Code/invalidExpiration`` unless it is between 1 s and the limit in seconds.
    func validity(atMost longest: Int64, _ condition: String = "") throws(StoreError) -> Int {
        let seconds = components.seconds
        guard seconds >= 1 else {
            throw StoreError(.invalidExpiration, "A presigned URL must be valid for at least one second.")
        }
        guard seconds <= longest else {
            throw StoreError(
                .invalidExpiration,
                "A presigned URL can be valid for at most \(longest) seconds\(condition); got \(seconds). Use a "
                    + "shorter validity, or sign again when needed.")
        }
        return Int(seconds)
    }
}
