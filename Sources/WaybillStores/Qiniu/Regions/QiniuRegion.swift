import FoundationEssentials

/// A region of Qiniu: where uploads to its buckets go.
public struct QiniuRegion: Sendable, Hashable, Codable {
    /// Its id, such as `z0`.
    public var name: String
    /// The hosts that take uploads, in the order in which they are tried. A port may stand behind a name.
    public var uploadHosts: [String]

    /// Describes a region, that of a private cloud for example.
    public init(name: String, uploadHosts: [String]) {
        self.name = name
        self.uploadHosts = uploadHosts
    }

    /// Zhejiang.
    public static let z0 = QiniuRegion(name: "z0", uploadHosts: ["upload.qiniup.com", "up.qiniup.com"])
    /// Hebei.
    public static let z1 = QiniuRegion(id: "z1")
    /// Guangdong.
    public static let z2 = QiniuRegion(id: "z2")
    /// North America.
    public static let na0 = QiniuRegion(id: "na0")
    /// Singapore.
    public static let as0 = QiniuRegion(id: "as0")
    /// Zhejiang 2.
    public static let cnEast2 = QiniuRegion(id: "cn-east-2")

    /// A public region by its id, with the hosts that follow from it.
    public init(id: String) {
        self.init(
            name: id,
            uploadHosts: id == "z0" ? Self.z0.uploadHosts : ["upload-\(id).qiniup.com", "up-\(id).qiniup.com"])
    }
}

/// What the service of regions says of a bucket.
struct QiniuRegionAnswer: Sendable, Hashable, Codable {
    /// The regions in the order in which they are tried.
    var regions: [QiniuRegion]
    /// How long that is good, in seconds.
    var lifetime: Int64

    /// All hosts, each once, in the order in which they are tried.
    var hosts: [String] {
        var seen: Set<String> = []
        return regions.flatMap(\.uploadHosts).filter { seen.insert($0).inserted }
    }

    init(regions: [QiniuRegion], lifetime: Int64) {
        self.regions = regions
        self.lifetime = lifetime
    }

    /// Reads an answer of `/v4/query`: accelerated hosts, then ordinary ones, then old ones. Hosts that do not end as they
    /// should are left out: whoever answers in the service's place must not learn our tokens.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/regionUnknown`` when no host is left.
    init(json: [UInt8], suffixes: [String]) throws(StoreError) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json)) else {
            throw StoreError(.regionUnknown, "the answer of the service of regions is not what it should be")
        }
        var refused = 0
        regions = wire.hosts.compactMap { entry in
            let all = (entry.up.acc_domains ?? []) + (entry.up.domains ?? []) + (entry.up.old ?? [])
            let trusted = all.filter { Self.isTrusted($0, suffixes) }
            refused += all.count - trusted.count
            return trusted.isEmpty ? nil : QiniuRegion(name: entry.region ?? "", uploadHosts: trusted)
        }
        // A region that is forgotten at once would be asked for with each upload, one that is kept for ever never again.
        lifetime = min(max(wire.hosts.compactMap(\.ttl).min() ?? 3_600, 60), 7 * 86_400)
        guard !regions.isEmpty else {
            throw StoreError(
                .regionUnknown,
                refused > 0
                    ? "none of the \(refused) hosts that were named ends in one of \(suffixes.joined(separator: ", "))"
                    : "the service of regions names no host that takes uploads")
        }
    }

    /// Whether a host, with or without a port, is one of the suffixes or ends in one behind a dot.
    static func isTrusted(_ host: String, _ suffixes: [String]) -> Bool {
        let halves = host.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...2).contains(halves.count), let name = halves.first?.lowercased(), !name.isEmpty else { return false }
        if halves.count == 2 { guard let port = UInt16(halves[1]), port > 0 else { return false } }
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isPlain && suffixes.contains { name == $0.lowercased() || name.hasSuffix(".\($0.lowercased())") }
    }

    private struct Wire: Decodable {
        struct Entry: Decodable {
            struct Up: Decodable {
                var acc_domains: [String]?
                var domains: [String]?
                var old: [String]?
            }
            var region: String?
            var ttl: Int64?
            var up: Up
        }
        var hosts: [Entry]
    }
}
