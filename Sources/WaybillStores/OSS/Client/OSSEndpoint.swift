import WaybillCore

/// The address of OSS, and the position of the bucket in its URLs.
///
/// ```swift
/// try OSSEndpoint("https://oss-cn-hangzhou.aliyuncs.com")              // bucket.oss-cn-hangzhou.aliyuncs.com/key
/// try OSSEndpoint("https://img.example.com")                           // img.example.com/key
/// try OSSEndpoint("https://10.0.0.7:8080")                             // 10.0.0.7:8080/bucket/key
/// OSSEndpoint.region("cn-hangzhou", over: .internalNetwork)
/// ```
///
/// The signature always covers bucket and key, wherever the URL has them.
public struct OSSEndpoint: Sendable, Hashable {
    /// The position of the bucket in the URL.
    public enum Form: Sendable, Hashable {
        /// In front of the host name, OSS's standard.
        case virtualHost
        /// In the path.
        case path
        /// Not in the URL: the host is a domain that is mapped to one bucket (CNAME).
        case domain
    }

    /// The network through which a region is reached.
    public enum Network: Sendable, Hashable {
        /// The region's public endpoint.
        case publicNetwork
        /// The endpoint inside the region.
        case internalNetwork
        /// The public endpoint with IPv4 and IPv6.
        case dualStack
    }

    /// `https` or `http`.
    public let scheme: String
    /// The host name, with the port if there is one, without the bucket.
    public let host: String
    /// The start of the path of every URL: empty, or a slash and more. It is not part of signatures.
    public let pathPrefix: String
    /// The position of the bucket in the URL.
    public let form: Form

    /// The transfer acceleration endpoint for all regions.
    public static let accelerated = OSSEndpoint(host: "oss-accelerate.aliyuncs.com")
    /// The transfer acceleration endpoint for regions outside the Chinese mainland.
    public static let acceleratedOverseas = OSSEndpoint(host: "oss-accelerate-overseas.aliyuncs.com")

    /// Returns the HTTPS endpoint of a region, such as `cn-hangzhou`.
    public static func region(_ id: String, over network: Network = .publicNetwork) throws(StoreError) -> OSSEndpoint {
        try OSSName.checkRegion(id)
        return switch network {
        case .publicNetwork: OSSEndpoint(host: "oss-\(id).aliyuncs.com")
        case .internalNetwork: OSSEndpoint(host: "oss-\(id)-internal.aliyuncs.com")
        case .dualStack: OSSEndpoint(host: "\(id).oss.aliyuncs.com")
        }
    }

    /// Creates an endpoint from the string in a configuration. The default scheme is HTTPS.
    ///
    /// Hosts that end in `.aliyuncs.com`, `.aliyun-inc.com` or an element of `excludedFromDomains` belong to OSS: the
    /// bucket is put in front of them. If the host is an IP address, the bucket is put into the path. Every other host
    /// is a custom domain that is mapped to one bucket.
    ///
    /// - Parameters:
    ///   - text: The endpoint, without the bucket.
    ///   - form: The position of the bucket, to override the rules above.
    ///   - excludedFromDomains: Suffixes of hosts that are endpoints and not custom domains, such as those of a private
    ///     cloud.
    ///   - keepsPath: Whether the path becomes part of every URL. If `false`, an endpoint with a path is rejected.
    /// - Throws: ``StoreError/Code/invalidEndpoint``.
    public init(
        _ text: String, form: Form? = nil, excludedFromDomains: [String] = [], keepsPath: Bool = false
    ) throws(StoreError) {
        let address = try StoreAddress(text, like: "https://oss-cn-hangzhou.aliyuncs.com")
        if !address.path.isEmpty, !keepsPath {
            throw Self.refused("The endpoint \(StoreError.shown(text)) has a path. \(Remedy.removeEndpointPath)")
        }
        scheme = address.scheme
        host = address.host
        pathPrefix = address.path
        self.form = form ?? Self.form(of: address, excludedFromDomains)
    }

    private init(host: String) {
        scheme = "https"
        self.host = host
        pathPrefix = ""
        form = .virtualHost
    }

    /// The endpoint as a string.
    public var text: String { "\(scheme)://\(host)\(pathPrefix)" }

    /// Whether the connection is encrypted.
    public var isEncrypted: Bool { scheme == "https" }

    /// The region ID, if the host name contains it.
    public var region: String? {
        let name = StoreAddress.name(of: host)
        if name.hasSuffix(".oss.aliyuncs.com") { return String(name.dropLast(".oss.aliyuncs.com".count)) }
        guard name.hasPrefix("oss-"), name.hasSuffix(".aliyuncs.com") else { return nil }
        var id = name.dropFirst("oss-".count).dropLast(".aliyuncs.com".count)
        if id.hasSuffix("-internal") { id = id.dropLast("-internal".count) }
        return id.isEmpty || id.contains(".") || id.hasPrefix("accelerate") ? nil : String(id)
    }

    /// Returns the URL of an object, or of the bucket if the key is empty, without a query.
    ///
    /// - Throws: ``StoreError/Code/invalidEndpoint`` if the host already begins with the bucket,
    ///   ``StoreError/Code/invalidBucket``, ``StoreError/Code/invalidKey``.
    public func url(bucket: String, key: String) throws(StoreError) -> String {
        try OSSName.checkBucket(bucket)
        if !key.isEmpty { try OSSName.checkKey(key) }
        let path = PercentEncoding.path(key)
        switch form {
        case .virtualHost:
            guard !host.hasPrefix("\(bucket).") else {
                throw Self.refused(
                    "The endpoint \(StoreError.shown(host)) already begins with the bucket. Specify the endpoint "
                        + "without the bucket.")
            }
            return "\(scheme)://\(bucket).\(host)\(pathPrefix)/\(path)"
        case .path: return "\(scheme)://\(host)\(pathPrefix)/\(bucket)/\(path)"
        case .domain: return "\(scheme)://\(host)\(pathPrefix)/\(path)"
        }
    }

    private static func form(of address: StoreAddress, _ excluded: [String]) -> Form {
        if address.isNumeric { return .path }
        let own = [".aliyuncs.com", ".aliyun-inc.com"] + excluded.map { $0.lowercased() }.filter { !$0.isEmpty }
        return own.contains { address.name.hasSuffix($0) } ? .virtualHost : .domain
    }

    private static func refused(_ message: String) -> StoreError { StoreError(.invalidEndpoint, message) }
}

extension OSSEndpoint: CustomStringConvertible {
    /// The endpoint as a string.
    public var description: String { text }
}
