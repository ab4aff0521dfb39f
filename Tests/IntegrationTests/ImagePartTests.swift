import TestSupport
import Testing
import Waybill

/// Photos in a form: recompressed or refused before anything is sent.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ImagePartTests {
    private let folder: TemporaryDirectory
    private let server: LoopbackServer
    private let session = UploadSession()

    init() throws {
        folder = try TemporaryDirectory()
        server = try LoopbackServer()
    }

    @Test func `a photo arrives below its limit, with the name and type of a JPEG`() async throws {
        let photo = Self.photo(width: 240, height: 160)
        let path = try folder.write("front.png", photo)
        let form: MultipartForm = [
            .text("TOKEN", .secret("t")),
            .image("FILE", path: path, fileName: "IDFrontImage.jpg", .maxBytes(.kilobytes(6))),
        ]
        let response = try await session.upload(form, to: server.url())
        #expect(response.status == .ok)
        let part = try Received.parts(of: try await server.request(0))[1]
        #expect(part.fileName == "IDFrontImage.jpg")
        #expect(part.contentType == "image/jpeg")
        #expect(part.bytes.count <= 6_000)
        #expect(part.bytes.count < photo.count)
        let header = try JPEGHeader(parsing: part.bytes)
        #expect(header.width > 32 && header.height > 32)
    }

    @Test func `several photos in one form keep their order, each below its own limit`() async throws {
        let photo = Self.photo(width: 240, height: 160)
        let path = try folder.write("back.png", photo)
        let form: MultipartForm = [
            .image("FILE", data: photo, fileName: "front.jpg", .maxBytes(.kilobytes(6))), .text("between", "1"),
            .image("FILE", path: path, .maxBytes(.kilobytes(3))), .file("FILE", path: path).followingContent(),
        ]
        _ = try await session.upload(form, to: server.url())
        let parts = try Received.parts(of: try await server.request(0))
        #expect(parts.map(\.name) == ["FILE", "between", "FILE", "FILE"])
        #expect(parts.map(\.fileName) == ["front.jpg", nil, "back.jpg", "back.jpg"])
        #expect(parts.map(\.contentType) == ["image/jpeg", nil, "image/jpeg", "image/jpeg"])
        #expect(parts[0].bytes.count <= 6_000 && parts[2].bytes.count <= 3_000 && parts[3].bytes == photo)
    }

    @Test func `a photo without a file name is named image`() async throws {
        let form: MultipartForm = [.image("FILE", data: Self.photo(width: 160, height: 120), .quality(60))]
        let task = session.start(form, to: server.url())
        let response = try await task.response
        #expect(response.status == .ok)
        let part = try Received.parts(of: try await server.request(0))[0]
        #expect(part.fileName == "image.jpg")
    }

    /// A defect of an image and the error code for it.
    struct Damage: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var code: String
        var bytes: [UInt8]
    }

    private static let damages: [Damage] = {
        let whole = photo(width: 96, height: 64)
        var cutInTwo = whole
        // A bit flip that turns two data bytes into a marker ends the image there.
        cutInTwo[whole.count / 2] = 0xFF
        cutInTwo[whole.count / 2 + 1] = 0xD9
        return [
            Damage(testDescription: "empty", code: "empty", bytes: []),
            Damage(testDescription: "not a JPEG", code: "notAJPEG", bytes: Array("GIF89a, honestly".utf8)),
            Damage(testDescription: "truncated", code: "truncated", bytes: Array(whole.prefix(whole.count / 2))),
            Damage(testDescription: "bit-flipped", code: "corrupt", bytes: cutInTwo),
            Damage(testDescription: "a bomb of few bytes", code: "tooManyPixels", bytes: bomb),
            Damage(
                testDescription: "12 bits", code: "unsupportedPrecision",
                bytes: grey(width: 8, height: 8, precision: 12, frameMarker: 0xC1)),
        ]
    }()

    @Test(arguments: damages)
    func `a damaged image is refused before anything is sent`(damage: Damage) async throws {
        let path = try folder.write("card.jpg", damage.bytes)
        let error = try await failure([.text("a", "b"), .image("FILE", path: path, .maxBytes(.kibibytes(100)))])
        #expect(error.code.description == damage.code)
        #expect(error.part == "FILE")
        #expect(error.phase == .preparing)
    }

    @Test func `an image that cannot reach its limit is refused before anything is sent`() async throws {
        let photo = Self.photo(width: 96, height: 64)
        let error = try await failure([.image("FILE", data: photo, .maxBytes(.bytes(200)))])
        #expect(error.code.description == "cannotReachLimit")
        #expect(error.message.contains("200"))
    }

    private func failure(_ form: MultipartForm) async throws -> UploadError {
        let task = session.start(form, to: server.url())
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(server.state.connections.isEmpty)
        #expect(error?.outcome == .notSent)
        return try #require(error)
    }

    // MARK: Pictures

    private static func photo(width: Int, height: Int) -> [UInt8] {
        var random = SeededGenerator(seed: 7)
        let noise = (0..<width * height).map { _ in Int.random(in: -20...20, using: &random) }
        func sample(_ scale: Int) -> (Int, Int) -> Int {
            { x, y in max(0, min(255, 40 + x * 150 / width + y * scale / height + noise[y * width + x])) }
        }
        let components = [60, 20, 40].enumerated().map { index, scale in
            TinyJPEG.Component(identifier: UInt8(index + 1), sample: sample(scale))
        }
        return TinyJPEG(width: width, height: height, components: components).encoded()
    }

    private static func grey(width: Int, height: Int, precision: UInt8 = 8, frameMarker: UInt8 = 0xC0) -> [UInt8] {
        let component = TinyJPEG.Component(identifier: 1) { x, _ in x * 8 }
        return TinyJPEG(
            width: width, height: height, components: [component], frameMarker: frameMarker, precision: precision
        ).encoded()
    }

    /// A few hundred bytes that declare 4.3 billion pixels.
    private static var bomb: [UInt8] {
        var bytes = grey(width: 8, height: 8)
        for index in bytes.indices.dropLast(8) where bytes[index] == 0xFF && bytes[index + 1] == 0xC0 {
            bytes.replaceSubrange(index + 5..<index + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
            break
        }
        return bytes
    }
}
