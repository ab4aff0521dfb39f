import Foundation
import Testing

@testable import CardArtist

/// Tests of the testable properties of the drawings.
struct CardArtistTests {
    @Test(arguments: CardArtist.Side.allCases)
    func `rendering is deterministic and writes the Exif orientation`(_ side: CardArtist.Side) async throws {
        let first = try await CardArtist.photo(of: side, width: 320)
        #expect(try await CardArtist.photo(of: side, width: 320) == first)
        #expect(first.starts(with: [0xFF, 0xD8, 0xFF, 0xE1]))
        #expect(first.suffix(2) == [0xFF, 0xD9])

        let text = String(decoding: first.prefix(1_000), as: UTF8.self)
        #expect(text.contains("Exif\0\0II*"))
        #expect(text.contains("Specimen Optics"))
        // Tag 0x0112, type SHORT, one value: the orientation (CIPA DC-008, section 4.6.4).
        let orientation: UInt8 = side == .front ? 3 : 6
        let entry: [UInt8] = [0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]
        #expect(first.prefix(1_000).firstRange(of: entry) != nil)
    }

    @Test func `the two sides differ and have valid colors`() {
        let front = CardFace.draw(.front, scale: 3)
        let back = CardFace.draw(.back, scale: 3)
        #expect(front.pixels.count == 256 * 161)
        #expect(front.pixels != back.pixels)
        #expect(front.pixels.allSatisfy { $0.min() >= 0 && $0.max() <= 1.01 })
    }

    @Test func `each character of the cards has a glyph`() {
        #expect(StrokeFont.missing(in: "ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 <-./:'#").isEmpty)
        #expect(StrokeFont.missing(in: "a€") == ["a", "€"])
        #expect(!BrushFont.outlines("样", at: Point(0, 0), size: 1).isEmpty)
    }

    @Test func `a homography maps corners to corners`() {
        let from = [Point(1, 2), Point(9, 1), Point(8, 7), Point(2, 6)]
        let to = [Point(0, 0), Point(4, 0), Point(4, 3), Point(0, 3)]
        let map = Homography(from: from, to: to)
        for (source, target) in zip(from, to) {
            let gap = map.map(source) - target
            #expect((gap * gap).sum() < 1e-6)
        }
    }

    @Test func `photos are rendered once and cached`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "cards-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cards = try await CardArtist.cards(in: directory, width: 64)
        try Data("kept".utf8).write(to: URL(filePath: cards.front))
        let again = try await CardArtist.cards(in: directory, width: 64)
        #expect(again.front == cards.front)
        #expect(try Data(contentsOf: URL(filePath: again.front)) == Data("kept".utf8))
    }
}
