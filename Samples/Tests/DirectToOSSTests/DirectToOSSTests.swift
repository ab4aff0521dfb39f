import CardArtist
import DirectKit
import Foundation
import LittleStore
import Testing
import WaybillStores

@Suite(.timeLimit(.minutes(2))) struct DirectToOSSTests {
    private func photo() async throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "waybill-\(UUID().uuidString).jpg").path
        try Data(await CardArtist.photo(of: .front, width: 1_000)).write(to: URL(filePath: path))
        return path
    }

    @Test func `keys are fetched once for all uploads`() async throws {
        let keys = KeyRing()
        let store = try await LittleStore(keys: keys)
        let tokens = try await TokenServer(keys: keys)
        let app = try App(tokens: tokens.url, endpoint: store.endpoint, bucket: "cards")
        let path = try await photo()

        let small = try await app.upload(photo: path, to: "7/照片 1.jpg")
        let whole = try await app.upload(file: path, to: "7/original.jpg")
        #expect(small.url == "\(store.endpoint)/cards/7/%E7%85%A7%E7%89%87%201.jpg")
        #expect(whole.checksum != nil)
        let stored = await store.contents
        #expect(stored["cards/7/original.jpg"]?.bytes == Array(try Data(contentsOf: URL(filePath: path))))
        let image = try #require(stored["cards/7/照片 1.jpg"])
        #expect(image.contentType == "image/jpeg")
        #expect(image.bytes.starts(with: [0xff, 0xd8]) && image.bytes.count <= 102_400)
        #expect(await tokens.requestCount == 1)
        try FileManager.default.removeItem(atPath: path)
        await app.close()
        await tokens.stop()
        await store.stop()
    }

    @Test func `each recipe has its own key prefix and size limit`() async throws {
        let keys = KeyRing()
        let store = try await LittleStore(keys: keys)
        let tokens = try await TokenServer(keys: keys)
        let app = try App(tokens: tokens.url, endpoint: store.endpoint, bucket: "cards")
        let path = try await photo()
        let recipes: [(UploadRecipe, String, Int)] = [
            (.idCardFront, "idcards/77/front-", 102_400), (.idCardBack, "idcards/77/back-", 102_400),
            (.idCardHandHeld, "idcards/77/handheld-", 204_800), (.ticket, "tickets/77/", 307_200),
            (.goods, "goods/shoes/", 204_800),
        ]
        for (recipe, prefix, limit) in recipes {
            var recipe = recipe
            recipe.image?.mode = .draft
            let stored = try await app.upload(
                recipe, photo: path, parameters: ["businessNo": "77", "category": "shoes"])
            #expect(stored.key.hasPrefix(prefix) && stored.key.hasSuffix(".jpg"))
            let image = try #require(await store.contents["cards/\(stored.key)"])
            #expect(image.contentType == "image/jpeg" && image.bytes.count <= limit)
        }
        try FileManager.default.removeItem(atPath: path)
        await app.close()
        await tokens.stop()
        await store.stop()
    }

    @Test func `keys of another account are rejected`() async throws {
        let store = try await LittleStore(keys: KeyRing())
        let tokens = try await TokenServer(keys: KeyRing())
        let app = try App(tokens: tokens.url, endpoint: store.endpoint, bucket: "cards")
        let path = try await photo()
        let error = await #expect(throws: StoreError.self) { _ = try await app.upload(file: path, to: "a.jpg") }
        // Rejected keys are fetched again only if they are not fresh: otherwise the client would fetch endlessly. On a
        // slow machine they may be old enough for one more request.
        let requestCount = await tokens.requestCount
        #expect((1...2).contains(requestCount))
        #expect(error?.code == (requestCount == 1 ? .credentialsRejected : .rejected))
        #expect(await store.contents.isEmpty)
        try FileManager.default.removeItem(atPath: path)
        await app.close()
        await tokens.stop()
        await store.stop()
    }
}
