import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

/// A client and its store.
struct OSSFixture {
    let store: OSSStore
    let client: AliyunOSSClient
    let directory: TemporaryDirectory
    /// The number of requests for credentials.
    let fetches: Watched<Int>

    init(
        _ settings: OSSStoreSettings = OSSStoreSettings(),
        credentials: CredentialProvider? = nil, session: UploadSession? = nil,
        _ change: (inout AliyunOSSClient.Configuration, OSSStore) throws -> Void = { _, _ in }
    ) throws {
        store = try OSSStore(settings)
        directory = try TemporaryDirectory()
        let fetches = Watched(0)
        self.fetches = fetches
        var configuration = AliyunOSSClient.Configuration(
            endpoint: try OSSEndpoint(store.endpoint, keepsPath: true), bucket: "examplebucket")
        configuration.allowsUnencrypted = true
        configuration.region = "cn-hangzhou"
        configuration.retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(1), maxDelay: .milliseconds(5))
        configuration.records = RecordDirectory(path: directory.path("records"))
        configuration.partSize = .bytes(102_400)
        configuration.singleRequestLimit = .bytes(0)
        try change(&configuration, store)
        client = try AliyunOSSClient(
            configuration: configuration, credentials: credentials ?? CountedCredentials(count: fetches).provider,
            session: session)
    }

    func file(_ size: Int, _ name: String = "film.mov", seed: UInt64 = 1) throws -> (path: String, bytes: [UInt8]) {
        var random = SeededGenerator(seed: seed)
        let bytes = random.bytes(size)
        return (try directory.write(name, bytes), bytes)
    }

    /// The number of requests of an operation that the store has received.
    func count(_ operation: OSSOperation) -> Int { store.state.log(operation).count }

    /// The file names in the directory of records.
    var records: [String] { (try? directory.names(in: "records")) ?? [] }
}

/// The test credentials with a request counter.
struct CountedCredentials: Sendable {
    let count: Watched<Int>
    var credentials = StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))
    /// Called before each result with the number of the request, from 1.
    var before: @Sendable (Int) async -> Void = { _ in }

    var provider: CredentialProvider {
        CredentialProvider { _, _ throws(StoreError) in await self.next() }
    }

    private func next() async -> StoreCredentials {
        let number = count.update { count in
            count += 1
            return count
        }
        await before(number)
        return credentials
    }
}

extension ObjectUpload {
    /// The result of the upload.
    func end() async -> Result<Value, StoreError> {
        await Result { () async throws(StoreError) in try await self.value }
    }
}

/// Returns the error that a call must throw.
func storeError<Value>(_ call: () async throws -> Value) async throws -> StoreError {
    try await #require(throws: StoreError.self) { _ = try await call() }
}
