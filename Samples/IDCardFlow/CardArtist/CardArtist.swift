import CCardJPEG
import Foundation

/// Renders photos of the two sides of a fictitious identity card. The files have the size and metadata of a camera's.
///
/// ```swift
/// let cards = try await CardArtist.cards(in: ".build/cards")
/// print(cards.front, cards.back)                   // paths of two JPEG files of 12 megapixels
/// ```
///
/// The output is deterministic.
public enum CardArtist {
    /// A side of the card.
    public enum Side: String, Sendable, CaseIterable {
        /// The side with the portrait. The camera was upside down: Exif orientation 3.
        case front
        /// The side with the machine-readable lines. The camera was upright: Exif orientation 6.
        case back
    }

    /// The paths of both sides.
    public struct Cards: Sendable {
        /// The path of the front.
        public let front: String
        /// The path of the back.
        public let back: String
    }

    /// Returns both photos, and renders missing ones first. That takes some seconds in a release build.
    ///
    /// - Parameters:
    ///   - directory: The directory of the files. It is created if it is missing.
    ///   - width: The stored width in pixels. The height is three quarters of it.
    /// - Returns: The paths.
    /// - Throws: An error if the directory is not writable.
    public static func cards(in directory: String, width: Int = 4_032) async throws -> Cards {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var paths: [Side: String] = [:]
        for side in Side.allCases {
            let path = "\(directory)/specimen-\(side.rawValue)-\(width)-\(edition).jpg"
            paths[side] = path
            if FileManager.default.fileExists(atPath: path) { continue }
            // Atomic: an existing file is always complete.
            try Data(await photo(of: side, width: width)).write(to: URL(fileURLWithPath: path), options: .atomic)
        }
        return Cards(front: paths[.front]!, back: paths[.back]!)
    }

    /// Returns a photo of one side as a JPEG file.
    ///
    /// - Parameters:
    ///   - side: The side.
    ///   - width: The stored width in pixels. The height is three quarters of it.
    /// - Returns: The bytes of the file.
    /// - Throws: ``ArtError`` if the encoder fails.
    public static func photo(of side: Side, width: Int = 4_032) async throws -> [UInt8] {
        let view = views[side]!
        let height = width * 3 / 4
        // Slightly above the resolution of the photo, for sharpness.
        let card = CardFace.draw(side, scale: 34 * Float(width) / 4_032)
        let photograph = await Photograph.take(of: card, view, width: width, height: height)
        return try encode(photograph, orientation: view.orientation)
    }

    /// The version of the drawing, part of file names. Increase it with each change, so that old files are not reused.
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

/// An error of the JPEG encoder.
public struct ArtError: Error, CustomStringConvertible {
    /// The message of the encoder.
    public let description: String
}
