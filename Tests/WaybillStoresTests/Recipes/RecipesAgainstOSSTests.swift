import TestSupport
import Testing
import Waybill
import WaybillJPEG
import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `Image recipes with OSS` {
    private let store = try! OSSStore()
    private let folder = try! TemporaryDirectory()
    private static let picture = TinyJPEG(
        width: 40, height: 30, components: [TinyJPEG.Component(identifier: 1) { x, y in (x * 5 + y * 9) % 256 }]
    ).encoded()

    private func client() throws -> AliyunOSSClient {
        var configuration = AliyunOSSClient.Configuration(
            endpoint: try OSSEndpoint(store.endpoint), bucket: "examplebucket")
        configuration.region = "cn-hangzhou"
        configuration.allowsUnencrypted = true
        configuration.records = RecordDirectory(path: folder.path("records"))
        configuration.publicEndpoint = try OSSEndpoint("https://img.example.com")
        return try AliyunOSSClient(
            configuration: configuration,
            credentials: .fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))))
    }

    @Test func `both sides of a card have their own keys and a URL on the public domain`() async throws {
        let path = try folder.write("IMG 1.jpeg", Self.picture)
        let client = try client()
        var urls: [String] = []
        for kind in [UploadRecipe.idCardFront, .idCardBack] {
            var kind = kind
            kind.metadata = ["side": kind.name]
            var options = OSSObjectOptions()
            options.metadata["clerk"] = "7"
            let stored = try await client.upload(
                kind, file: path, parameters: ["businessNo": "20240117001"], options: options)
            let object = try #require(store.object(stored.key))
            #expect(stored.url == "https://img.example.com/\(stored.key)")
            #expect(object.content.crc64 == stored.checksum)
            urls.append(stored.url)
        }
        #expect(urls[0].hasPrefix("https://img.example.com/idcards/20240117001/front-"))
        #expect(urls[1].hasPrefix("https://img.example.com/idcards/20240117001/back-"))
        #expect(urls.allSatisfy { $0.hasSuffix(".jpg") })
    }

    @Test func `a key with a digest is the same for each upload`() async throws {
        let client = try client()
        let object = try await UploadRecipe.goods.prepare(Self.picture, parameters: ["category": "a/b"])
        let first = try await client.startUpload(object).value
        let second = try await client.startUpload(object).value
        #expect(first.key == second.key && first.key == object.key)
        #expect(store.object(first.key)?.timesStored == 2)
    }

    @Test func `an image that can't be compressed is not sent`() async throws {
        let path = try folder.write("no.jpg", [1, 2, 3])
        let client = try client()
        let error = await #expect(throws: StoreError.self) {
            try await client.upload(.idCardFront, file: path, parameters: ["businessNo": "1"])
        }
        #expect(error?.code == .init("notAJPEG"))
        #expect(store.state.log.isEmpty)
    }

    @Test func `a file without an image recipe is sent unchanged`() async throws {
        let path = try folder.write("report.pdf", Array(repeating: UInt8(7), count: 1_000))
        let stored = try await client().upload(
            UploadRecipe("document", key: "docs/{sha256:8}{.ext}"), file: path)
        let object = try #require(store.object(stored.key))
        #expect(stored.key.hasSuffix(".pdf"))
        #expect(object.content.size == 1_000)
    }
}
