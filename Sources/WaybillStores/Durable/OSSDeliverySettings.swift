import HTTPTypes
import Waybill
import WaybillCore

/// The persistent part of an OSS client's configuration: endpoint, signature and parts. Network options and retries are
/// those of the worker that delivers the upload.
struct OSSDeliverySettings: Codable, Sendable, Hashable {
    var endpoint: String
    /// The position of the bucket: `virtualHost`, `path` or `domain`.
    var form: String
    var allowsUnencrypted: Bool
    var signatureVersion: String?
    var region: String?
    var product: String
    var additionalHeaders: [String]
    var comparesChecksums: Bool
    var partSize: Int64
    var maximumConcurrentParts: Int
    var singleRequestLimit: Int64

    // The queue stores the settings under these names.
    private enum CodingKeys: String, CodingKey {
        case endpoint, form, allowsUnencrypted, signatureVersion, region, product, additionalHeaders
        case comparesChecksums, partSize
        case maximumConcurrentParts = "partsAtOnce"
        case singleRequestLimit = "wholeUpTo"
    }

    init(_ configuration: AliyunOSSClient.Configuration) {
        endpoint = configuration.endpoint.text
        form =
            switch configuration.endpoint.form {
            case .virtualHost: "virtualHost"
            case .path: "path"
            case .domain: "domain"
            }
        allowsUnencrypted = configuration.allowsUnencrypted
        signatureVersion = configuration.signatureVersion?.rawValue
        region = configuration.region
        product = configuration.product
        additionalHeaders = configuration.additionalHeaders.map(\.rawName)
        comparesChecksums = configuration.comparesChecksums
        partSize = configuration.partSize.bytes
        maximumConcurrentParts = configuration.maximumConcurrentParts
        singleRequestLimit = configuration.singleRequestLimit.bytes
    }

    /// Returns the endpoint as it was configured.
    ///
    /// - Throws: ``StoreError/Code/invalidEndpoint`` if the stored string is invalid, which means that it was modified.
    func parsedEndpoint() throws(StoreError) -> OSSEndpoint {
        let form: OSSEndpoint.Form =
            switch form {
            case "path": .path
            case "domain": .domain
            default: .virtualHost
            }
        return try OSSEndpoint(endpoint, form: form, keepsPath: true)
    }

    /// Returns the configuration of the client that delivers.
    ///
    /// - Parameters:
    ///   - delivery: The delivery, whose session sends the requests.
    ///   - isInParts: Whether transient failures are retried immediately. An object in a single request is retried by
    ///     the queue, which stores the number of attempts; a part does not count as an attempt.
    /// - Returns: The configuration, without a directory of records.
    /// - Throws: The errors of ``parsedEndpoint()``.
    func configuration(
        _ delivery: Delivery, isInParts: Bool
    ) throws(StoreError) -> AliyunOSSClient.Configuration {
        var configuration = AliyunOSSClient.Configuration(endpoint: try parsedEndpoint())
        configuration.allowsUnencrypted = allowsUnencrypted
        configuration.signatureVersion = signatureVersion.flatMap(OSSSignatureVersion.init(rawValue:))
        configuration.region = region
        configuration.product = product
        configuration.additionalHeaders = additionalHeaders.compactMap { HTTPField.Name($0) }
        configuration.comparesChecksums = comparesChecksums
        configuration.partSize = .bytes(partSize)
        configuration.maximumConcurrentParts = maximumConcurrentParts
        configuration.singleRequestLimit = .bytes(singleRequestLimit)
        configuration.transfer = delivery.session.options.transfer
        configuration.records = nil
        if !isInParts { configuration.retry = .none }
        return configuration
    }
}
