/// The hosts to which a client uploads.
public enum QiniuHosts: Sendable, Hashable {
    /// The hosts that Qiniu reports for the bucket. They are cached, and queried again when the cache entry expires.
    case queried(QiniuRegionQuery)
    /// The hosts of these regions, tried in order.
    case regions([QiniuRegion])
    /// Only these hosts, for a private cloud or a test. A host is a name, a name with a port, or a URL without a path.
    case fixed([String])

    /// The hosts that Qiniu's own services report.
    public static let queriedFromQiniu = QiniuHosts.queried(QiniuRegionQuery())
}

/// The settings for querying the region of a bucket.
public struct QiniuRegionQuery: Sendable, Hashable {
    /// The query services, tried in order.
    public var services = ["uc.qiniuapi.com", "kodo-config.qiniuapi.com", "uc.qbox.me"]
    /// The suffixes of trusted host names, so that an impostor of a service can't redirect tokens to other hosts.
    public var suffixes = ["qiniup.com", "qbox.me", "qiniucs.com", "qiniuapi.com"]
    /// A directory in which results are cached across launches; `nil` to cache them in memory only. It is created with
    /// mode 0700.
    public var cacheDirectory: String?

    /// Creates settings with Qiniu's own services and no cache on disk.
    public init() {}
}

/// The upload hosts, and which one is in use. Performs no I/O.
///
/// Regions are tried in order, and within each its hosts. An upload in parts is bound to the region where it was
/// initiated.
struct QiniuRoute: Sendable, Hashable {
    private var regions: [[String]]
    private var region = 0
    private var index = 0

    init(_ regions: [[String]]) {
        self.regions = regions.filter { !$0.isEmpty }
    }

    /// The present host; `nil` without a host.
    var host: String? { region < regions.count ? regions[region][index] : nil }

    /// Moves on to the next host after a failure. Does nothing if another request has done so already.
    ///
    /// - Returns: Whether there is a host to try.
    mutating func advance(from failed: String) -> Bool {
        guard host == failed else { return host != nil }
        if index + 1 < regions[region].count {
            index += 1
            return true
        }
        guard region + 1 < regions.count else { return false }
        region += 1
        index = 0
        return true
    }

    /// Restricts the route to the present region, starting with the present host. All hosts of the region are tried
    /// again.
    mutating func pin() {
        guard region < regions.count else { return }
        let own = regions[region]
        regions = [Array(own[index...]) + Array(own[..<index])]
        (region, index) = (0, 0)
    }

    /// Moves to the region of a host, starting with that host.
    ///
    /// - Returns: Whether there is such a region.
    mutating func choose(_ host: String) -> Bool {
        for (number, hosts) in regions.enumerated() {
            guard let position = hosts.firstIndex(of: host) else { continue }
            (region, index) = (number, position)
            return true
        }
        return false
    }
}
