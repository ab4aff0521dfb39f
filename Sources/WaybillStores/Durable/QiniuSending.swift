import Waybill
import WaybillCore

/// What can be written down of a Qiniu client's configuration: where, and in which pieces.
struct QiniuSending: Codable, Sendable, Hashable {
    var hosts: [String]?
    var regions: [QiniuRegion]?
    /// Who is asked where a bucket is, where neither hosts nor regions are given.
    var services: [String]?
    var suffixes: [String]?
    var cacheFolder: String?
    var usesTLS: Bool
    var formThreshold: Int64
    var partSize: Int64
    var partsAtOnce: Int
    var checksHash: Bool

    init(_ configuration: QiniuClient.Configuration) {
        switch configuration.hosts {
        case .fixed(let hosts): self.hosts = hosts
        case .regions(let regions): self.regions = regions
        case .asked(let query):
            services = query.services
            suffixes = query.suffixes
            cacheFolder = query.cacheFolder
        }
        usesTLS = configuration.usesTLS
        formThreshold = configuration.formThreshold.bytes
        partSize = configuration.partSize.bytes
        partsAtOnce = configuration.partsAtOnce
        checksHash = configuration.checksHash
    }

    /// The configuration of a client that delivers.
    ///
    /// - Parameters:
    ///   - delivery: Whose session sends.
    ///   - isInParts: Whether a request that fails in a passing way is made again at the same host at once. Of a form, the
    ///     attempts are counted where they are written down.
    /// - Returns: The configuration, without a folder of records.
    func configuration(_ delivery: Delivery, isInParts: Bool) -> QiniuClient.Configuration {
        var configuration = QiniuClient.Configuration()
        if let hosts {
            configuration.hosts = .fixed(hosts)
        } else if let regions {
            configuration.hosts = .regions(regions)
        } else {
            var query = QiniuRegionQuery()
            query.services = services ?? query.services
            query.suffixes = suffixes ?? query.suffixes
            query.cacheFolder = cacheFolder
            configuration.hosts = .asked(query)
        }
        configuration.usesTLS = usesTLS
        configuration.formThreshold = .bytes(formThreshold)
        configuration.partSize = .bytes(partSize)
        configuration.partsAtOnce = partsAtOnce
        configuration.checksHash = checksHash
        configuration.transfer = delivery.session.options.transfer
        configuration.records = nil
        if !isInParts {
            configuration.retriesPerHost = 0
            // A queue waits longer, and lets others go in the meantime.
            configuration.patience = 0
        }
        return configuration
    }

    /// Whether nobody can listen on the way to the hosts.
    var isEncrypted: Bool { usesTLS && !(hosts ?? []).contains { $0.hasPrefix("http://") } }
}
