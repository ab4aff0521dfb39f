import TestSupport
import FoundationEssentials
import Testing
import WaybillCore
import WaybillJPEG
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ImagePartTests {
    @Test(arguments: [
        ("front.jpg", "front.jpg"), ("front.JPEG", "front.JPEG"), ("front.png", "front.jpg"),
        ("front.tar.heic", "front.tar.jpg"), ("front", "front.jpg"), (".hidden", ".hidden.jpg"), ("正面.bmp", "正面.jpg"),
    ])
    func `the file name of an image gets a JPEG extension`(name: String, fitting: String) {
        #expect(ImagePreparing.name(name, for: .jpeg) == fitting)
        let part = MultipartPart.image("FILE", data: [], fileName: name, .maxBytes(.kibibytes(100)))
        #expect(part.fileName == fitting)
        #expect(part.contentType == "image/jpeg")
    }

    @Test func `the default file name is the last path component or image.jpg`() throws {
        #expect(MultipartPart.image("F", path: "/cards/front.png", .maxBytes(.kibibytes(9))).fileName == "front.jpg")
        let url = URL(filePath: "/cards/front side.jpeg")
        #expect(MultipartPart.image("F", url: url, .maxBytes(.kibibytes(9))).fileName == "front side.jpeg")
        #expect(MultipartPart.image("F", data: [], .maxBytes(.kibibytes(9))).fileName == "image.jpg")
    }

    @Test func `a part that is not a JPEG fails before a byte is sent`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let form: MultipartForm = [
            .text("DOCTYPE", "ID"), .image("FILE", data: Array("not a photo".utf8), .maxBytes(.kibibytes(100))),
        ]
        let error = try #require(await world.session.start(form, to: SessionWorld.url).error())
        #expect(error.code == .notAJPEG)
        #expect(error.part == "FILE")
        #expect(error.phase == .preparing)
        #expect(error.outcome == .notSent)
        #expect(world.transport.transfers.isEmpty)
    }

    @Test func `a PNG is sent as a JPEG`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.png", TinyPNG(16, 8, .rgba) { x, y in [x, y, x * y, 255] }.encoded())
        let part = MultipartPart.image("FILE", path: path, .maxBytes(.kibibytes(100)))
        #expect(part.fileName == "card.jpg" && part.contentType == "image/jpeg")
        _ = try await world.session.start([part], to: SessionWorld.url).response
        let body = try #require(world.transport.transfers.first).body
        #expect(body.contains([0xFF, 0xD8, 0xFF]))
    }

    @Test(arguments: [("card.png", "card.png"), ("card.PNG", "card.PNG"), ("card", "card.png"), ("a.jpg", "a.png")])
    func `a PNG that is kept has its content type and extension`(name: String, sent: String) async throws {
        let png = TinyPNG(16, 8, .rgba) { x, y in [x, y, x * y, 255] }.encoded()
        let options = JPEGOptions(maxBytes: .kibibytes(100), keepsFormat: true)
        guard case .preparing(let preparation) = MultipartPart.image("F", data: png, fileName: name, options).content
        else {
            Issue.record("an image is prepared")
            return
        }
        let part = try await preparation.prepare()
        guard case .bytes(png) = part.content else {
            Issue.record("the bytes differ")
            return
        }
        #expect(part.contentType == "image/png" && part.fileName == sent)
    }

    @Test func `the report of an image is delivered once across retries`() async throws {
        let world = SessionWorld([.breaking(after: 30), .responding(.ok)])
        let grey = TinyJPEG.Component(identifier: 1) { x, y in (x * y) % 256 }
        let photo = TinyJPEG(width: 16, height: 8, components: [grey]).encoded()
        let reports = Locked<[JPEGReport]>([])
        let form: MultipartForm = [
            .image("FILE", data: photo, .maxBytes(.kibibytes(100))) { report in reports.withLock { $0.append(report) } }
        ]
        let task = world.session.start(form, to: SessionWorld.url)
        await world.clock.sleepers(atLeast: 1)
        world.clock.advance(by: .seconds(1))
        #expect(try await task.response.attempts.count == 2)
        #expect(reports.withLock { $0.map(\.originalBytes) } == [photo.count])
        #expect(reports.withLock { $0.map(\.width) } == [16])
    }

    @Test func `an image URL that is not a file URL is refused, without its secrets`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let url = try #require(URL(string: "https://host.example/card.jpg?sign=s3cr3t"))
        let form: MultipartForm = [.image("FILE", url: url, .maxBytes(.kibibytes(100)))]
        let error = try #require(await world.session.start(form, to: SessionWorld.url).error())
        #expect(error.code == .invalidRequest)
        #expect(error.part == "FILE")
        #expect(!String(reflecting: error).contains("s3cr3t"))
    }
}
