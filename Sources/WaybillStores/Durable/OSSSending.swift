import HTTPTypes
import Waybill
import WaybillCore

/// What can be written down of an OSS client's configuration: where, how signed, and in which pieces. How the program reaches the
/// store, and how often it tries, is up to whoever delivers.
struct OSSSending: Codable, Sendable, Hashable {
    var endpoint: String
    /// `virtualHost`, `path` or `domain`.
    var form: String
    var allowsUnencrypted: Bool
    var signatureVersion: String?
    var region: String?
    var product: String
    var additionalHeaders: [String]
    var comparesChecksums: Bool
    var partSize: Int64
    var partsAtOnce: Int
    var wholeUpTo: Int64

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
        partsAtOnce = configuration.partsAtOnce
        wholeUpTo = configuration.wholeUpTo.bytes
    }

    /// The endpoint as it was given.
    ///
    /// - Throws: ``StoreError/Code/invalidEndpoint`` for a text that somebody else has written.
    func place() throws(StoreError) -> OSSEndpoint {
        let form: OSSEndpoint.Form =
            switch form {
            case "path": .path
            case "domain": .domain
            default: .virtualHost
            }
        return try OSSEndpoint(endpoint, form: form, keepsPath: true)
    }

    /// The configuration of a client that delivers.
    ///
    /// - Parameters:
    ///   - delivery: Whose session sends.
    ///   - isInParts: Whether requests that fail in a passing way are made again at once. Of an object in one request, the
    ///     attempts are counted where they are written down; a part is no attempt.
    /// - Returns: The configuration, without a folder of records.
    /// - Throws: As ``place()``.
    func configuration(
        _ delivery: Delivery, isInParts: Bool
    ) throws(StoreError) -> AliyunOSSClient.Configuration {
        var configuration = AliyunOSSClient.Configuration(endpoint: try place())
        configuration.allowsUnencrypted = allowsUnencrypted
        configuration.signatureVersion = signatureVersion.flatMap(OSSSignatureVersion.init(rawValue:))
        configuration.region = region
        configuration.product = product
        configuration.additionalHeaders = additionalHeaders.compactMap { HTTPField.Name($0) }
        configuration.comparesChecksums = comparesChecksums
        configuration.partSize = .bytes(partSize)
        configuration.partsAtOnce = partsAtOnce
        configuration.wholeUpTo = .bytes(wholeUpTo)
        configuration.transfer = delivery.session.options.transfer
        configuration.records = nil
        if !isInParts { configuration.retry = .none }
        return configuration
    }
}
