import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

/// Files that a store has already are not sent.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct SkipSameTests {
    private let same = Array("contents".utf8)
    private let other = Array("CONTENTS".utf8)

    private var multipart: OSSMultipartOptions {
        var multipart = OSSMultipartOptions()
        multipart.skipsSame = true
        return multipart
    }

    @Test func `OSS compares the size and the CRC-64`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.singleRequestLimit = .mebibytes(1) }
        let path = try fixture.directory.write("a", same)
        for (key, bytes) in [("same", same), ("other", other), ("shorter", [1, 2])] { fixture.store.put(key, bytes) }
        var skipped: [Bool] = []
        for key in ["same", "other", "shorter", "missing"] {
            let stored = try await fixture.client.upload(file: path, to: key, multipart: multipart)
            #expect(stored.checksum == fixture.store.object(key)?.content.crc64)
            #expect(fixture.store.object(key)?.content.bytes == same)
            skipped.append(stored.wasSkipped)
        }
        #expect(skipped == [true, false, false, false])
        #expect(fixture.store.state.log(.headObject).count == 4 && fixture.store.state.log(.putObject).count == 3)
    }

    @Test func `S3 compares the size and the MD5 of an object in one request`() async throws {
        let fixture = try S3Fixture()
        let path = try fixture.directory.write("a", same)
        for (key, bytes) in [("same", same), ("other", other), ("shorter", [1, 2])] { fixture.store.put(key, bytes) }
        var skipped: [Bool] = []
        for key in ["same", "other", "shorter", "missing"] {
            let stored = try await fixture.client.upload(file: path, to: key, multipart: multipart)
            #expect(stored.etag == "\"\(fixture.store.object(key)?.etag ?? "")\"")
            #expect(fixture.store.object(key)?.content.bytes == same)
            skipped.append(stored.wasSkipped)
        }
        #expect(skipped == [true, false, false, false])
        #expect(fixture.count(.headObject) == 4 && fixture.count(.putObject) == 3)
    }

    @Test func `S3 sends an object in parts again, because its ETag is not comparable`() async throws {
        let fixture = try S3Fixture { configuration, _ in
            configuration.singleRequestLimit = .bytes(1_000)
            configuration.profile.minimumPartSize = .bytes(1_000)
            configuration.partSize = .kibibytes(100)
        }
        let path = try fixture.directory.writeSparse("a", size: 150_000)
        for _ in 0..<2 {
            #expect(try await !fixture.client.upload(file: path, to: "k", multipart: multipart).wasSkipped)
        }
        #expect(fixture.count(.complete) == 2)
    }

    @Test func `S3 compares a SHA-256 of the whole object if the ETag is not an MD5`() async throws {
        var profile = S3Profile.aws
        profile.hasMD5ETags = false
        let fixture = try S3Fixture(profile) { configuration, _ in configuration.checksum = .sha256 }
        let path = try fixture.directory.write("a", same)
        #expect(try await !fixture.client.upload(file: path, to: "k", multipart: multipart).wasSkipped)
        #expect(try await fixture.client.upload(file: path, to: "k", multipart: multipart).wasSkipped)
        try fixture.directory.write("a", other)
        #expect(try await !fixture.client.upload(file: path, to: "k", multipart: multipart).wasSkipped)
        #expect(fixture.store.object("k")?.content.bytes == other)
    }

    @Test(arguments: [400, 403, 404]) func `a rejected query sends the object`(_ status: Int) async throws {
        let fixture = try S3Fixture()
        let path = try fixture.directory.write("a", same)
        fixture.store.put("k", same)
        fixture.store.fail(.refused(status: status, code: "AccessDenied"), on: .headObject)
        #expect(try await !fixture.client.upload(file: path, to: "k", multipart: multipart).wasSkipped)
        #expect(fixture.store.object("k")?.timesStored == 2)
    }

    @Test func `the query has the key of the client for the encryption`() async throws {
        let fixture = try S3Fixture()
        let path = try fixture.directory.write("a", same)
        var options = S3ObjectOptions()
        let name = HTTPField.Name("x-amz-server-side-encryption-customer-algorithm")!
        options.headers = [name: "AES256", .cacheControl: "no-cache"]
        try await fixture.client.upload(file: path, to: "k", options: options, multipart: multipart)
        let query = try #require(fixture.store.state.log(.headObject).first)
        #expect(query.value(of: name.rawName) == "AES256" && query.value(of: "Cache-Control") == nil)
    }

    @Test func `another failure of the query sends nothing`() async throws {
        let fixture = try S3Fixture()
        let path = try fixture.directory.write("a", same)
        fixture.store.fail(.refused(status: 405, code: "MethodNotAllowed"), on: .headObject)
        let error = try await storeError {
            try await fixture.client.upload(file: path, to: "k", multipart: multipart)
        }
        #expect(error.status == 405)
        #expect(fixture.store.object("k") == nil)
    }

    @Test func `a query without a response sends nothing, and its error says so`() async throws {
        let fixture = try S3Fixture()
        let path = try fixture.directory.write("a", same)
        fixture.store.put("k", other)
        fixture.store.fail(.storeThenDrop, on: .headObject, times: nil)
        let error = try await storeError {
            try await fixture.client.upload(file: path, to: "k", multipart: multipart)
        }
        #expect(error.outcome == .notSent)
        #expect(fixture.store.object("k")?.content.bytes == other)
    }

    @Test func `Qiniu compares the size and its hash`() async throws {
        let (store, folder) = (try QiniuStore(), try TemporaryDirectory())
        let path = try folder.write("a", same)
        for (key, bytes) in [("same", same), ("other", other), ("shorter", [1, 2])] { store.put(key, bytes) }
        var options = QiniuPutOptions()
        options.skipsSame = true
        let client = Self.client(store, .keys(QiniuKeys(accessKey: "ak", secretKey: .secret("sk")), bucket: "photos"))
        var skipped: [Bool] = []
        for key in ["same", "other", "shorter", "missing"] {
            let object = try await client.upload(.file(path: path), to: key, options: options)
            #expect(object.hash == store.object(key)?.hash && object.isHashChecked)
            #expect(store.object(key)?.content.bytes == same)
            skipped.append(object.wasSkipped)
        }
        #expect(skipped == [true, false, false, false])
        #expect(store.state.log(.stat).count == 4 && store.state.log(.form).count == 3)
    }

    @Test func `Qiniu needs keys for the query, and reports a wrong one`() async throws {
        let (store, folder) = (try QiniuStore(), try TemporaryDirectory())
        let path = try folder.write("a", same)
        var options = QiniuPutOptions()
        options.skipsSame = true
        let keys = QiniuKeys(accessKey: "ak", secretKey: .secret("sk"))
        let token = try keys.uploadToken(
            for: QiniuPutPolicy(scope: .bucket("photos"), deadline: .now.addingTimeInterval(600)), at: .now)
        let error = try await storeError {
            try await Self.client(store, .given(token)).upload(.file(path: path), to: "k", options: options)
        }
        #expect(error.code == .invalidArgument)
        #expect(store.state.log.isEmpty)
        let wrong = QiniuTokens.keys(QiniuKeys(accessKey: "ak", secretKey: .secret("no")), bucket: "photos")
        let refused = try await storeError {
            try await Self.client(store, wrong).upload(.file(path: path), to: "k", options: options)
        }
        #expect(refused.status == 401 && store.state.log(.form).isEmpty)
    }

    private static func client(_ store: QiniuStore, _ tokens: QiniuTokens) -> QiniuClient {
        var configuration = QiniuClient.Configuration()
        configuration.hosts = .fixed([store.url()])
        configuration.resourceHost = store.url()
        configuration.records = nil
        return QiniuClient(tokens: tokens, configuration: configuration, session: UploadSession())
    }

    @Test func `a batch skips items, and counts them as succeeded`() async throws {
        let fixture = try S3Fixture()
        let path = try fixture.directory.write("a", same)
        fixture.store.put("0", same)
        let multipart = multipart
        let batch = fixture.client.startBatch(of: ["0", "1"]) { key in
            S3BatchWork(.file(path: path), to: key, multipart: multipart)
        }
        var skipped: [String: Bool] = [:]
        for await result in batch.results { skipped[result.item] = try result.result.get().wasSkipped }
        #expect(skipped == ["0": true, "1": false])
        #expect(fixture.count(.putObject) == 1)
    }
}
