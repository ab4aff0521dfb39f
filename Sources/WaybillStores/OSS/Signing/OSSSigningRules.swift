public import HTTPTypes

/// The two kinds of signatures that OSS knows.
public enum OSSSignatureVersion: String, Sendable, Hashable, CaseIterable {
    /// HMAC-SHA1 over method, type, date and resource. Needs no region.
    case v1
    /// HMAC-SHA256 with a key that is made for one day, region and product. What new programs should use.
    case v4
}

/// How a request is signed: which kind of signature, for which region, and whether it stands in the header or in the URL.
///
/// ```swift
/// let header = OSSSigningRules(.v4, region: "cn-hangzhou")
/// let link = OSSSigningRules(.v4, region: "cn-hangzhou", placement: .query(validFor: .seconds(600)))
/// ```
public struct OSSSigningRules: Sendable, Hashable {
    /// Where a signature stands.
    public enum Placement: Sendable, Hashable {
        /// In the field `Authorization`.
        case header
        /// In the query, so that whoever has the URL can send this one request until the time is over. Whole seconds: at
        /// least 1, at most 604,800 (a week), with a security token 43,200 (twelve hours). These are version 4's limits, which
        /// here hold for version 1 too.
        case query(validFor: Duration)
    }

    /// Which kind of signature.
    public var version: OSSSignatureVersion
    /// The region's id, such as `cn-hangzhou`; the id of the box for a cloud box. Only version 4 needs it.
    public var region: String?
    /// `oss`, or `oss-cloudbox` for a cloud box. Only version 4 has it.
    public var product: String
    /// Further header fields that version 4 covers, besides `Content-Type`, `Content-MD5` and all that begin with `x-oss-`.
    /// Those that a request does not have are left out.
    public var additionalHeaders: [HTTPField.Name]
    /// Where the signature stands.
    public var placement: Placement

    /// Describes how to sign.
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

    /// Whole seconds that a presigned URL is good for, checked; `nil` for a signature in the header.
    func seconds(hasToken: Bool) throws(StoreError) -> Int? {
        guard case .query(let duration) = placement else { return nil }
        let seconds = duration.components.seconds
        let longest: Int64 = hasToken ? 43_200 : 604_800
        guard seconds >= 1 else {
            throw StoreError(.invalidExpiration, "a presigned URL must be valid for at least one second")
        }
        // Version 1 names a date and has no limit of its own; a date beyond a week helps only who steals the URL.
        guard seconds <= longest else {
            throw StoreError(
                .invalidExpiration,
                "a presigned URL is good for \(longest) seconds at most\(hasToken ? " with a security token" : ""), and "
                    + "\(seconds) were asked for: shorten it, or sign again when it is needed")
        }
        return Int(seconds)
    }
}
