import Waybill
import WaybillCore

/// The persistent part of a Qiniu client's configuration: hosts and parts.
struct QiniuDeliverySettings: Codable, Sendable, Hashable {
    var hosts: [String]?
    var regions: [QiniuRegion]?
    /// The services that are queried for the region of a bucket if neither hosts nor regions are set.
    var services: [String]?
    var suffixes: [String]?
    var cacheDirectory: String?
    var usesTLS: Bool
    var formThreshold: Int64
    var partSize: Int64
    var maximumConcurrentParts: Int
    var checksHash: Bool

    // The queue stores the settings under these names.
    private enum CodingKeys: String, CodingKey {
        case hosts, regions, services, suffixes
        case cacheDirectory = "cacheFolder"
        case usesTLS, formThreshold, partSize
        case maximumConcurrentParts = "partsAtOnce"
        case checksHash
    }

    init(_ configuration: QiniuClient.Configuration) {
        switch configuration.hosts {
        case .fixed(let hosts): self.hosts = hosts
        case .regions(let regions): self.regions = regions
        case .queried(let query):
            services = query.services
            suffixes = query.suffixes
            cacheDirectory = query.cacheDirectory
        }
        usesTLS = configuration.usesTLS
        formThreshold = configuration.formThreshold.bytes
        partSize = configuration.partSize.bytes
        maximumConcurrentParts = configuration.maximumConcurrentParts
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
            query.cacheDirectory = cacheDirectory
            configuration.hosts = .queried(query)
        }
        configuration.usesTLS = usesTLS
        configuration.formThreshold = .bytes(formThreshold)
        configuration.partSize = .bytes(partSize)
        configuration.maximumConcurrentParts = maximumConcurrentParts
        configuration.checksHash = checksHash
        configuration.transfer = delivery.session.options.transfer
        configuration.records = nil
        if !isInParts {
            configuration.retriesPerHost = 0
            // The queue retries after a longer delay, and delivers other uploads in the meantime.
            configuration.maximumThrottleRetries = 0
        }
        return configuration
    }

    /// Whether the connections to all hosts are encrypted.
    var isEncrypted: Bool { usesTLS && !(hosts ?? []).contains { $0.hasPrefix("http://") } }
}
