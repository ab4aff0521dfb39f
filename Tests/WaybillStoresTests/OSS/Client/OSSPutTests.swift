import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `OSS objects in one request` {
    private let bytes = Array("hello oss".utf8)

    @Test(arguments: OSSSignatureVersion.allCases)
    func `the store accepts every endpoint form with both signature versions`(_ version: OSSSignatureVersion)
        async throws
    {
        var settings = OSSStoreSettings()
        let forms: [(String, (OSSStore) throws -> OSSEndpoint)] = [
            ("path", { try OSSEndpoint($0.endpoint) }),
            ("host", { try OSSEndpoint($0.namedEndpoint, excludedFromDomains: ["loopback.invalid"]) }),
            ("domain", { try OSSEndpoint("http://cdn.loopback.invalid:\($0.port)") }),
            ("prefix", { try OSSEndpoint($0.endpoint, keepsPath: true) }),
        ]
        for (name, endpoint) in forms {
            settings.pathPrefix = name == "prefix" ? "/gateway/oss" : ""
            let fixture = try OSSFixture(settings) { configuration, store in
                configuration.endpoint = try endpoint(store)
                configuration.signatureVersion = version
            }
            let stored = try await fixture.client.put(.data(bytes), to: "目录/a b+c.txt")
            #expect(stored.checksum == 15_021_467_531_229_347_219)
            #expect(fixture.store.object("目录/a b+c.txt")?.content.bytes == bytes, "\(name)")
            #expect(stored.url.hasSuffix("/%E7%9B%AE%E5%BD%95/a%20b%2Bc.txt"))
            #expect(stored.etag == "\"\(fixture.store.object("目录/a b+c.txt")?.etag ?? "")\"")
            #expect(fixture.store.complaints.isEmpty)
        }
    }

    @Test(
        arguments: [
            "a", "+ % # ? 空", "%41%2F", "a//b", "a/../b", "./a", "a/.", "~-_.!*'()", "a&b=c;d", "emoji 🎫",
            String(repeating: "k", count: 1_023), String(repeating: "空", count: 341),
        ])
    func `keys arrive unchanged`(_ key: String) async throws {
        let fixture = try OSSFixture()
        try await fixture.client.put(.data(bytes), to: key)
        #expect(fixture.store.object(key)?.content.bytes == bytes)
    }

    @Test(arguments: ["", "/a", "\\a", String(repeating: "k", count: 1_024)])
    func `invalid keys are refused before sending`(_ key: String) async throws {
        let fixture = try OSSFixture()
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: key) }
        #expect(error.code == .invalidKey)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test(arguments: ["ab", "A-b", "-ab", "ab-", "a_b", "a.b", String(repeating: "b", count: 64)])
    func `invalid buckets are refused before sending`(_ bucket: String) async throws {
        let fixture = try OSSFixture()
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", in: bucket) }
        #expect(error.code == .invalidBucket)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test func `files, bytes, empty data and streams become objects`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        try await fixture.client.put(.file(path: file.path), to: "file")
        try await fixture.client.put(.data([]), to: "empty")
        let chunks = AsyncStream<[UInt8]> { continuation in
            for start in stride(from: 0, to: 300_000, by: 50_000) {
                continuation.yield(Array(file.bytes[start..<start + 50_000]))
            }
            continuation.finish()
        }
        let streamed = try await fixture.client.put(.stream(chunks, length: 300_000), to: "stream")
        #expect(fixture.store.object("file")?.content.bytes == file.bytes)
        #expect(fixture.store.object("empty")?.content.size == 0)
        #expect(fixture.store.object("stream")?.content.bytes == file.bytes)
        #expect(streamed.checksum == CRC(.ecma, of: file.bytes).value)
    }

    @Test func `object options arrive in the store`() async throws {
        let fixture = try OSSFixture()
        var options = OSSObjectOptions()
        options.metadata = ["author": "alice"]
        options.metadataPolicy = .percentEncode
        options.access = .private
        options.storageClass = .infrequentAccess
        options.headers[.cacheControl] = "no-store"
        options.tags = ["a": "1 2"]
        options.trafficLimit = 819_200
        try await fixture.client.put(.data(bytes), to: "card.jpg", options: options)
        let fields = try #require(fixture.store.object("card.jpg")?.fields)
        #expect(fields["content-type"] == "image/jpeg")
        #expect(fields["x-oss-meta-author"] == "alice")
        #expect(fields["x-oss-object-acl"] == "private")
        #expect(fields["x-oss-storage-class"] == "IA")
        #expect(fields["cache-control"] == "no-store")
        #expect(fields["x-oss-tagging"] == "a=1%202")
        let info = try await fixture.client.head("card.jpg")
        #expect(info.size == 9)
        #expect(info.checksum == 15_021_467_531_229_347_219)
        #expect(info.metadata == ["author": "alice"])
        #expect(info.contentType == "image/jpeg")
        try await fixture.client.delete("card.jpg")
        try await fixture.client.delete("card.jpg")
        let gone = try await storeError { try await fixture.client.head("card.jpg") }
        #expect(gone.status == 404)
        #expect(gone.storeCode == "NoSuchKey")
    }

    @Test func `forbidsOverwrite keeps the existing object, and the rejection is not retried`() async throws {
        let fixture = try OSSFixture()
        fixture.store.put("k", [1])
        var options = OSSObjectOptions()
        options.forbidsOverwrite = true
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", options: options) }
        #expect(error.code == .rejected)
        #expect(error.storeCode == "FileAlreadyExists")
        #expect(error.detailCode == "0026-00000058")
        #expect(error.requestID?.hasPrefix("5C3D") == true)
        #expect(fixture.count(.putObject) == 1)
    }

    @Test func `a callback is executed, and its response is part of the result`() async throws {
        let fixture = try OSSFixture()
        var options = OSSObjectOptions()
        var callback = OSSCallback(["http://app.example/stored"], body: "key=${object}&order=${x:order}")
        callback.variables = ["order": "7 8"]
        options.callback = callback
        let stored = try await fixture.client.put(.data(bytes), to: "k", options: options)
        #expect(stored.callbackResponse == Array(#"{"Status":"OK"}"#.utf8))
        #expect(fixture.store.object("k")?.callback == "key=k&order=7%208")
        #expect(!stored.etag.isEmpty)
    }

    @Test func `a failed callback is reported with the object stored, and nothing is sent again`() async throws {
        let fixture = try OSSFixture()
        fixture.store.fail(.callbackFailed, on: .putObject)
        var options = OSSObjectOptions()
        options.callback = OSSCallback(["http://app.example"], body: "${object}")
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", options: options) }
        #expect(error.code == .storedButCallbackFailed)
        #expect(error.isStored)
        #expect(error.storeCode == "CallbackFailed")
        #expect(fixture.store.object("k")?.timesStored == 1)
        #expect(fixture.store.state.log.count == 1)
    }

    @Test func `a custom body is sent with progress and a handle`() async throws {
        let fixture = try OSSFixture()
        let upload = fixture.client.startPut(.body(DataBody(bytes)), to: "k")
        var last: ObjectProgress?
        for await progress in upload.progress { last = progress }
        #expect(last?.phase == .succeeded)
        #expect(last?.acknowledged == 9)
        #expect(last?.fraction == 1)
        #expect(try await upload.value.key == "k")
        upload.pause()
        #expect(!upload.isPaused)
    }

    @Test func `a cancelled put fails as cancelled`() async throws {
        let fixture = try OSSFixture()
        fixture.store.fail(.stall(afterBodyBytes: 1), on: .putObject)
        let upload = fixture.client.startPut(.data(bytes), to: "k")
        try await fixture.store.waitUntil { $0.log.count == 1 && $0.log[0].bodyBytes == 1 }
        upload.cancel()
        let error = try await storeError { try await upload.value }
        #expect(error.isCancelled)
        #expect(upload.currentProgress.phase == .cancelled)
        #expect(fixture.store.object("k") == nil)
    }

    @Test func `a missing file or a directory fails before any request is sent`() async throws {
        let fixture = try OSSFixture()
        let missing = try await storeError { try await fixture.client.put(.file(path: "/no/such"), to: "k") }
        #expect(missing.code == .fileNotFound)
        let folder = try await storeError { try await fixture.client.put(.file(path: "/tmp"), to: "k") }
        #expect(folder.code == .notARegularFile)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test func `appends continue at the next position`() async throws {
        let fixture = try OSSFixture()
        let first = try await fixture.client.append(.data(bytes), to: "log", at: 0)
        #expect(first.nextPosition == 9)
        let second = try await fixture.client.append(
            .data(bytes), to: "log", at: first.nextPosition ?? 0, continuing: first.checksum)
        #expect(second.nextPosition == 18)
        #expect(second.checksum == CRC(.ecma, of: bytes + bytes).value)
        #expect(fixture.store.object("log")?.content.bytes == bytes + bytes)
        let error = try await storeError { try await fixture.client.append(.data(bytes), to: "log", at: 9) }
        #expect(error.storeCode == "PositionNotEqualToLength")
        fixture.store.fail(.storeThenDrop, on: .appendObject)
        let third = try await fixture.client.append(.data(bytes), to: "log", at: 18, continuing: second.checksum)
        #expect(third.wasFoundStored)
        #expect(fixture.store.object("log")?.content.size == 27)
        fixture.store.fail(.storeThenDrop, on: .appendObject)
        let blind = try await storeError { try await fixture.client.append(.data(bytes), to: "log", at: 27) }
        #expect(blind.outcome == .unknown)
        #expect(fixture.store.object("log")?.content.size == 36)
    }
}
