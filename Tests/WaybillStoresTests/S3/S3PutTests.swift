import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `S3 objects in one request` {
    private let bytes = Array("hello s3".utf8)

    @Test(arguments: ["path", "host", "prefix", "dotted bucket"])
    func `the store accepts every position of the bucket`(_ form: String) async throws {
        var settings = S3Fixture.settings
        if form == "prefix" { settings.pathPrefix = "/storage/s3" }
        let fixture = try S3Fixture(.aws, settings) { configuration, store in
            if form == "host" || form == "dotted bucket" { configuration.endpoint = store.namedEndpoint }
            if form == "dotted bucket" { configuration.bucket = "example.bucket" }
        }
        let stored = try await fixture.client.put(.data(bytes), to: "目录/a b+c.txt")
        let object = fixture.store.object("目录/a b+c.txt", in: stored.bucket)
        #expect(object?.content.bytes == bytes)
        #expect(stored.url.hasSuffix("/%E7%9B%AE%E5%BD%95/a%20b%2Bc.txt"))
        #expect(stored.etag == "\"\(object?.etag ?? "")\"")
        #expect(fixture.store.state.log.map(\.signature) == [.s3Header])
        #expect(fixture.store.complaints.isEmpty)
    }

    @Test(
        arguments: [
            "a", "/a", "//a//", "+ % # ? 空", "%41%2F", "a//b", "a/../b", "./a", "a/.", "~-_.!*'()", "a&b=c;d",
            "emoji 🎫", String(repeating: "k", count: 1_024), String(repeating: "空", count: 341),
        ])
    func `keys arrive unchanged`(_ key: String) async throws {
        let fixture = try S3Fixture()
        try await fixture.client.put(.data(bytes), to: key)
        #expect(fixture.store.object(key)?.content.bytes == bytes)
        #expect(try await fixture.client.head(key).size == 8)
    }

    @Test(arguments: ["", String(repeating: "k", count: 1_025)])
    func `invalid keys are refused before sending`(_ key: String) async throws {
        let fixture = try S3Fixture()
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: key) }
        #expect(error.code == .invalidKey)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test(arguments: ["ab", "A-b", "-ab", "ab-", "a_b", "a..b", ".ab", String(repeating: "b", count: 64)])
    func `invalid buckets are refused before sending`(_ bucket: String) async throws {
        let fixture = try S3Fixture()
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", in: bucket) }
        #expect(error.code == .invalidBucket)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test func `files, bytes, empty data and streams become objects`() async throws {
        let fixture = try S3Fixture()
        let content = SeededGenerator.pattern(300_000)
        try await fixture.client.put(.file(path: fixture.directory.write("file", content)), to: "file")
        try await fixture.client.put(.data([]), to: "empty")
        let chunks = AsyncStream<[UInt8]> { continuation in
            for start in stride(from: 0, to: 300_000, by: 50_000) {
                continuation.yield(Array(content[start..<start + 50_000]))
            }
            continuation.finish()
        }
        try await fixture.client.put(.stream(chunks, length: 300_000), to: "stream")
        #expect(fixture.store.object("file")?.content.bytes == content)
        #expect(fixture.store.object("empty")?.content.size == 0)
        #expect(fixture.store.object("stream")?.content.bytes == content)
        // Without TLS the signature covers the body, unless it can be read only once.
        let hashes = fixture.store.state.log.map { $0.value(of: "x-amz-content-sha256") }
        #expect(hashes[1] == MessageAuthentication.sha256Text(""))
        #expect(hashes[0]?.utf8.count == 64)
        #expect(hashes[2] == "UNSIGNED-PAYLOAD")
        let error = try await storeError {
            try await fixture.client.put(.stream(AsyncStream<[UInt8]> { $0.finish() }), to: "k")
        }
        #expect(error.code == .invalidArgument)
        #expect(fixture.store.state.log.count == 3)
    }

    @Test func `object options arrive in the store`() async throws {
        let fixture = try S3Fixture()
        var options = S3ObjectOptions()
        options.metadata = ["author": "alice", "note": "a  b"]
        options.acl = "private"
        options.storageClass = "STANDARD_IA"
        options.headers[.cacheControl] = "no-store"
        options.tags = ["a": "1 2"]
        options.encryption = "AES256"
        try await fixture.client.put(.data(bytes), to: "card.jpg", options: options)
        let fields = try #require(fixture.store.object("card.jpg")?.fields)
        #expect(fields["content-type"] == "image/jpeg")
        #expect(fields["x-amz-meta-author"] == "alice")
        #expect(fields["x-amz-acl"] == "private")
        #expect(fields["x-amz-storage-class"] == "STANDARD_IA")
        #expect(fields["x-amz-server-side-encryption"] == "AES256")
        #expect(fields["cache-control"] == "no-store")
        #expect(fields["x-amz-tagging"] == "a=1%202")
        let info = try await fixture.client.head("card.jpg")
        #expect(info.size == 8)
        #expect(info.metadata == ["author": "alice", "note": "a  b"])
        #expect(info.contentType == "image/jpeg")
        try await fixture.client.delete("card.jpg")
        try await fixture.client.delete("card.jpg")
        let gone = try await storeError { try await fixture.client.head("card.jpg") }
        #expect(gone.status == 404)
    }

    @Test(arguments: ["If-Match", "If-None-Match", "Content-MD5", "Content-Length", "x-amz-checksum-crc64nvme"])
    func `header fields of the client are refused in the options`(_ name: String) async throws {
        let fixture = try S3Fixture()
        var options = S3ObjectOptions()
        options.headers[try #require(HTTPField.Name(name))] = "1"
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", options: options) }
        #expect(error.code == .invalidArgument)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test(arguments: S3Checksum.allCases)
    func `a checksum is sent in advance and verified by the store`(_ checksum: S3Checksum) async throws {
        let fixture = try S3Fixture { configuration, _ in configuration.checksum = checksum }
        try await fixture.client.put(.data(bytes), to: "k")
        let entry = fixture.store.state.log[0]
        // Those of awscrt and hashlib.
        let names: [S3Checksum: String] = [
            .md5: "Content-MD5", .sha256: "x-amz-checksum-sha256", .crc32: "x-amz-checksum-crc32",
            .crc32C: "x-amz-checksum-crc32c", .crc64NVME: "x-amz-checksum-crc64nvme",
        ]
        for (kind, name) in names { #expect(entry.value(of: name) == (kind == checksum ? Self.known[kind] : nil)) }
        #expect(fixture.store.object("k")?.content.bytes == bytes)
    }

    private static let known: [S3Checksum: String] = [
        .md5: "tg2ZH6bb0zhjx87HDRXbrA==", .sha256: "8v8Ymk72hiMTAr7MJm5sjV7ugUuGjRFjH3ZgBz/JthM=", .crc32: "fJy43g==",
        .crc32C: "2UrQ/A==", .crc64NVME: "6639PdKKFc0=",
    ]

    @Test(arguments: S3Checksum.allCases)
    func `another checksum in the response fails the put after one more attempt`(_ checksum: S3Checksum) async throws {
        // A store whose ETag is no MD5, so that only the checksum is compared.
        var profile = S3Profile.aws
        profile.hasMD5ETags = checksum == .md5
        let fixture = try S3Fixture(profile) { configuration, _ in configuration.checksum = checksum }
        fixture.store.fail(.wrongChecksum, on: .putObject, times: 2)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.code == .checksumMismatch)
        #expect(fixture.count(.putObject) == 2)
    }

    @Test func `a checksum that the profile does not list is refused`() throws {
        let error = #expect(throws: StoreError.self) {
            _ = try S3Fixture(.r2) { configuration, _ in configuration.checksum = .crc32C }
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func `an object above the limit of the profile is refused before sending`() async throws {
        var profile = S3Profile.aws
        profile.maximumSinglePut = .bytes(7)
        let fixture = try S3Fixture(profile)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.code == .objectTooLarge)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test func `a presigned URL uploads an object without credentials`() async throws {
        let fixture = try S3Fixture()
        let request = S3RequestToSign(
            .put, "\(fixture.store.endpoint)/examplebucket/\(PercentEncoding.path("空 1+2.txt"))",
            headers: [.contentType: "text/plain"])
        let credentials = StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))
        let upload = try request.presignedUpload(with: credentials, region: "us-east-1", validFor: .seconds(60))
        _ = try await fixture.client.session.send(upload.request(.data(bytes)))
        #expect(fixture.store.object("空 1+2.txt")?.content.bytes == bytes)
        #expect(fixture.store.state.log.map(\.signature) == [.s3URL])
    }

    @Test func `a cancelled put fails as cancelled`() async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.stall(afterBodyBytes: 1), on: .putObject)
        let upload = fixture.client.startPut(.data(bytes), to: "k")
        try await fixture.store.waitUntil { $0.log.count == 1 && $0.log[0].bodyBytes == 1 }
        upload.cancel()
        let error = try await storeError { try await upload.value }
        #expect(error.isCancelled)
        #expect(fixture.store.object("k") == nil)
    }
}
