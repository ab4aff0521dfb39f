import Waybill
import WaybillCore

/// The persistent part of an S3 client's configuration: the store, its endpoint and the parts. Network options and retries
/// are those of the worker that delivers the upload. A property that is added later must be optional, as in the profile.
struct S3DeliverySettings: Codable, Sendable, Hashable {
    private var profile: S3Profile
    /// The endpoint, in which `{region}` is not replaced.
    let endpoint: String
    private var region: String
    private var checksum: S3Checksum?
    private var allowsUnencrypted: Bool
    private var partSize: ByteCount
    private var maximumConcurrentParts: Int
    let singleRequestLimit: ByteCount

    init(_ configuration: S3Client.Configuration) throws(StoreError) {
        profile = configuration.profile
        profile.addressing = configuration.addressing ?? profile.addressing
        (endpoint, region) = try configuration.location()
        checksum = configuration.checksum
        allowsUnencrypted = configuration.allowsUnencrypted
        partSize = configuration.partSize
        maximumConcurrentParts = configuration.maximumConcurrentParts
        singleRequestLimit = configuration.singleRequestLimit
    }

    /// The configuration of a client, without a directory of records.
    var configuration: S3Client.Configuration {
        var configuration = S3Client.Configuration(profile)
        configuration.endpoint = endpoint
        configuration.region = region
        configuration.checksum = checksum
        configuration.allowsUnencrypted = allowsUnencrypted
        configuration.partSize = partSize
        configuration.maximumConcurrentParts = maximumConcurrentParts
        configuration.singleRequestLimit = singleRequestLimit
        configuration.records = nil
        return configuration
    }
}
