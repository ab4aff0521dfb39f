import FoundationEssentials

/// A region of Qiniu and its upload hosts.
public struct QiniuRegion: Sendable, Hashable, Codable {
    /// The region ID, such as `z0`.
    public var name: String
    /// The upload hosts in the order in which they are tried. A name can be followed by a port.
    public var uploadHosts: [String]

    /// Creates a region, such as that of a private cloud.
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

    /// Creates a public region with the hosts that follow from its ID.
    public init(id: String) {
        self.init(
            name: id,
            uploadHosts: id == "z0" ? Self.z0.uploadHosts : ["upload-\(id).qiniup.com", "up-\(id).qiniup.com"])
    }
}

/// The response of the region service for a bucket.
struct QiniuRegionResponse: Sendable, Hashable, Codable {
    /// The regions in the order in which they are tried.
    var regions: [QiniuRegion]
    /// The lifetime of the response in seconds.
    var lifetime: Int64

    /// All hosts without duplicates, in the order in which they are tried.
    var hosts: [String] {
        var seen: Set<String> = []
        return regions.flatMap(\.uploadHosts).filter { seen.insert($0).inserted }
    }

    init(regions: [QiniuRegion], lifetime: Int64) {
        self.regions = regions
        self.lifetime = lifetime
    }

    /// Parses a response of `/v4/query`: accelerated hosts, then ordinary ones, then old ones. Hosts without a trusted
    /// suffix are discarded, so that an impostor of the service can't obtain tokens.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/regionUnknown`` if no host is left.
    init(json: [UInt8], suffixes: [String]) throws(StoreError) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json)) else {
            throw StoreError(.regionUnknown, "The response of the region service is malformed.")
        }
        var refused = 0
        regions = wire.hosts.compactMap { entry in
            let all = (entry.up.acc_domains ?? []) + (entry.up.domains ?? []) + (entry.up.old ?? [])
            let trusted = all.filter { Self.isTrusted($0, suffixes) }
            refused += all.count - trusted.count
            return trusted.isEmpty ? nil : QiniuRegion(name: entry.region ?? "", uploadHosts: trusted)
        }
        // Clamp to one minute and one week: the service should neither be queried for each upload nor only once.
        lifetime = min(max(wire.hosts.compactMap(\.ttl).min() ?? 3_600, 60), 7 * 86_400)
        guard !regions.isEmpty else {
            throw StoreError(
                .regionUnknown,
                refused > 0
                    ? "None of the \(refused) hosts in the response has a trusted suffix "
                        + "(\(suffixes.joined(separator: ", ")))."
                    : "The region service returned no upload hosts.")
        }
    }

    /// Whether a host, with or without a port, equals a suffix or is a subdomain of one.
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
