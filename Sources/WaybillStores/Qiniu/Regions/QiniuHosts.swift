/// Where uploads go.
public enum QiniuHosts: Sendable, Hashable {
    /// Where Qiniu says that the bucket is: asked once, and again when that has grown old.
    case asked(QiniuRegionQuery)
    /// To these regions, the first one first.
    case regions([QiniuRegion])
    /// To these hosts and no others: a private cloud, or a test. A host is a name, a name with a port, or a URL without a
    /// path.
    case fixed([String])

    /// Asked of Qiniu's own services.
    public static let askedOfQiniu = QiniuHosts.asked(QiniuRegionQuery())
}

/// How it is found out where a bucket is.
public struct QiniuRegionQuery: Sendable, Hashable {
    /// Who is asked, one after the other.
    public var services = ["uc.qiniuapi.com", "kodo-config.qiniuapi.com", "uc.qbox.me"]
    /// What the names of hosts have to end in to be believed: whoever answers in the service's place must not get tokens.
    public var suffixes = ["qiniup.com", "qbox.me", "qiniucs.com", "qiniuapi.com"]
    /// A folder in which answers are kept for the next start of the program; `nil` to keep them in memory. It is made with
    /// mode 0700.
    public var cacheFolder: String?

    /// Qiniu's own services, and nothing kept on the disk.
    public init() {}
}

/// The hosts of an upload, and which of them is used now. Pure.
///
/// Regions are tried in order, and in each its hosts. An upload in parts belongs to the region where it was begun.
struct QiniuRoute: Sendable, Hashable {
    private var regions: [[String]]
    private var region = 0
    private var index = 0

    init(_ regions: [[String]]) {
        self.regions = regions.filter { !$0.isEmpty }
    }

    /// The host to use now; `nil` when there is none.
    var host: String? { region < regions.count ? regions[region][index] : nil }

    /// A host does not serve us. If another request has moved on meanwhile, there is nothing to do.
    ///
    /// - Returns: Whether there is another one now.
    mutating func leave(_ left: String) -> Bool {
        guard host == left else { return host != nil }
        if index + 1 < regions[region].count {
            index += 1
            return true
        }
        guard region + 1 < regions.count else { return false }
        region += 1
        index = 0
        return true
    }

    /// From now on only hosts of the region that is used now, all of them again.
    mutating func pin() {
        guard region < regions.count else { return }
        let own = regions[region]
        regions = [Array(own[index...]) + Array(own[..<index])]
        (region, index) = (0, 0)
    }

    /// Uses the region that has a host, and that host first.
    ///
    /// - Returns: Whether there is such a region.
    mutating func choose(_ host: String) -> Bool {
        for (number, hosts) in regions.enumerated() {
            guard let place = hosts.firstIndex(of: host) else { continue }
            (region, index) = (number, place)
            return true
        }
        return false
    }
}
