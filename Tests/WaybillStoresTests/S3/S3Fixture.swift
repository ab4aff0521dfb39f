import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

/// A client of the protocol of S3 and its store.
struct S3Fixture {
    let store: OSSStore
    let client: S3Client
    let directory: TemporaryDirectory
    /// The number of requests for credentials.
    let fetches = Watched(0)

    init(
        _ profile: S3Profile = .aws, _ settings: OSSStoreSettings = Self.settings,
        _ change: (inout S3Client.Configuration, OSSStore) throws -> Void = { _, _ in }
    ) throws {
        store = try OSSStore(settings)
        directory = try TemporaryDirectory()
        var configuration = S3Client.Configuration(profile, bucket: "examplebucket")
        configuration.endpoint = store.endpoint
        configuration.region = "us-east-1"
        configuration.allowsUnencrypted = true
        configuration.retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(1), maxDelay: .milliseconds(5))
        try change(&configuration, store)
        client = try S3Client(
            configuration: configuration, credentials: CountedCredentials(count: fetches).provider)
    }

    static var settings: OSSStoreSettings {
        var settings = OSSStoreSettings()
        settings.dialect = .s3
        settings.region = "us-east-1"
        settings.serviceHosts.formUnion(["s3.us-east-1.loopback.invalid", "s3.eu-west-1.loopback.invalid"])
        return settings
    }

    /// The number of requests of an operation that the store has received.
    func count(_ operation: OSSOperation) -> Int { store.state.log(operation).count }
}
