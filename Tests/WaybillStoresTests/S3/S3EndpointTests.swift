import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `S3 endpoints and regions` {
    private static let credentials = CredentialProvider.fixed(
        StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))

    private static func client(
        _ profile: S3Profile, _ change: (inout S3Client.Configuration) -> Void
    ) throws -> S3Client {
        var configuration = S3Client.Configuration(profile)
        change(&configuration)
        return try S3Client(configuration: configuration, credentials: credentials)
    }

    @Test(
        arguments: [
            (S3Profile.aws, "https://photos.s3.eu-west-1.amazonaws.com/a/b%20c"),
            (.r2, "https://s3.example.com/photos/a/b%20c"),
            (.oss, "https://photos.s3.oss-eu-west-1.aliyuncs.com/a/b%20c"),
            (.cos, "https://photos.cos.eu-west-1.myqcloud.com/a/b%20c"),
            (.obs, "https://photos.obs.eu-west-1.myhuaweicloud.com/a/b%20c"),
            (.kodo, "https://photos.s3.eu-west-1.qiniucs.com/a/b%20c"),
            (.b2, "https://photos.s3.eu-west-1.backblazeb2.com/a/b%20c"),
            (.ceph, "https://s3.example.com/photos/a/b%20c"), (.garage, "https://s3.example.com/photos/a/b%20c"),
            (.generic, "https://s3.example.com/photos/a/b%20c"),
        ])
    func `each profile has its URLs`(_ profile: S3Profile, _ url: String) throws {
        let client = try Self.client(profile) { configuration in
            configuration.region = "eu-west-1"
            if profile.endpointPattern == nil { configuration.endpoint = "s3.example.com" }
        }
        #expect(try client.service.url(bucket: "photos", key: "a/b c") == url)
    }

    @Test(
        arguments: [
            ("s3.example.com", "my.photos", "https://s3.example.com/my.photos/k"),
            ("http://s3.example.com", "my.photos", "http://my.photos.s3.example.com/k"),
            ("https://10.0.0.7:9000", "photos", "https://10.0.0.7:9000/photos/k"),
            ("https://[::1]:9000", "photos", "https://[::1]:9000/photos/k"),
            ("https://x.{region}.example.com/storage/", "photos", "https://photos.x.eu-west-1.example.com/storage/k"),
        ])
    func `the bucket is put into the path where no host name can have it`(
        _ endpoint: String, _ bucket: String, _ url: String
    ) throws {
        let client = try Self.client(.aws) { configuration in
            configuration.region = "eu-west-1"
            configuration.endpoint = endpoint
            configuration.allowsUnencrypted = true
        }
        #expect(try client.service.url(bucket: bucket, key: "k") == url)
    }

    @Test func `an endpoint that begins with the bucket is refused`() throws {
        let client = try Self.client(.aws) { configuration in
            configuration.region = "eu-west-1"
            configuration.endpoint = "https://photos.s3.example.com"
        }
        let error = #expect(throws: StoreError.self) { try client.service.url(bucket: "photos", key: "k") }
        #expect(error?.code == .invalidEndpoint)
    }

    @Test func `invalid configurations are refused`() throws {
        let changes: [(StoreError.Code, S3Profile, (inout S3Client.Configuration) -> Void)] = [
            (.invalidRegion, .aws, { _ in }),
            (.invalidRegion, .aws, { $0.region = "eu west" }),
            (.invalidEndpoint, .r2, { _ in }),
            (.invalidEndpoint, .r2, { $0.endpoint = "https://a b" }),
            (.encryptionRequired, .r2, { $0.endpoint = "http://s3.example.com" }),
            (
                .invalidBucket, .r2,
                {
                    $0.endpoint = "s3.example.com"; $0.bucket = "A"
                }
            ),
            (
                .invalidArgument, .r2,
                {
                    $0.endpoint = "s3.example.com"; $0.maximumConcurrentRequests = 0
                }
            ),
            (
                .invalidArgument, .ceph,
                {
                    $0.endpoint = "s3.example.com"; $0.checksum = .sha256
                }
            ),
            (
                .encryptionRequired, .r2,
                {
                    $0.endpoint = "s3.example.com"
                    $0.transfer.tls.insecureSkipVerification = true
                }
            ),
        ]
        for (code, profile, change) in changes {
            let error = #expect(throws: StoreError.self) { try Self.client(profile, change) }
            #expect(error?.code == code)
        }
    }

    // MARK: Regions

    private static func fixture(
        regional: Bool, _ change: (inout S3Client.Configuration) -> Void = { _ in }
    ) throws -> S3Fixture {
        var settings = S3Fixture.settings
        settings.bucketRegions["examplebucket"] = "eu-west-1"
        return try S3Fixture(.aws, settings) { configuration, store in
            if regional { configuration.endpoint = "http://s3.{region}.loopback.invalid:\(store.port)" }
            change(&configuration)
        }
    }

    @Test(arguments: [true, false])
    func `a request to the wrong region is signed again for the right one`(_ regional: Bool) async throws {
        let fixture = try Self.fixture(regional: regional)
        try await fixture.client.put(.data([1, 2]), to: "k")
        try await fixture.client.put(.data([1, 2, 3]), to: "k")
        #expect(fixture.store.object("k")?.content.bytes == [1, 2, 3])
        let wrong = regional ? "PermanentRedirect" : "AuthorizationHeaderMalformed"
        #expect(fixture.store.state.log.map(\.code) == [wrong, nil, nil])
        // Other buckets stay in the configured region.
        try await fixture.client.put(.data([1]), to: "k", in: "other-bucket")
        #expect(fixture.store.state.log.map(\.code) == [wrong, nil, nil, nil])
    }

    @Test(arguments: [true, false], [1, 5])
    func `concurrent requests to the wrong region are all signed again`(_ regional: Bool, _ atOnce: Int) async throws {
        let gate = Gate()
        let fixture = try Self.fixture(regional: regional) { $0.maximumConcurrentRequests = atOnce }
        fixture.store.hold(at: gate)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask { _ = try await fixture.client.put(.data([UInt8(number)]), to: "k\(number)") }
            }
            try await fixture.store.waitUntil { $0.inFlight == min(atOnce, 4) }
            gate.open()
            try await group.waitForAll()
        }
        #expect(fixture.store.state.keys().count == 4)
    }

    @Test func `a redirected HEAD is signed again by the region in its header field`() async throws {
        let fixture = try Self.fixture(regional: true)
        fixture.store.put("k", [1, 2])
        #expect(try await fixture.client.head("k").size == 2)
        #expect(fixture.count(.headObject) == 2)
    }

    @Test func `a body that can be read only once is not sent to another region`() async throws {
        let fixture = try Self.fixture(regional: true)
        let chunks = AsyncStream<[UInt8]> { continuation in
            continuation.yield([1, 2])
            continuation.finish()
        }
        let error = try await storeError {
            try await fixture.client.put(.stream(chunks, length: 2), to: "k")
        }
        #expect(error.storeCode == "PermanentRedirect")
        #expect(error.message.contains("read only once"))
    }
}
