import Foundation
import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// What phones, webcams and scanners write besides the image, byte for byte, and how each file ends.
@Suite struct QuirkTests {
    struct Quirk: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let file: [UInt8]
        /// The names of what is removed.
        var stripped: [String] = []
        var orientation = 1
        /// `nil` if libjpeg does not count them.
        var strayBytes: Int? = 0
        var isEndMissing = false
        /// The error code, if the file is refused.
        var code: JPEGError.Code?
    }

    private static let (width, height) = (48, 32)
    private static var scene: (Int, Int) -> RGBColor { Scene.quarters(width, height) }
    private static let plain = Scene.file(width, height, scene)
    private static let preview = Scene.file(16, 16, Scene.quarters(16, 16))

    /// Returns a file with segments after JFIF.
    private static func file(_ segments: [UInt8]..., orientation: Int = 1) -> [UInt8] {
        let (across, down) = orientation >= 5 ? (height, width) : (width, height)
        return Scene.file(
            across, down, segments: [TinyJPEG.jfif] + segments,
            OrientationTests.storedScene(width, height, orientation, scene))
    }

    private static func app(_ number: UInt8, _ text: String, _ body: [UInt8] = []) -> [UInt8] {
        TinyJPEG.segment(0xE0 + number, text.unicodeScalars.map { UInt8($0.value) } + body)
    }

    /// An Exif segment with an orientation and, in its second directory, a thumbnail: a JPEG file with markers.
    private static func exifWithThumbnail(orientation: UInt8) -> [UInt8] {
        func entry(_ tag: UInt16, _ type: UInt8, _ value: [UInt8]) -> [UInt8] {
            [UInt8(tag >> 8), UInt8(tag & 255), 0, type, 0, 0, 0, 1] + value
        }
        func long(_ value: Int) -> [UInt8] { ProfileBytes.long(value) }
        let first = [0, 1] + entry(0x0112, 3, [0, orientation, 0, 0]) + long(26)
        let second =
            [0, 2] + entry(0x0201, 4, long(56)) + entry(0x0202, 4, long(preview.count)) + long(0)
        return app(1, "Exif\0\0MM\0*\0\0\0\u{8}", first + second + preview)
    }

    /// A file with a restart marker after each MCU, and stray bytes before them.
    private static func restarting(stray: [UInt8]) -> [UInt8] {
        let gray = TinyJPEG.Component(identifier: 1) { x, y in x * 4 + y }
        var image = TinyJPEG(width: 32, height: 16, components: [gray])
        image.restarts = (interval: 4, strayBytes: stray)
        return image.encoded()
    }

    static let all: [Quirk] = phones + webcams + scanners

    private static let phones = [
        Quirk(
            testDescription: "a preview after the image (MPF)",
            file: file(app(2, "MPF\0", [0x4D, 0x4D, 0, 42])) + preview, stripped: ["MPF", "trailing data"]),
        Quirk(
            testDescription: "a gain map of HDR photos",
            file: file(
                app(1, "http://ns.adobe.com/xap/1.0/\0<x hdrgm:Version=\"1.0\"/>"), app(2, "MPF\0", [0x49, 0x49]))
                + preview, stripped: ["XMP", "MPF", "trailing data"]),
        Quirk(
            testDescription: "a motion photo: a video after the image",
            file: plain + Array("\0\0\0\u{18}ftypmp42".utf8) + [UInt8](repeating: 7, count: 500),
            stripped: ["trailing data"]),
        Quirk(
            testDescription: "an orientation beside a thumbnail with markers of its own",
            file: file(exifWithThumbnail(orientation: 6), orientation: 6), stripped: ["Exif"], orientation: 6),
        Quirk(
            testDescription: "two Exif segments: the first one counts",
            file: file(TinyJPEG.exif(orientation: 8), TinyJPEG.exif(orientation: 3), orientation: 8),
            stripped: ["Exif"], orientation: 8),
        Quirk(
            testDescription: "an extended XMP of several segments",
            file: file(
                app(1, "http://ns.adobe.com/xmp/extension/\0a"), app(1, "http://ns.adobe.com/xmp/extension/\0b")),
            stripped: ["XMP"]),
        Quirk(
            testDescription: "segments of makers", file: file(app(4, "SAMSUNG"), app(7, "x"), app(10, "AROT\0\0")),
            stripped: ["APP4", "APP7", "APP10"]),
        Quirk(
            testDescription: "fill bytes before a marker",
            file: Array(plain.prefix(20)) + [0xFF, 0xFF, 0xFF] + plain.dropFirst(20)),
    ]

    private static let webcams = [
        Quirk(
            testDescription: "two stray bytes before each restart marker", file: restarting(stray: [0x00, 0x12]),
            strayBytes: nil),
        Quirk(
            testDescription: "a frame without the marker at its end", file: Array(plain.dropLast(2)), isEndMissing: true
        ),
        Quirk(
            testDescription: "a frame padded with zeros", file: plain + [UInt8](repeating: 0, count: 4_096),
            stripped: ["trailing data"]),
        Quirk(
            testDescription: "a frame of a Motion JPEG stream, without Huffman tables",
            file: Array(Data(base64Encoded: motionFrame)!), stripped: []),
        Quirk(
            testDescription: "the next frame after this one", file: plain + plain, stripped: ["trailing data"]),
        Quirk(
            testDescription: "a frame that was cut off", file: Array(plain.prefix(plain.count * 2 / 3)),
            code: .truncated),
    ]

    private static let scanners = [
        Quirk(
            testDescription: "a comment of the greatest length",
            file: file(TinyJPEG.segment(0xFE, [UInt8](repeating: 0x2D, count: 65_533))), stripped: ["comment"]),
        Quirk(
            testDescription: "Photoshop's resources and an Adobe segment after JFIF",
            file: Scene.file(
                width, height,
                segments: [TinyJPEG.jfif, app(13, "Photoshop 3.0\0"), TinyJPEG.adobe(transform: 1)], scene),
            stripped: ["Photoshop", "Adobe"]),
        Quirk(
            testDescription: "a thumbnail of JFIF",
            file: Scene.file(
                width, height, segments: [TinyJPEG.jfif, app(0, "JFXX\0", [0x10] + preview)], scene),
            stripped: ["JFIF thumbnail"]),
        Quirk(
            testDescription: "fourteen stray bytes between segments",
            file: Array(plain.prefix(20)) + [UInt8](repeating: 0x20, count: 14) + plain.dropFirst(20), strayBytes: 14),
        Quirk(
            testDescription: "a lost block between segments",
            file: Array(plain.prefix(20)) + [UInt8](repeating: 0x20, count: 512) + plain.dropFirst(20), code: .corrupt),
    ]

    @Test(arguments: all, [JPEGOptions(), .maxBytes(.kibibytes(20)), .quality(80, mode: .draft)])
    func `a file of a device ends as its row says`(quirk: Quirk, options: JPEGOptions) throws {
        if let code = quirk.code {
            #expect(failure(quirk.file, options) == code)
            return
        }
        let result = try recompress(quirk.file, options)
        #expect(result.report.stripped == quirk.stripped)
        #expect(result.report.orientation == quirk.orientation)
        if let strayBytes = quirk.strayBytes { #expect(result.report.strayBytes == strayBytes) }
        #expect(result.report.isEndMissing == quirk.isEndMissing)
        #expect(result.bytes.starts(with: [0xFF, 0xD8]) && result.bytes.suffix(2) == [0xFF, 0xD9])
        if (result.report.width, result.report.height) == (Self.width, Self.height) {
            try OrientationTests.expectQuarters(result)
        }
    }

    /// An office scanner leaves 2,634 bytes before RST2. No decoder can tell them from data that damage made unreadable.
    @Test func `many bytes before a restart marker are damage, and the error says how to keep the image`() throws {
        let gray = TinyJPEG.Component(identifier: 1) { x, y in x * 4 + y }
        var image = TinyJPEG(width: 32, height: 48, components: [gray])
        image.restarts = (interval: 4, strayBytes: [])
        let clean = image.encoded()
        let marker = try #require(clean.indices.dropLast().first { clean[$0] == 0xFF && clean[$0 + 1] == 0xD2 })
        let file = clean[..<marker] + (0..<2_634).map { UInt8($0 % 251) } + clean[marker...]
        for options in [JPEGOptions(), .maxBytes(.kibibytes(20)), .quality(80, mode: .draft)] {
            let error = #expect(throws: JPEGError.self) { try recompress(Array(file), options) }
            #expect(error?.code == .corrupt)
            #expect(error?.message.hasSuffix("To keep the intact rows, set onFailure to .salvage.") == true)
            var salvaging = options
            salvaging.onFailure = .salvage
            let result = try recompress(Array(file), salvaging)
            #expect(result.report.damagedFraction == 1)
            let (seen, wanted) = (try DecodedPixels(result.bytes), try DecodedPixels(clean))
            for y in 0..<48 { #expect(abs(seen.picture.luma[16, y] - wanted.picture.luma[16, y]) < 12) }
        }
    }

    /// 24 x 16 pixels: red grows to the right, green downwards.
    @Test func `a Motion JPEG frame has its colors`() throws {
        let result = try recompress(Array(Data(base64Encoded: Self.motionFrame)!), .quality(95))
        let picture = try DecodedPixels(result.bytes)
        let wanted = RGBColor(red: 120, green: 120, blue: 120).yCbCr
        for (seen, wanted) in zip(picture.yCbCr(12, 8), wanted) { #expect(abs(seen - Double(wanted)) < 12) }
        #expect(picture.yCbCr(22, 8)[2] > 150 && picture.yCbCr(2, 8)[2] < 110)
    }

    private static let motionFrame =
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5a"
        + "YVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAAR"
        + "CAAQABgDASIAAhEBAxEB/9oADAMBAAIRAxEAPwDkodP9qvw6f7VuQ6f/ALNX4dP/ANmtqmNOTBZhtqYUOn/7NFdZDp/+zRXFLG67n09HMPd3"
        + "P//Z"
}
