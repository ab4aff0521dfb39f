import FoundationEssentials
import Testing
import TestSupport
import Waybill
import WaybillCore
import WaybillStores

/// Each fault of the store ends as documented.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct FaultTests {
    @Test(arguments: FaultRow.all + FaultRow.s3) func `each fault ends as in its row`(_ row: FaultRow) async throws {
        var settings = OSSStoreSettings()
        if row.isS3 { settings.dialect = .s3 }
        settings.accounts = row.tokens.enumerated().map { number, token in
            OSSAccount("ak-\(number)", row.hasOtherSecret ? "0ther" : "s3cr3t", token: token)
        }
        let store = try OSSStore(settings)
        let folder = try TemporaryDirectory()
        let client: any FaultClient =
            row.isS3
            ? try Self.s3Client(row, store, records: folder.path("records"))
            : try Self.client(row, store, records: folder.path("records"))
        row.arrange(store)

        let start = ContinuousClock.now
        let bytes = SeededGenerator.pattern(row.size)
        let result = await Self.run(row, client, folder, bytes)
        let time = start.duration(to: .now)
        let state = try await store.settled()

        let details: Comment = "\(result)\n\(state.log.map { "\($0.operation) \($0.status ?? 0) \($0.code ?? "")" })"
        #expect(store.complaints == [], details)
        for (operation, count) in row.requests {
            #expect(state.log(operation).count == count, "\(operation): \(details)")
        }
        #expect((client.clockCorrection != 0) == row.correctsClock, details)
        if case .fails(let code, let storeCode, let isStored) = row.end {
            let error = result.error
            #expect(error?.code == code, details)
            #expect(storeCode == nil || error?.storeCode == storeCode, details)
            #expect(error?.isStored == isStored, details)
            if row.isConditional { #expect((error?.outcome == .unknown) == row.isUnknown, details) }
            #expect((state.object("k")?.timesStored ?? 0) == row.timesStored ?? (isStored ? 1 : 0), details)
        } else {
            let stored = try #require(try? result.get(), details)
            if case .foundStored = row.end {
                #expect(stored.wasFoundStored, details)
            } else {
                #expect(!stored.wasFoundStored, details)
            }
            let object = try #require(state.object("k"), details)
            #expect(object.timesStored == row.timesStored ?? 1, details)
            #expect(object.content.crc64 == StoredBytes(of: bytes).crc64, details)
            #expect(state.uploads.isEmpty, details)
        }
        // Not a performance limit: no response of the store may make the client hang.
        #expect(time < .seconds(30), details)
        if row.testDescription.contains("Retry-After") { #expect(time >= .seconds(1), details) }
        let printed = String(reflecting: result) + String(describing: client) + Self.dumped(result)
        let uploads = state.log.compactMap(\.uploadID)
        for secret in ["s3cr3t", "tok3n", "Signature="] + uploads { #expect(!printed.contains(secret), "\(printed)") }
    }

    private static func client(
        _ row: FaultRow, _ store: OSSStore, records: String
    ) throws -> AliyunOSSClient {
        var configuration = AliyunOSSClient.Configuration(
            endpoint: try OSSEndpoint(store.endpoint), bucket: "examplebucket")
        configuration.region = "cn-hangzhou"
        configuration.signatureVersion = row.version
        configuration.allowsUnencrypted = true
        configuration.records = RecordDirectory(path: records)
        configuration.partSize = .bytes(102_400)
        configuration.singleRequestLimit = .bytes(0)
        configuration.retry.baseDelay = .milliseconds(5)
        if let stall = row.stall { configuration.transfer.limits.stall = stall }
        return try AliyunOSSClient(configuration: configuration, credentials: RotatingCredentials(row.tokens).provider)
    }

    private static func s3Client(
        _ row: FaultRow, _ store: OSSStore, records: String
    ) throws -> S3Client {
        var profile = S3Profile.aws
        profile.minimumPartSize = .bytes(102_400)
        var configuration = S3Client.Configuration(profile, bucket: "examplebucket")
        configuration.endpoint = store.endpoint
        configuration.region = "cn-hangzhou"
        configuration.allowsUnencrypted = true
        configuration.records = RecordDirectory(path: records)
        configuration.partSize = .bytes(102_400)
        configuration.singleRequestLimit = .bytes(0)
        configuration.retry.baseDelay = .milliseconds(5)
        if let stall = row.stall { configuration.transfer.limits.stall = stall }
        return try S3Client(configuration: configuration, credentials: RotatingCredentials(row.tokens).provider)
    }

    private static func run(
        _ row: FaultRow, _ client: any FaultClient, _ folder: TemporaryDirectory, _ bytes: [UInt8]
    ) async -> Result<any FaultResult, StoreError> {
        do throws(StoreError) {
            var path: String?
            if case .parts = row.upload {
                path = try? folder.write("file", bytes)
                guard path != nil else { preconditionFailure("no file") }
            }
            return .success(try await client.store(bytes, file: path, row))
        } catch {
            return .failure(error)
        }
    }

    /// The output of `dump`, which includes everything without a redacted mirror.
    private static func dumped(_ value: Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }
}

/// A client that is tested with faults.
private protocol FaultClient: Sendable {
    var clockCorrection: Double { get }

    /// Stores bytes, or the file that has them, as the object `k`.
    func store(_ bytes: [UInt8], file: String?, _ row: FaultRow) async throws(StoreError) -> any FaultResult
}

/// A stored object of a client.
private protocol FaultResult: Sendable {
    var wasFoundStored: Bool { get }
}

extension OSSStoredObject: FaultResult {}
extension S3StoredObject: FaultResult {}

extension AliyunOSSClient: FaultClient {
    fileprivate func store(
        _ bytes: [UInt8], file: String?, _ row: FaultRow
    ) async throws(StoreError) -> any FaultResult {
        var options = OSSObjectOptions()
        options.forbidsOverwrite = row.isConditional
        if row.hasCallback { options.callback = OSSCallback(["http://127.0.0.1:9/"], body: "k=${object}") }
        guard let file else { return try await put(.data(bytes), to: "k", options: options) }
        return try await upload(file: file, to: "k", options: options)
    }
}

extension S3Client: FaultClient {
    fileprivate func store(
        _ bytes: [UInt8], file: String?, _ row: FaultRow
    ) async throws(StoreError) -> any FaultResult {
        var options = S3ObjectOptions()
        if row.isConditional { options.condition = .isAbsent }
        guard let file else { return try await put(.data(bytes), to: "k", options: options) }
        return try await upload(file: file, to: "k", options: options)
    }
}

/// Credentials that are replaced by the next ones when the store rejects them.
private final class RotatingCredentials: Sendable {
    private let left: Locked<[StoreCredentials]>

    var provider: CredentialProvider {
        CredentialProvider { _, rejected throws(StoreError) in self.credentials(rejecting: rejected) }
    }

    init(_ tokens: [String?]) {
        left = Locked(
            tokens.enumerated().map { number, token in
                StoreCredentials(
                    accessKeyID: "ak-\(number)", accessKeySecret: .secret("s3cr3t"),
                    securityToken: token.map { .secret($0) })
            })
    }

    func credentials(rejecting: StoreCredentials?) -> StoreCredentials {
        left.withLock { left in
            if left.count > 1, left[0] == rejecting { left.removeFirst() }
            return left[0]
        }
    }
}

extension FaultRow {
    var size: Int {
        switch self.upload {
        case .put: 300_000
        case .largePut: 9 << 20
        case .parts: 2 * 102_400 + 1_000
        }
    }
}

extension Result {
    var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
