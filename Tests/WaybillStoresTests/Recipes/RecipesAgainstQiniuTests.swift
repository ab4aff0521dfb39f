import TestSupport
import Testing
import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `Image recipes with Qiniu` {
    private static let picture = TinyJPEG(
        width: 40, height: 30, components: [TinyJPEG.Component(identifier: 1) { x, y in (x * 3 + y * 11) % 256 }]
    ).encoded()

    @Test func `a side of a card has its own key and a URL on the public domain`() async throws {
        let fixture = try QiniuFixture()
        let path = try fixture.folder.get().write("IMG 1.jpeg", Self.picture)
        let client = fixture.client { $0.publicDomain = "https://img.example.com/" }
        let stored = try await client.upload(.idCardBack, file: path, parameters: ["businessNo": "号 7"])
        let key = try #require(stored.key)
        #expect(key.hasPrefix("idcards/号 7/back-") && key.hasSuffix(".jpg"))
        let encoded = "https://img.example.com/idcards/%E5%8F%B7%207/back-"
        #expect(stored.url?.hasPrefix(encoded) == true, "\(stored)")
        #expect(stored.isHashChecked)
        #expect(fixture.store.object(key) != nil)
    }

    @Test func `a file without an image recipe is sent unchanged`() async throws {
        let fixture = try QiniuFixture()
        let file = try fixture.file(600 << 10, "film.mp4")
        let recipe = UploadRecipe("film", key: "films/{md5}{.ext}")
        let stored = try await fixture.client().upload(recipe, file: file.path)
        #expect(stored.key?.hasSuffix(".mp4") == true)
        #expect(stored.url == nil)
    }
}
