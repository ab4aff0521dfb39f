import Crypto
import FoundationEssentials
import TestSupport
import Testing
import WaybillJPEG
import WaybillStores

@Suite struct `Upload recipes` {
    private let folder = try! TemporaryDirectory()
    private static let uuid = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E")!
    private static let picture = TinyJPEG(
        width: 32, height: 24, components: [TinyJPEG.Component(identifier: 1) { x, y in (x * 7 + y * 3) % 256 }]
    ).encoded()

    @Test func `an image is compressed, and its key has the digest of the sent bytes`() async throws {
        var recipe = UploadRecipe.goods
        recipe.image = JPEGOptions(quality: 40, mode: .draft)
        let object = try await recipe.prepare(
            Self.picture, parameters: ["category": "shoes/men"], fileName: "Photo.PNG")
        guard case .bytes(let bytes) = object.source else {
            Issue.record("not in memory")
            return
        }
        let digest = SHA256.hash(data: bytes).map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
        #expect(object.key == "goods/shoes/men/\(digest.prefix(2))/\(digest).jpg")
        #expect(object.sha256 == digest)
        #expect(object.contentType == "image/jpeg")
        #expect(object.length == Int64(bytes.count))
        #expect(object.report?.bytes == bytes.count)
    }

    @Test func `a file without an image recipe is sent unchanged`() async throws {
        let path = try folder.write("report one.PDF", [1, 2, 3])
        let recipe = UploadRecipe("document", key: "docs/{md5}/{stem}{.ext}")
        let object = try await recipe.prepare(file: path)
        #expect(object.key == "docs/5289df737df57326fcdd22597afb1fac/report_one.pdf")
        #expect(object.contentType == "application/pdf")
        #expect(object.length == 3)
        guard case .file(path) = object.source else {
            Issue.record("not the file")
            return
        }
    }

    @Test func `each recipe has its own keys`() async throws {
        let kinds: [(UploadRecipe, String)] = [
            (.idCardFront, "idcards/77/front-"), (.idCardBack, "idcards/77/back-"), (.dated, "images/2026/11/21/"),
        ]
        for (kind, prefix) in kinds {
            var kind = kind
            kind.image?.mode = .draft
            let object = try await kind.prepare(
                Self.picture, parameters: ["businessNo": "77"], fileName: "x.jpeg",
                date: Date(timeIntervalSince1970: 1_795_280_649), uuid: Self.uuid)
            #expect(object.key == "\(prefix)0f8fad5b-d9cb-469f-a165-70867728950e.jpg")
            #expect(object.contentType == "image/jpeg")
        }
    }

    @Test func `a preparation error keeps the code of its cause and names the recipe`() async throws {
        let absent = await #expect(throws: StoreError.self) {
            try await UploadRecipe.idCardFront.prepare(file: folder.path("absent.jpg"), parameters: ["businessNo": "1"])
        }
        #expect(absent?.code == .init("fileNotFound"))
        #expect(absent?.message.hasPrefix("ID card, front: ") == true)
        let noPicture = await #expect(throws: StoreError.self) {
            try await UploadRecipe.idCardFront.prepare([1, 2, 3], parameters: ["businessNo": "1"])
        }
        #expect(noPicture?.code == .init("notAJPEG"))
        let noNumber = await #expect(throws: StoreError.self) {
            try await UploadRecipe.idCardFront.prepare(Self.picture)
        }
        #expect(noNumber?.code == .missingParameter)
    }
}
