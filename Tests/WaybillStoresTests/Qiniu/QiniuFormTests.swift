import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(1 * Slowness.factor))) struct QiniuFormTests {
    @Test func `a form has the token first, then checksum and other fields, and the file last`() async throws {
        let fixture = try QiniuFixture()
        let bytes = QiniuFixture.bytes(100_000)
        var options = QiniuPutOptions()
        options.variables = ["order": "7\n8", "x:side": "front"]
        options.metadata = ["author": "空", "x-qn-meta-b": ""]
        options.formFields = ["cacheControl": "max-age=60"]
        let object = try await fixture.client().upload(
            .data(bytes, fileName: "front.jpg"), to: "cards/front.jpg", options: options)
        #expect(object.key == "cards/front.jpg" && object.hash == QiniuEtag(of: bytes).value && object.isHashChecked)
        #expect(object.requestID == "reqid-0" && object.host == fixture.store.url())
        let stored = try #require(fixture.store.object("cards/front.jpg"))
        #expect(stored.content.size == 100_000 && stored.content.etag == object.hash)
        #expect(stored.type == "image/jpeg" && stored.fileName == "front.jpg")
        #expect(stored.fields["crc32"] == "\(CRC(.zlib, of: bytes).value)")
        #expect(stored.variables == ["x:order": "7\n8", "x:side": "front"])
        #expect(stored.metadata == ["x-qn-meta-author": "空", "x-qn-meta-b": ""])
        #expect(stored.fields["cacheControl"] == "max-age=60")
        #expect(fixture.store.complaints.isEmpty)
    }

    @Test func `a missing, an empty and any other key are distinct`() async throws {
        let fixture = try QiniuFixture()
        let client = fixture.client(
            tokens: .keys(QiniuFixture.keys) { _, now in
                QiniuPutPolicy(scope: .bucket("photos"), deadline: now.addingTimeInterval(60))
            })
        let bytes = Array("hello".utf8)
        let unnamed = try await client.upload(.data(bytes), to: nil)
        #expect(unnamed.key == QiniuEtag(of: bytes).value)
        #expect(fixture.store.object(QiniuEtag(of: bytes).value)?.fields["key"] == nil)
        let empty = try await client.upload(.data(bytes), to: "")
        #expect(empty.key == "" && fixture.store.object("")?.fields["key"] == "")
        for key in ["a/空 +%?#&=", "../..//x", "e\u{301}", String(repeating: "k", count: 749), "tab\tline\n"] {
            #expect(try await client.upload(.data(bytes), to: key).key == key)
            #expect(fixture.store.object(key)?.content.size == 5)
        }
    }

    @Test func `invalid uploads are refused before sending`() async throws {
        let fixture = try QiniuFixture()
        let past = Date(timeIntervalSinceNow: -10)
        let expired = try QiniuFixture.keys.uploadToken(
            for: QiniuPutPolicy(scope: .bucket("photos"), deadline: past), at: past.addingTimeInterval(-10))
        var limited = QiniuPutPolicy(scope: .key("k", bucket: "photos"), deadline: .now + 60)
        limited.fileSizeLimit = 4
        let small = try QiniuFixture.keys.uploadToken(for: limited)
        var named = QiniuPutOptions()
        named.variables = ["a b": ""]
        var reserved = QiniuPutOptions()
        reserved.formFields = ["token": "x"]
        let data = QiniuSource.data(Array("hello".utf8))
        let plain = fixture.client()
        let cases: [(StoreError.Code, () async throws(StoreError) -> QiniuObject)] = [
            (
                .invalidArgument,
                { () async throws(StoreError) in
                    try await plain.upload(data, to: String(repeating: "空", count: 250))
                }
            ),
            (.invalidArgument, { () async throws(StoreError) in try await plain.upload(data, to: "a\0b") }),
            (
                .invalidArgument,
                { () async throws(StoreError) in try await plain.upload(data, to: "k", options: named) }
            ),
            (
                .invalidArgument,
                { () async throws(StoreError) in
                    try await plain.upload(data, to: "k", options: reserved)
                }
            ),
            (
                .uploadTokenExpired,
                { () async throws(StoreError) in
                    try await fixture.client(tokens: .given(expired)).upload(data, to: "k")
                }
            ),
            (
                .sizeNotAllowed,
                { () async throws(StoreError) in
                    try await fixture.client(tokens: .given(small)).upload(data, to: "k")
                }
            ),
            (
                .uploadTokenDoesNotCover,
                { () async throws(StoreError) in
                    try await fixture.client(tokens: .given(small)).upload(.data([]), to: "other")
                }
            ),
            (
                .fileNotFound,
                { () async throws(StoreError) in
                    try await plain.upload(.file(path: "/nowhere/at/all"), to: "k")
                }
            ),
            (
                .notARegularFile,
                { () async throws(StoreError) in
                    try await plain.upload(.file(path: "/dev/null"), to: "k")
                }
            ),
            (
                .encryptionRequired,
                { () async throws(StoreError) in
                    try await fixture.client { $0.transfer.tls.insecureSkipVerification = true }.upload(data, to: "k")
                }
            ),
            (
                .regionUnknown,
                { () async throws(StoreError) in
                    try await fixture.client { $0.hosts = .fixed([]) }.upload(data, to: "k")
                }
            ),
        ]
        for (code, work) in cases {
            let error = await QiniuFixture.failure(work)
            #expect(error?.code == code, "\(error.map { "\($0)" } ?? "stored")")
        }
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test func `the response defined by the policy is returned`() async throws {
        let fixture = try QiniuFixture()
        let client = fixture.client(
            tokens: .keys(QiniuFixture.keys) { request, now in
                var policy = QiniuPutPolicy(scope: .bucket("photos"), deadline: now.addingTimeInterval(60))
                policy.saveKey = "cards/$(fname)"
                policy.returnBody = #"{"name":$(key),"bytes":$(fsize),"order":$(x:order)}"#
                return policy
            })
        struct Receipt: Decodable, Equatable {
            var name: String
            var bytes: Int
            var order: String
        }
        var options = QiniuPutOptions()
        options.variables = ["order": "A-\"7\""]
        let object = try await client.upload(.data([1, 2, 3], fileName: "f.jpg"), to: nil, options: options)
        #expect(try object.decode(Receipt.self) == Receipt(name: "cards/f.jpg", bytes: 3, order: "A-\"7\""))
        #expect(object.hash == nil && !object.isHashChecked)
        #expect(fixture.store.object("cards/f.jpg") != nil)
    }

    @Test func `a prepared source is sent under its new name`() async throws {
        struct Made: PartPreparing {
            func prepare() async throws -> PreparedPart {
                PreparedPart(content: .bytes([9, 9]), contentType: "image/jpeg", fileName: "made.jpg")
            }
        }
        struct Broken: PartPreparing {
            struct Failure: Error {}
            func prepare() async throws -> PreparedPart { throw Failure() }
        }
        let fixture = try QiniuFixture()
        _ = try await fixture.client().upload(.preparing(Made(), fileName: "raw.png"), to: "k")
        #expect(fixture.store.object("k")?.fileName == "made.jpg" && fixture.store.object("k")?.type == "image/jpeg")
        #expect(fixture.store.object("k")?.content.bytes == [9, 9])
        let error = await QiniuFixture.failure { () async throws(StoreError) in
            try await fixture.client().upload(.preparing(Broken()), to: "k")
        }
        #expect(error?.code == StoreError.Code("preparationFailed"))
    }

    @Test func `a photo is compressed before it is sent`() async throws {
        let fixture = try QiniuFixture()
        let photo = TinyJPEG(
            width: 64, height: 48, components: [TinyJPEG.Component(identifier: 1) { x, y in (x * 3 + y) & 255 }])
        let path = try fixture.folder.get().write("photo.png", photo.encoded())
        let object = try await fixture.client().upload(.image(path: path, .maxBytes(.kibibytes(100))), to: "photo.jpg")
        let stored = try #require(fixture.store.object("photo.jpg"))
        #expect(stored.fileName == "photo.jpg" && stored.type == "image/jpeg" && stored.hash == object.hash)
    }

    @Test func `progress covers the whole object and ends with all bytes`() async throws {
        let fixture = try QiniuFixture()
        let seen = Locked<[ObjectProgress]>([])
        let upload = fixture.client().startUpload(.data(QiniuFixture.bytes(200_000)), to: "k")
        for await progress in upload.progress { seen.withLock { $0.append(progress) } }
        _ = try await upload.value
        let all = seen.withLock { $0 }
        #expect(all.last?.phase == .succeeded && all.last?.acknowledged == 200_000 && all.last?.total == 200_000)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.acknowledged <= $1.acknowledged })
    }
}
