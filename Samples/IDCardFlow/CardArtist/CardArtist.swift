import CCardJPEG
import Foundation

/// Draws the two sides of a specimen identity card and photographs them: pictures that weigh what a camera's do, of a
/// person and a country that do not exist.
///
/// ```swift
/// let cards = try await CardArtist.cards(in: ".build/cards")
/// print(cards.front, cards.back)                   // paths of two JPEG files of 12 megapixels
/// ```
///
/// The same bytes come out every time.
public enum CardArtist {
    /// A side of the card.
    public enum Side: String, Sendable, CaseIterable {
        /// With the portrait. The camera was upside down: Exif orientation 3.
        case front
        /// With the lines for machines. The camera was held upright: Exif orientation 6.
        case back
    }

    /// The paths of both sides.
    public struct Cards: Sendable {
        /// The front.
        public let front: String
        /// The back.
        public let back: String
    }

    /// Gives both pictures; draws those that are not there yet, which takes some seconds in a release build.
    ///
    /// - Parameters:
    ///   - directory: Where they are kept. It is made if need be.
    ///   - width: The width in pixels as stored; the height is three quarters of it.
    /// - Returns: Where they are.
    /// - Throws: When the directory can't be written.
    public static func cards(in directory: String, width: Int = 4_032) async throws -> Cards {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var paths: [Side: String] = [:]
        for side in Side.allCases {
            let path = "\(directory)/specimen-\(side.rawValue)-\(width)-\(edition).jpg"
            paths[side] = path
            if FileManager.default.fileExists(atPath: path) { continue }
            // Written beside and renamed, so that a file with the right name is a whole one.
            try Data(await picture(of: side, width: width)).write(to: URL(fileURLWithPath: path), options: .atomic)
        }
        return Cards(front: paths[.front]!, back: paths[.back]!)
    }

    /// A picture of one side as a JPEG file.
    ///
    /// - Parameters:
    ///   - side: The side.
    ///   - width: The width in pixels as stored; the height is three quarters of it.
    /// - Returns: The bytes of the file.
    /// - Throws: ``ArtError`` when the encoder refuses.
    public static func picture(of side: Side, width: Int = 4_032) async throws -> [UInt8] {
        let view = views[side]!
        let height = width * 3 / 4
        // A little more than the picture can show, so that the picture is sharp.
        let card = CardFace.draw(side, scale: 34 * Float(width) / 4_032)
        let photograph = await Photograph.take(of: card, view, width: width, height: height)
        return try encode(photograph, orientation: view.orientation)
    }

    /// To be raised when the drawing changes, so that old files are not taken for new ones.
    private static let edition = 1

    private static let views: [Side: Photograph.View] = [
        .front: Photograph.View(
            corners: [Point(0.145, 0.195), Point(0.868, 0.148), Point(0.893, 0.803), Point(0.118, 0.822)],
            light: Point(0.42, 0.36), orientation: 3, seed: 11),
        .back: Photograph.View(
            corners: [Point(0.082, 0.322), Point(0.903, 0.292), Point(0.935, 0.667), Point(0.062, 0.676)],
            light: Point(0.58, 0.45), orientation: 6, seed: 23),
    ]

    private static func encode(_ photograph: Photograph, orientation: Int) throws -> [UInt8] {
        let exif = ExifBlock.bytes(orientation: orientation, width: photograph.width, height: photograph.height)
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        var message = [CChar](repeating: 0, count: 256)
        let code = ccard_encode(
            photograph.pixels, Int32(photograph.width), Int32(photograph.height), 93, exif, exif.count, &bytes, &count,
            &message, message.count)
        guard code == 0, let bytes else {
            throw ArtError(
                description: String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        defer { free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}

/// Why a picture could not be made.
public struct ArtError: Error, CustomStringConvertible {
    /// The encoder's own words.
    public let description: String
}
