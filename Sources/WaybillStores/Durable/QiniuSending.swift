import Waybill
import WaybillCore

/// The persistent part of a Qiniu client's configuration: hosts and parts.
struct QiniuSending: Codable, Sendable, Hashable {
    var hosts: [String]?
    var regions: [QiniuRegion]?
    /// The services that are queried for the region of a bucket if neither hosts nor regions are set.
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

    /// Returns the configuration of the client that delivers.
    ///
    /// - Parameters:
    ///   - delivery: The delivery, whose session sends the requests.
    ///   - isInParts: Whether transient failures are retried immediately at the same host. A form is retried by the
    ///     queue, which stores the number of attempts.
    /// - Returns: The configuration, without a directory of records.
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
            // The queue retries after a longer delay, and delivers other uploads in the meantime.
            configuration.patience = 0
        }
        return configuration
    }

    /// Whether the connections to all hosts are encrypted.
    var isEncrypted: Bool { usesTLS && !(hosts ?? []).contains { $0.hasPrefix("http://") } }
}
